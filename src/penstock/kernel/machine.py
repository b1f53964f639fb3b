"""The interface of every protocol participant.

A machine knows no socket, clock, thread or disk. A driver (the simulator or an asyncio pump) passes
it frames and the time, drains its outputs with `poll`, and wakes it at the instant it requests.
"""

from typing import Generic, Protocol, TypeAlias, TypeVar

import msgspec

from penstock.kernel.instant import Instant

# The name of a link or neighbour, local to one machine.
Port: TypeAlias = str

Frame = TypeVar("Frame")
FrameIn = TypeVar("FrameIn")


# Structs, because one is created for every frame sent: a frozen dataclass takes five times as long.
class Send(msgspec.Struct, Generic[Frame], frozen=True, gc=False):
    """Put `frame` on the wire towards `port`."""

    port: Port
    frame: Frame


class Deliver(msgspec.Struct, frozen=True, gc=False):
    """Hand `item` to the application."""

    item: object


class Append(msgspec.Struct):
    """Write `records` durably, of which the last has the number `upto` in `log`, with `lease`.

    Numbers rise by one; records are synced in their order. None of them: the lease alone.
    Acknowledged by `appended(log, upto, lease)`, which covers all appends before it. What a machine
    appends before it is drained may be in one of these.
    """

    log: str
    upto: int
    records: list[object]
    lease: int


class Fetch(msgspec.Struct, frozen=True, gc=False):
    """Read the records of `log` with ticks from `start` up to `stop`, at most about `bytes_max`.

    Acknowledged by `fetched(request, ...)`.
    """

    log: str
    request: int
    start: int
    stop: int
    bytes_max: int


class Count(msgspec.Struct, frozen=True, gc=False):
    """Count the messages of `log` with ticks above `after`, up to and including `upto`.

    Acknowledged by `counted(request, ...)`.
    """

    log: str
    request: int
    after: int
    upto: int


class Trim(msgspec.Struct, frozen=True, gc=False):
    """Records of `log` with ticks up to and including `upto` are not needed any more."""

    log: str
    upto: int


class Save(msgspec.Struct, frozen=True, gc=False):
    """Store `value` under `key` durably; None deletes it. Acknowledged by `saved(serial)`."""

    serial: int
    key: str
    value: bytes | None


class Record(msgspec.Struct, frozen=True, gc=False):
    """A fact for the trace."""

    row: object


Output: TypeAlias = Send[Frame] | Deliver | Append | Fetch | Count | Trim | Save | Record


class Machine(Protocol[FrameIn]):
    """The interface that drivers use; machines add their own typed commands."""

    def receive(self, frame: FrameIn, *, via: Port, now: Instant) -> None:
        """Handles a frame that arrived by `via`."""

    def wake(self, *, now: Instant) -> None:
        """Runs all timers that are due."""

    def next_wakeup(self) -> Instant | None:
        """The time of the next `wake` call; None for never."""

    def poll(self) -> "Output[FrameIn] | None":
        """The next output of this machine; None when there is none left."""
