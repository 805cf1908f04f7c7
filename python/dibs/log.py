# SPDX-License-Identifier: MIT
"""dibs.log - the lines of a client for a logger of the module logging."""
import logging
from typing import Any, Optional

from dibs import callbacks
from dibs._dibs import ffi, lib
from dibs.errors import check, text_of

LEVELS = {lib.DIBS_LOG_ERROR: logging.ERROR, lib.DIBS_LOG_WARNING: logging.WARNING,
          lib.DIBS_LOG_INFO: logging.INFO, lib.DIBS_LOG_DEBUG: logging.DEBUG}


def _level_of(logger: logging.Logger) -> int:
    """The least serious level that the logger takes."""
    taken = [level for level, of_logging in LEVELS.items() if logger.isEnabledFor(of_logging)]
    return int(max(taken, default=lib.DIBS_LOG_ERROR))


def set_log(handle: Any, logger: Optional[logging.Logger]) -> None:
    if logger is None:
        check(lib.dibs_client_set_log(handle, ffi.NULL, ffi.NULL, ffi.NULL, ffi.NULL))
        return
    to: logging.Logger = logger

    def receive(line: Any) -> None:
        fields = {text_of(line.fields[i].key): text_of(line.fields[i].value)
                  for i in range(line.field_count)}
        to.log(LEVELS.get(line.level, logging.ERROR), '%s', text_of(line.text),
               extra={'dibs_event': text_of(line.event), 'dibs_fields': fields})

    options = ffi.new('dibs_log_options *')
    options.size, options.level = ffi.sizeof('dibs_log_options'), _level_of(logger)
    number = callbacks.add(receive)
    check(lib.dibs_client_set_log(handle, options, lib.dibs_py_line, callbacks.pointer(number),
                           lib.dibs_py_done))       # also if it fails
