"""PUBLISH and CONFIRM: a client's messages on their way into a log."""

from __future__ import annotations

from typing import Final, NamedTuple

from penstock.kernel.errors import UsageError
from penstock.wire.frames.base import check_count, check_unsigned
from penstock.wire.frames.guaranteed.base import (
    CONFIRM_ENTRIES_MAX,
    MESSAGE_BYTES_MAX,
    TICK_MAX,
    ClientFrame,
    check_body,
    check_name,
    check_ticks,
)

_U64_END: Final = 1 << 64


class Publish(ClientFrame, frozen=True, kw_only=True, gc=False):
    """PUBLISH: one message for a stream."""

    stream: str
    # Rises with every publication of this publisher to this stream.
    id: int
    # Attributes and payload, encoded once.
    body: bytes

    def __post_init__(self) -> None:
        check_name("the name of a stream", self.stream)
        # One test for both: this frame is built for every message.
        if self.id >> 64 or len(self.body) > MESSAGE_BYTES_MAX:
            check_unsigned(64, id=self.id)
            check_body(self.body)


class Stored(NamedTuple):
    """Where a publication is; `tick` is 0 for a repetition of one that is long past."""

    pubend: int
    tick: int
    is_duplicate: bool


class Confirm(ClientFrame, frozen=True, kw_only=True, gc=False):
    """CONFIRM: these publications are on disk; `stored` says where, one for each id."""

    stream: str
    ids: tuple[int, ...]
    stored: tuple[Stored, ...]

    def __post_init__(self) -> None:
        check_name("the name of a stream", self.stream)
        check_count("confirmations", self.ids, CONFIRM_ENTRIES_MAX)
        if len(self.ids) != len(self.stored):
            raise UsageError(f"{len(self.ids)} ids and {len(self.stored)} places must be as many")
        for publication, (pubend, tick, _) in zip(self.ids, self.stored, strict=True):
            if not (
                0 <= publication < _U64_END and 0 <= pubend < _U64_END and 0 <= tick <= TICK_MAX
            ):
                check_unsigned(64, id=publication, pubend=pubend)
                check_ticks(tick=tick)
