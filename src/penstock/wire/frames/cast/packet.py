"""A packet: a header that routers forward by, and a body for those it is meant for."""

from __future__ import annotations

from penstock.kernel.errors import UsageError
from penstock.wire.frames.base import check_unsigned
from penstock.wire.frames.cast.base import CastBody, CastFrame, Origin
from penstock.wire.frames.cast.header import Header
from penstock.wire.frames.cast.symbols import Symbols


class Packet(CastFrame, frozen=True, kw_only=True, gc=False):
    """What a router may forward."""

    header: Header
    body: CastBody
    # None for DATA alone, which its tag or checksum covers.
    origin: Origin | None

    def __post_init__(self) -> None:
        if (self.origin is None) is not (type(self.body) is Symbols):
            raise UsageError("every packet but DATA says who sent it")
        if self.origin is not None:
            check_origin(self.origin)
        elif isinstance(self.body, Symbols) and self.body.numbers[0] != self.header.symbol:
            raise UsageError(
                f"a train begins with the symbol of its header, {self.header.symbol}, not with"
                f" {self.body.numbers[0]}"
            )


def check_origin(origin: Origin) -> None:
    """Refuses numbers that do not fit."""
    check_unsigned(32, node=origin.node, boot=origin.boot, number=origin.number)
