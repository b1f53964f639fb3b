"""No packet has a filter that is fuller than routers allow."""

from __future__ import annotations

from typing import Final

from penstock.bloomcast.filters.packet_filter import ONES_MAX
from penstock.kernel.machine import Port
from penstock.sim.checkers.cast.base import CastChecker
from penstock.wire.frames.cast.base import CastFrame
from penstock.wire.frames.cast.packet import Packet
from penstock.wire.frames.cast.transfer import First


class FillsChecker(CastChecker):
    """Counts ones, of filters for the way back too."""

    name = "fills"

    def __init__(self, ones_max: int = ONES_MAX) -> None:
        super().__init__()
        self._ones_max: Final = ones_max

    def sent(self, node: str, port: Port, frame: CastFrame) -> None:  # noqa: ARG002
        """Looks at a packet."""
        if not isinstance(frame, Packet):
            return
        links = [frame.header.links]
        if isinstance(frame.body, First):
            links.append(frame.body.up_links)
        for each in links:
            if each.bit_count() > self._ones_max:
                kind = type(frame.body).__name__
                self.report(f"{node} sends {kind} with {each.bit_count()} ones")
