"""Loops that are compiled once it pays, where numba is installed, and else run as they are.

A loop is a plain function, and those it calls. It indexes what it gets and does no
more with it, so that it takes lists as well as arrays: lists are quicker as it is,
arrays once it is compiled. Both give the same numbers to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any, Final, TypeAlias

from numpy.typing import NDArray

# What a loop is handed: integers or floats, in a list or in an array.
Whole: TypeAlias = Any
Real: TypeAlias = Any

# How many items a loop goes over, in all, before it has taken as long as compiling it would.
WORK_MIN: Final = 4_000_000


class Loop:
    """The last of some functions, each of which may call those before it."""

    def __init__(self, *functions: Callable[..., Any], work_min: float = WORK_MIN) -> None:
        self._functions: Final = functions
        self._work_left = work_min
        self._compiled: Callable[..., Any] | None = None

    def over(self, *columns: NDArray[Any]) -> Pass:
        """The loop, with those arguments that stay the same."""
        return Pass(self, columns)

    def compiled(self, work: int) -> Callable[..., Any] | None:
        """The compiled form, if it pays by now; `work` is how many items there are this time."""
        if self._work_left > 0:
            self._work_left -= work
        if self._work_left <= 0 and self._compiled is None:
            self._compiled = _compiled(self._functions)
        return self._compiled

    @property
    def plain(self) -> Callable[..., Any]:
        """The function as it was written."""
        return self._functions[-1]


class Pass:
    """A loop over columns that stay the same."""

    def __init__(self, loop: Loop, columns: tuple[NDArray[Any], ...]) -> None:
        self._loop: Final = loop
        self._columns: Final = columns
        self._lists: list[list[Any]] = []

    def run(self, given: tuple[NDArray[Any], ...], found: tuple[NDArray[Any], ...]) -> None:
        """Calls it with what is given, the columns, and where to leave what is found."""
        compiled = self._loop.compiled(len(given[0]) + len(self._columns[-1]))
        if compiled is not None:
            self._lists.clear()
            compiled(*given, *self._columns, *found)
            return
        if not self._lists:
            self._lists = [column.tolist() for column in self._columns]
        left = [room.tolist() for room in found]
        self._loop.plain(*(column.tolist() for column in given), *self._lists, *left)
        for room, values in zip(found, left, strict=True):
            room[:] = values


@cache
def _compiled(functions: tuple[Callable[..., Any], ...]) -> Callable[..., Any] | None:
    """None where numba is not installed."""
    try:
        import numba
    except ImportError:
        return None
    made: dict[str, Any] = {}
    for function in functions:
        assert isinstance(function, FunctionType)
        # Compiled code must not meet the plain form of what it calls.
        scope = {**function.__globals__, **made}
        copy = FunctionType(function.__code__, scope, function.__name__)
        made[function.__name__] = numba.njit(copy)
    return made[functions[-1].__name__]  # type: ignore[no-any-return]
