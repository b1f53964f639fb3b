"""The input of an evaluation: links, and sessions that sent data over them.

Each value is checked by itself; `routes` checks whether links lead to receivers. Units are the
caller's own, as long as capacity × time = data.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf, isnan
from numbers import Real
from typing import Final

from penstock.kernel.errors import UsageError

NAME_CHARS_MAX: Final = 200
# Sums and quotients of such numbers stay far from the limits of a float.
NUMBER_MAX: Final = 1e30


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """One direction of a link between two hosts."""

    start: str
    end: str
    capacity: float = inf
    delay: float = 0.0

    def __post_init__(self) -> None:
        check_name(self.start, "a link's start")
        check_name(self.end, "a link's end")
        if self.start == self.end:
            raise UsageError(f"link {self} leads back to where it starts: leave it out")
        check_edge(self.capacity, self.delay, f"link {self}")

    def __str__(self) -> str:
        return f"{self.start} → {self.end}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """The source of a session's data, and its limits."""

    host: str
    capacity: float = inf
    delay: float = 0.0

    def __post_init__(self) -> None:
        check_name(self.host, "a sender's host")
        check_edge(self.capacity, self.delay, f"the sender at {self.host}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Receiver:
    """A receiver that joined, got its data, and left."""

    id: str
    host: str
    join: float
    leave: float
    data: float
    capacity: float = inf
    delay: float = 0.0

    def __post_init__(self) -> None:
        check_name(self.id, "a receiver's id")
        where = f"receiver {self.id!r}"
        check_name(self.host, f"{where}: its host")
        check_edge(self.capacity, self.delay, where)
        check_number(self.join, f"{where}: join", least=-NUMBER_MAX)
        check_number(self.leave, f"{where}: leave", least=-NUMBER_MAX)
        check_number(self.data, f"{where}: data")
        if self.leave < self.join:
            raise UsageError(f"{where} leaves at {self.leave:g}, before it joins at {self.join:g}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One sender and its receivers."""

    id: str
    sender: Sender
    receivers: tuple[Receiver, ...]

    def __post_init__(self) -> None:
        check_name(self.id, "a session's id")
        if not self.receivers:
            raise UsageError(f"session {self.id!r} has no receivers: add one, or leave it out")


@dataclass(frozen=True, slots=True)
class Network:
    """Links and the sessions over them; no link, session or receiver occurs twice."""

    links: tuple[Link, ...]
    sessions: tuple[Session, ...]

    def __post_init__(self) -> None:
        if not self.sessions:
            raise UsageError("there are no sessions to judge: add one")
        _check_once((str(link) for link in self.links), "link {}")
        _check_once((session.id for session in self.sessions), "session {!r}")
        _check_once((receiver.id for receiver in self.receivers()), "receiver {!r}")

    def receivers(self) -> list[Receiver]:
        """All receivers, session by session: the order of every array of receivers."""
        return [receiver for session in self.sessions for receiver in session.receivers]


def check_name(name: object, what: str) -> None:
    """Checks a name: text of limited length, because errors and tables show it."""
    if not isinstance(name, str) or not 0 < len(name) <= NAME_CHARS_MAX:
        raise UsageError(f"{what} is text of 1 to {NAME_CHARS_MAX} characters")


def check_edge(capacity: object, delay: object, where: str) -> None:
    """Checks capacity and delay of a link or of an end of a session; a capacity may be infinite."""
    if capacity != inf:
        # Not too small, because data are divided by it.
        check_number(capacity, f"{where}: capacity", smallest=1 / NUMBER_MAX)
    check_number(delay, f"{where}: delay")


def check_number(value: object, what: str, *, least: float = 0.0, smallest: float = 0.0) -> None:
    """Checks a number of a magnitude that sums and quotients can represent."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise UsageError(f"{what} is a number, not {type(value).__name__}")
    try:
        number = float(value)
    except OverflowError:
        number = inf
    if isnan(number):
        raise UsageError(f"{what} is no number (NaN): say what it is")
    if number < least:
        raise UsageError(f"{what} is {least:g} or more, not {number:g}")
    if number > NUMBER_MAX or 0 < number < smallest:
        raise UsageError(f"{what} is {number:g}, which is too large or too small: change its unit")


def _check_once(names: Iterable[str], what: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise UsageError(f"{what.format(name)} is there twice: give each its own name, once")
        seen.add(name)
