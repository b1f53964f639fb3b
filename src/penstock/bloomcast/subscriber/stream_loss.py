"""The share of a stream that is lost on its way to one subscriber, by its latest blocks."""

from __future__ import annotations

from typing import Final

from penstock.bloomcast.segment.repair_count import LOSS_ONE
from penstock.kernel.bounded import BoundedDict
from penstock.wire.frames.cast.base import STREAM_BLOCKS_MAX


class StreamLoss:
    """Counts what came of generation 0 of each block, and what there was."""

    def __init__(self) -> None:
        self._came: Final[BoundedDict[int, int]] = BoundedDict(2 * STREAM_BLOCKS_MAX)
        # By block, symbols sent and lost.
        self._ended: Final[BoundedDict[int, tuple[int, int]]] = BoundedDict(STREAM_BLOCKS_MAX)

    def arrived(self, block: int, count: int) -> None:
        """So many symbols of a block have come."""
        self._came[block] = self._came.get(block, 0) + count

    def ended(self, block: int, symbols: int) -> None:
        """A block has so many, and all have been sent."""
        lost = max(0, symbols - self._came.pop(block, 0))
        self._ended[block] = (symbols, lost)

    @property
    def loss(self) -> int:
        """In 2^-16."""
        sent = sum(symbols for symbols, _lost in self._ended.values())
        lost = sum(lost for _symbols, lost in self._ended.values())
        return lost * LOSS_ONE // sent if sent else 0
