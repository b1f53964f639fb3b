"""PUBLISH and CONFIRM: a client's messages on their way into a log."""

from __future__ import annotations

from typing import NamedTuple

from penstock.wire.frames.base import check_unsigned
from penstock.wire.frames.guaranteed.base import ClientFrame, check_name


class Publish(ClientFrame, frozen=True, kw_only=True, gc=False):
    """PUBLISH: one message for a stream."""

    stream: str
    # Rises with every publication of this publisher to this stream.
    id: int
    # Attributes and payload, encoded once.
    body: bytes

    def __post_init__(self) -> None:
        check_name("the name of a stream", self.stream)
        check_unsigned(64, id=self.id)


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
