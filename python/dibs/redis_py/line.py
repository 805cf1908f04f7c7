# SPDX-License-Identifier: MIT
"""dibs.redis_py.line - those who wait for one lock, threads or tasks: the first of them asks and
listens, the others wait for their turn."""
from collections import deque
from typing import Any, Deque, Dict


class Line:
    """Those who wait, in the order of their arrival: an event for each, set for the first."""

    def __init__(self) -> None:
        self.turns: Deque[Any] = deque()
        self.listener: Any = None


class Lines:
    """All lines of the threads of a process, or of the tasks of its loops. One change at a time."""

    def __init__(self) -> None:
        self._lines: Dict[Any, Line] = {}

    def __contains__(self, key: Any) -> bool:
        return key in self._lines

    def enter(self, key: Any, turn: Any) -> Line:
        line = self._lines.setdefault(key, Line())
        line.turns.append(turn)
        line.turns[0].set()
        return line

    def leave(self, key: Any, turn: Any) -> Any:
        """The next one is the first. The last one closes what is returned: a listener, or None. May
        be called again, also after a call that did not come to its end."""
        line = self._lines.get(key, Line())
        if turn in line.turns:
            line.turns.remove(turn)
        if line.turns:
            line.turns[0].set()
            return None
        self._lines.pop(key, None)
        return line.listener
