"""ACK of a client and ACKED: what has been dealt with, and what of that is stored."""

from __future__ import annotations

from penstock.wire.frames.base import check_type, check_unsigned
from penstock.wire.frames.guaranteed.base import ClientFrame
from penstock.wire.frames.guaranteed.subscription import Position, check_positions


class ClientAck(ClientFrame, frozen=True, kw_only=True, gc=False):
    """ACK of a client: everything up to these positions has been dealt with."""

    subscription: int
    positions: tuple[Position, ...]
    # Whether somebody waits for ACKED: then it is stored at once.
    is_awaited: bool

    def __post_init__(self) -> None:
        check_unsigned(32, subscription=self.subscription)
        check_type(bool, is_awaited=self.is_awaited)
        check_positions(self.positions)


class Acked(ClientFrame, frozen=True, kw_only=True, gc=False):
    """ACKED: these positions are stored."""

    subscription: int
    positions: tuple[Position, ...]

    def __post_init__(self) -> None:
        check_unsigned(32, subscription=self.subscription)
        check_positions(self.positions)
