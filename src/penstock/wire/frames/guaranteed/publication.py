"""PUBLISH and CONFIRM: a client's messages on their way into a log.

Both speak of many at once: what a program publishes before it lets others run leaves in one frame,
and what one sync has stored is confirmed in one.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from penstock.kernel.errors import UsageError
from penstock.wire.frames.base import check_count, check_unsigned
from penstock.wire.frames.guaranteed.base import (
    CONFIRM_ENTRIES_MAX,
    TICK_MAX,
    ClientFrame,
    check_bodies,
    check_name,
    check_ticks,
)

_U64_END: Final = 1 << 64


class Publish(ClientFrame, frozen=True, kw_only=True, gc=False):
    """PUBLISH: messages for a stream, in their order."""

    stream: str
    # One for each message; they rise with the publications of this publisher to this stream.
    ids: tuple[int, ...]
    # Attributes and payload, encoded once.
    bodies: tuple[bytes, ...]

    def __post_init__(self) -> None:
        check_name("the name of a stream", self.stream)
        check_bodies(self.bodies)
        if len(self.ids) != len(self.bodies):
            raise UsageError(f"{len(self.ids)} ids and {len(self.bodies)} bodies must be as many")
        if min(self.ids) < 0 or max(self.ids) >= _U64_END:
            raise UsageError("an id of a publication has 64 bits")


class Stored(NamedTuple):
    """Where a publication is; `tick` is 0 for a repetition of one that is long past."""

    pubend: int
    tick: int
    is_duplicate: bool


class StoredRun(NamedTuple):
    """Publications with consecutive ids at consecutive ticks of a pubend.

    One that is long past has tick 0, and a run of its own.
    """

    first_id: int
    messages: int
    pubend: int
    first_tick: int
    is_duplicate: bool

    @property
    def ids(self) -> range:
        """The ids of all of them."""
        return range(self.first_id, self.first_id + self.messages)

    @property
    def ticks(self) -> range:
        """Where they are, one for each id."""
        return range(self.first_tick, self.first_tick + self.messages)


def stored_at(publication: int, place: Stored) -> StoredRun:
    """One publication, as a run."""
    return StoredRun(publication, 1, *place)


class Confirm(ClientFrame, frozen=True, kw_only=True, gc=False):
    """CONFIRM: these publications are on disk."""

    stream: str
    runs: tuple[StoredRun, ...]

    def __post_init__(self) -> None:
        check_name("the name of a stream", self.stream)
        check_count("confirmations", self.runs, CONFIRM_ENTRIES_MAX)
        confirmed = 0
        for first_id, count, pubend, first_tick, _ in self.runs:
            confirmed += count
            check_unsigned(64, pubend=pubend, first_id=first_id)
            check_ticks(first_tick=first_tick)
            if not 0 < count <= (CONFIRM_ENTRIES_MAX if first_tick else 1):
                raise UsageError(f"a run of {count} publications at tick {first_tick}")
            if first_id + count > _U64_END or first_tick + count - 1 > TICK_MAX:
                raise UsageError(f"a run of {count} goes beyond 64 bits")
        if confirmed > CONFIRM_ENTRIES_MAX:
            raise UsageError(f"{confirmed} confirmations: at most {CONFIRM_ENTRIES_MAX} at once")

    @property
    def publications(self) -> int:
        """How many are confirmed."""
        return sum(run.messages for run in self.runs)
