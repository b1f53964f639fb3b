"""Which packets a wire loses: loss models as values, and the generators they make.

A model is a value that can be printed and compared; `generator(rng)` turns it
into a function that answers, for one packet after another, whether it is lost.
Knows nothing of links, rates or queues.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Protocol, TypeAlias

from penstock.kernel.errors import UsageError

IsLost: TypeAlias = Callable[[], bool]


class LossModel(Protocol):
    """Any loss model."""

    def generator(self, rng: Random) -> IsLost:
        """A function that says of each packet in turn whether it is lost."""


@dataclass(frozen=True, slots=True)
class Bernoulli:
    """Each packet is lost with the same chance, whatever happened to the others."""

    chance: float

    def __post_init__(self) -> None:
        check_chance("loss", self.chance)

    def generator(self, rng: Random) -> IsLost:
        """One draw per packet."""
        random, chance = rng.random, self.chance
        return lambda: random() < chance


@dataclass(frozen=True, slots=True, kw_only=True)
class GilbertElliott:
    """Losses in bursts: the wire is good or bad, and may change before each packet.

    The chances are: to turn bad when good, to turn good when bad, and to lose a
    packet in either state. The first packet finds the state as a packet in the
    middle of a long run would.
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
        """Every packet lost in the bad state: `loss` in the long run, `burst` packets in a row."""
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
        """The share of packets that find the wire bad."""
        return self.turn_bad / (self.turn_bad + self.turn_good)

    @property
    def mean_loss(self) -> float:
        """The share of packets lost in the long run."""
        bad = self.bad_share
        return bad * self.loss_bad + (1 - bad) * self.loss_good

    def generator(self, rng: Random) -> IsLost:
        """One draw for the state, and one for the loss unless the state decides it."""
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
    """Loses exactly these packets, counted from 0: for scenarios that must be just so."""

    packets: frozenset[int]

    def generator(self, rng: Random) -> IsLost:  # noqa: ARG002  every model is asked the same way
        """No chance at all."""
        packets, packet = self.packets, -1

        def is_lost() -> bool:
            nonlocal packet
            packet += 1
            return packet in packets

        return is_lost


def check_chance(name: str, chance: float) -> None:
    """Refuses what is no probability."""
    if not 0 <= chance <= 1:
        raise UsageError(f"{name} is a chance between 0 and 1, not {chance}")
