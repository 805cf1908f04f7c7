# SPDX-License-Identifier: MIT
# The extension module that build_dibs.py makes from the headers: cffi's, without types.
from typing import Any

ffi: Any
lib: Any
