"""Packet loss models as values, and the random generators made from them.

A model can be printed and compared; `generator(rng)` returns a function that decides for one
packet after another whether it is lost. Knows nothing of links, rates or queues.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Protocol, TypeAlias

from penstock.kernel.errors import UsageError

IsLost: TypeAlias = Callable[[], bool]


class LossModel(Protocol):
    """A packet loss model."""

    def generator(self, rng: Random) -> IsLost:
        """Returns a function that decides for each packet in turn whether it is lost."""


@dataclass(frozen=True, slots=True)
class Bernoulli:
    """Independent losses with the same probability for each packet."""

    chance: float

    def __post_init__(self) -> None:
        check_chance("loss", self.chance)

    def generator(self, rng: Random) -> IsLost:
        """Returns a function that draws once per packet."""
        random, chance = rng.random, self.chance
        return lambda: random() < chance


@dataclass(frozen=True, slots=True, kw_only=True)
class GilbertElliott:
    """Losses in bursts: the wire is in a good or a bad state, and may change before each packet.

    `turn_bad` and `turn_good` are the transition probabilities, `loss_good` and `loss_bad` the
    loss probabilities in each state. The initial state is drawn from the stationary
    distribution.
    """

    turn_bad: float
    turn_good: float
    loss_good: float = 0.0
    loss_bad: float = 1.0

    def __post_init__(self) -> None:
        for name in ("turn_bad", "turn_good", "loss_good", "loss_bad"):
            check_chance(name, getattr(self, name))
        if self.turn_bad + self.turn_good == 0:
            raise UsageError("turn_bad and turn_good are both 0: the state could never change")

    @classmethod
    def of(cls, *, loss: float, burst: float) -> GilbertElliott:
        """Model that loses all packets in the bad state: mean loss `loss`, mean burst `burst`."""
        check_chance("loss", loss)
        if burst < 1:
            raise UsageError(f"a burst has at least 1 packet on average, not {burst}")
        if not loss or loss / (1 - min(loss, 0.999_999)) > burst:
            raise UsageError(
                f"no bursts of {burst} packets give a loss of {loss}: "
                f"write a loss above 0 and at most {burst / (burst + 1):.4g}"
            )
        turn_good = 1 / burst
        return cls(turn_bad=turn_good * loss / (1 - loss), turn_good=turn_good)

    @property
    def bad_share(self) -> float:
        """The share of packets sent in the bad state."""
        return self.turn_bad / (self.turn_bad + self.turn_good)

    @property
    def mean_loss(self) -> float:
        """The share of packets lost in the long run."""
        bad = self.bad_share
        return bad * self.loss_bad + (1 - bad) * self.loss_good

    def generator(self, rng: Random) -> IsLost:
        """Returns a function that draws the state, and the loss if the state leaves it open."""
        random = rng.random
        is_bad = random() < self.bad_share
        turn_bad, turn_good = self.turn_bad, self.turn_good
        loss_good, loss_bad = self.loss_good, self.loss_bad

        def is_lost() -> bool:
            nonlocal is_bad
            if random() < (turn_good if is_bad else turn_bad):
                is_bad = not is_bad
            loss = loss_bad if is_bad else loss_good
            return loss > 0 and (loss >= 1 or random() < loss)

        return is_lost


@dataclass(frozen=True, slots=True)
class ListedLosses:
    """Loses exactly these packets, counted from 0: for hand-written scenarios."""

    packets: frozenset[int]

    def generator(self, rng: Random) -> IsLost:  # noqa: ARG002  the signature is the protocol's
        """Returns a function that draws nothing."""
        packets, packet = self.packets, -1

        def is_lost() -> bool:
            nonlocal packet
            packet += 1
            return packet in packets

        return is_lost


def check_chance(name: str, chance: float) -> None:
    """Raises `UsageError` unless `chance` is a probability."""
    if not 0 <= chance <= 1:
        raise UsageError(f"{name} is a chance between 0 and 1, not {chance}")
