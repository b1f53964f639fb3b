"""What goes wrong on one direction of a link, beside its losses: bursts, copies, kinds of frames.

A burst takes whole datagrams; a frame that is lost by its kind is so until it is mended.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Final

from penstock.kernel.instant import Duration
from penstock.sim.cast.cast_crossings import kind_of
from penstock.sim.loss import GilbertElliott, IsLost
from penstock.wire.frames.cast.base import CastFrame


class LinkFaults:
    """Of one direction of a link."""

    def __init__(self, rng: Random) -> None:
        self._rng: Final = rng
        self._is_lost: IsLost | None = None
        # As `Kind.name`, such as First or DownRelayConfig.
        self.lost_kinds: tuple[str, ...] = ()
        # The share of frames that come again, so much later.
        self.copied = 0.0
        self.copy_delay_ns: Duration = 0

    def set_bursts(self, model: GilbertElliott | None) -> None:
        """Frames are lost one after the other, or no longer."""
        self._is_lost = None if model is None else model.generator(self._rng)

    def mend(self) -> None:
        """Nothing is wrong any more."""
        self.set_bursts(None)
        self.lost_kinds, self.copied = (), 0.0

    def delays_of(self, frame: CastFrame) -> Iterator[Duration]:
        """How much later than it should each copy of a frame comes; none: it is lost."""
        if self.lost_kinds and kind_of(frame)[0].name in self.lost_kinds:
            return
        if self._is_lost is not None and self._is_lost():
            return
        yield 0
        if self.copied and self._rng.random() < self.copied:
            yield self.copy_delay_ns
