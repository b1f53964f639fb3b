"""The one shape of every protocol participant.

A machine knows no socket, clock, thread or disk. A driver (the simulator or an
asyncio pump) hands it frames and the time, drains what it wants done with
`poll`, and wakes it at the instant it asked for.
"""

from typing import Generic, Protocol, TypeAlias, TypeVar

import msgspec

from penstock.kernel.instant import Instant

# The name of a link or neighbour as one machine knows it.
Port: TypeAlias = str

Frame = TypeVar("Frame")
FrameIn = TypeVar("FrameIn")


# Structs, because one is made for every frame sent: a frozen dataclass takes five times as long.
class Send(msgspec.Struct, Generic[Frame], frozen=True, gc=False):
    """Put `frame` on the wire towards `port`."""

    port: Port
    frame: Frame


class Deliver(msgspec.Struct, frozen=True, gc=False):
    """Hand `item` to the application."""

    item: object


class Append(msgspec.Struct, frozen=True, gc=False):
    """Write `entry` durably at `position` of `log`; answered by `appended(upto=...)`."""

    log: str
    position: int
    entry: bytes


class Record(msgspec.Struct, frozen=True, gc=False):
    """A fact for the trace."""

    row: object


Output: TypeAlias = Send[Frame] | Deliver | Append | Record


class Machine(Protocol[FrameIn]):
    """What every driver can drive; machines add their own typed verbs."""

    def receive(self, frame: FrameIn, *, via: Port, now: Instant) -> None:
        """Takes a frame that arrived by `via`."""

    def wake(self, *, now: Instant) -> None:
        """Runs everything that is due."""

    def next_wakeup(self) -> Instant | None:
        """When `wake` must next be called; None for never."""

    def poll(self) -> "Output[FrameIn] | None":
        """The next thing to do for this machine; None when there is nothing left."""
