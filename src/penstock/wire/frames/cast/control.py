"""UP, DOWN and CONTROL_ACK: control frames on their way to a controller, or from it."""

from __future__ import annotations

from penstock.kernel.errors import UsageError
from penstock.wire.frames.base import check_unsigned
from penstock.wire.frames.cast.base import CastBody
from penstock.wire.frames.cast.symbols import Symbols


class Up(CastBody, frozen=True, kw_only=True, gc=False):
    """Passed on from each node to its uplink, up to one controller.

    It carries DOWN too: a controller without a map sends by way of one that has it.
    """

    to: int
    body: CastBody

    def __post_init__(self) -> None:
        check_unsigned(32, to=self.to)
        _check_inner(self.body, Up)


class Down(CastBody, frozen=True, kw_only=True, gc=False):
    """From a controller along the links of the header, to one node."""

    to: int
    body: CastBody

    def __post_init__(self) -> None:
        check_unsigned(32, to=self.to)
        _check_inner(self.body, Up, Down)


class ControlAck(CastBody, frozen=True, kw_only=True, gc=False):
    """The control frame with this number has arrived."""

    boot: int
    number: int

    def __post_init__(self) -> None:
        check_unsigned(32, boot=self.boot, number=self.number)


def _check_inner(body: CastBody, *refused: type[CastBody]) -> None:
    if isinstance(body, (Symbols, *refused)):
        raise UsageError("a control frame carries neither symbols nor another on its way")
