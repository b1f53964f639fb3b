"""What may happen to a packet on a wire: jitter, loss, a copy, garbling.

Each kind of chance has its own generator, so that a fault that is switched on
shifts nobody else's draws. Knows nothing of queues or of time.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from penstock.kernel.instant import Duration
from penstock.kernel.seeds import Seeds
from penstock.sim.link_spec import LinkSpec
from penstock.sim.loss import check_chance

Mishap: TypeAlias = int
NONE, LOST, DOUBLED, CORRUPTED = range(4)


class Mishaps:
    """The chances of one link."""

    __slots__ = (
        "_corrupting", "_doubling", "_draw_corrupt", "_draw_double", "_draw_jitter",
        "_draw_lost", "_jitter_ns", "_jitter_span_ns", "are_possible",
    )  # fmt: skip

    def __init__(self, spec: LinkSpec, seeds: Seeds) -> None:
        self._jitter_ns: Final = spec.jitter_ns
        self._jitter_span_ns: Final = 2 * spec.jitter_ns + 1
        self._draw_lost: Final = spec.loss.generator(seeds.rng("loss")) if spec.loss else None
        self._draw_jitter: Final = seeds.rng("jitter").random
        self._draw_double: Final = seeds.rng("duplicate").random
        self._draw_corrupt: Final = seeds.rng("corrupt").random
        # The chances now in force; of several at once the greatest counts.
        self._doubling: list[float] = []
        self._corrupting: list[float] = []
        # Whether `draw` can say anything but (NONE, 0): most links never need to ask.
        self.are_possible = False
        self._set_possible()

    def draw(self) -> tuple[Mishap, Duration]:
        """What becomes of the next packet, and by how much its delay differs."""
        extra_ns = 0
        if self._jitter_ns:
            extra_ns = int(self._draw_jitter() * self._jitter_span_ns) - self._jitter_ns
        if self._draw_lost is not None and self._draw_lost():
            return LOST, extra_ns
        if self._doubling and self._draw_double() < max(self._doubling):
            return DOUBLED, extra_ns
        if self._corrupting and self._draw_corrupt() < max(self._corrupting):
            return CORRUPTED, extra_ns
        return NONE, extra_ns

    def duplicate(self, chance: float) -> None:
        """From now on some packets arrive twice, at once."""
        check_chance("duplication", chance)
        self._doubling.append(chance)
        self._set_possible()

    def stop_duplicate(self, chance: float) -> None:
        """Takes one `duplicate` back."""
        self._doubling.remove(chance)
        self._set_possible()

    def corrupt(self, chance: float) -> None:
        """From now on some packets are garbled."""
        check_chance("corruption", chance)
        self._corrupting.append(chance)
        self._set_possible()

    def stop_corrupt(self, chance: float) -> None:
        """Takes one `corrupt` back."""
        self._corrupting.remove(chance)
        self._set_possible()

    def _set_possible(self) -> None:
        self.are_possible = bool(
            self._jitter_ns or self._draw_lost or self._doubling or self._corrupting
        )
