"""Loops that numba compiles once that pays off; without numba they run as plain Python.

A loop is a plain function and the functions it calls. It only indexes its arguments, so that it
accepts lists as well as arrays: lists are faster in plain Python, arrays in compiled code. Both
give results equal to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any, Final, TypeAlias

from numpy.typing import NDArray

# Arguments of a loop: integers or floats, in a list or in an array.
Whole: TypeAlias = Any
Real: TypeAlias = Any

# Items that a loop processes, in total, in the time that compiling it takes.
WORK_MIN: Final = 4_000_000


class Loop:
    """The last of several functions, each of which may call those before it."""

    def __init__(self, *functions: Callable[..., Any], work_min: float = WORK_MIN) -> None:
        self._functions: Final = functions
        self._work_left = work_min
        self._compiled: Callable[..., Any] | None = None

    def over(self, *columns: NDArray[Any]) -> Pass:
        """Binds the arguments that stay the same between calls."""
        return Pass(self, columns)

    def compiled(self, work: int) -> Callable[..., Any] | None:
        """The compiled function, once it pays off; `work` is the number of items of this call."""
        if self._work_left > 0:
            self._work_left -= work
        if self._work_left <= 0 and self._compiled is None:
            self._compiled = _compiled(self._functions)
        return self._compiled

    @property
    def plain(self) -> Callable[..., Any]:
        """The function as written."""
        return self._functions[-1]


class Pass:
    """A loop with bound columns."""

    def __init__(self, loop: Loop, columns: tuple[NDArray[Any], ...]) -> None:
        self._loop: Final = loop
        self._columns: Final = columns
        self._lists: list[list[Any]] = []

    def run(self, given: tuple[NDArray[Any], ...], found: tuple[NDArray[Any], ...]) -> None:
        """Calls the loop with `given`, the columns, and `found`, which receives the results."""
        compiled = self._loop.compiled(len(given[0]) + len(self._columns[-1]))
        if compiled is not None:
            self._lists.clear()
            compiled(*given, *self._columns, *found)
            return
        if not self._lists:
            self._lists = [column.tolist() for column in self._columns]
        buffers = [target.tolist() for target in found]
        self._loop.plain(*(column.tolist() for column in given), *self._lists, *buffers)
        for target, values in zip(found, buffers, strict=True):
            target[:] = values


@cache
def _compiled(functions: tuple[Callable[..., Any], ...]) -> Callable[..., Any] | None:
    """Compiles the functions; None without numba."""
    try:
        import numba
    except ImportError:
        return None
    made: dict[str, Any] = {}
    for function in functions:
        assert isinstance(function, FunctionType)
        # Compiled code must call the compiled forms of the other functions.
        scope = {**function.__globals__, **made}
        copy = FunctionType(function.__code__, scope, function.__name__)
        made[function.__name__] = numba.njit(copy)
    return made[functions[-1].__name__]  # type: ignore[no-any-return]
