"""Random impairments of packets on one link: jitter, loss, duplication, corruption.

Each kind has its own random generator, so that switching one on does not shift the draws of the
others. Knows nothing of queues or of time.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from penstock.kernel.instant import Duration
from penstock.kernel.seeds import Seeds
from penstock.sim.link_spec import LinkSpec
from penstock.sim.loss import check_chance

Impairment: TypeAlias = int
NONE, LOST, DUPLICATED, CORRUPTED = range(4)


class Impairments:
    """The impairments of one link, and their current probabilities."""

    __slots__ = (
        "_corruption_chances",
        "_draw_corrupt",
        "_draw_duplicate",
        "_draw_jitter",
        "_draw_lost",
        "_duplication_chances",
        "_jitter_ns",
        "_jitter_span_ns",
        "are_possible",
    )  # fmt: skip

    def __init__(self, spec: LinkSpec, seeds: Seeds) -> None:
        self._jitter_ns: Final = spec.jitter_ns
        self._jitter_span_ns: Final = 2 * spec.jitter_ns + 1
        self._draw_lost: Final = spec.loss.generator(seeds.rng("loss")) if spec.loss else None
        self._draw_jitter: Final = seeds.rng("jitter").random
        self._draw_duplicate: Final = seeds.rng("duplicate").random
        self._draw_corrupt: Final = seeds.rng("corrupt").random
        # Probabilities in force; of several at once the greatest applies.
        self._duplication_chances: list[float] = []
        self._corruption_chances: list[float] = []
        # False if `draw` can only return (NONE, 0): most links skip the call.
        self.are_possible = False
        self._set_possible()

    def draw(self) -> tuple[Impairment, Duration]:
        """Draws the impairment of the next packet and its extra delay."""
        extra_ns = 0
        if self._jitter_ns:
            extra_ns = int(self._draw_jitter() * self._jitter_span_ns) - self._jitter_ns
        if self._draw_lost is not None and self._draw_lost():
            return LOST, extra_ns
        if self._duplication_chances and self._draw_duplicate() < max(self._duplication_chances):
            return DUPLICATED, extra_ns
        if self._corruption_chances and self._draw_corrupt() < max(self._corruption_chances):
            return CORRUPTED, extra_ns
        return NONE, extra_ns

    def start_duplicating(self, chance: float) -> None:
        """Delivers a packet twice, at the same instant, with this probability."""
        check_chance("duplication", chance)
        self._duplication_chances.append(chance)
        self._set_possible()

    def stop_duplicating(self, chance: float) -> None:
        """Undoes one `start_duplicating`."""
        self._duplication_chances.remove(chance)
        self._set_possible()

    def start_corrupting(self, chance: float) -> None:
        """Garbles a packet with this probability."""
        check_chance("corruption", chance)
        self._corruption_chances.append(chance)
        self._set_possible()

    def stop_corrupting(self, chance: float) -> None:
        """Undoes one `start_corrupting`."""
        self._corruption_chances.remove(chance)
        self._set_possible()

    def _set_possible(self) -> None:
        self.are_possible = bool(
            self._jitter_ns
            or self._draw_lost
            or self._duplication_chances
            or self._corruption_chances
        )
