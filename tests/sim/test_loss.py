"""Loss generators."""

from __future__ import annotations

from itertools import groupby

import pytest

from penstock.kernel.errors import UsageError
from penstock.kernel.seeds import Seeds
from penstock.sim.loss import Bernoulli, GilbertElliott, ListedLosses, LossModel

COUNT = 200_000


def draws(model: LossModel, count: int = COUNT) -> list[bool]:
    is_lost = model.generator(Seeds(7).rng("link", "A-B", "loss"))
    return [is_lost() for _ in range(count)]


def bursts(lost: list[bool]) -> list[int]:
    return [len(list(run)) for is_lost, run in groupby(lost) if is_lost]


@pytest.mark.parametrize("chance", [0.0, 0.001, 0.05, 0.5, 1.0])
def test_bernoulli_loses_its_share(chance: float) -> None:
    share = sum(draws(Bernoulli(chance))) / COUNT
    assert abs(share - chance) <= 5 * (chance * (1 - chance) / COUNT) ** 0.5


def test_bernoulli_bursts_are_as_short_as_chance_makes_them() -> None:
    lengths = bursts(draws(Bernoulli(0.2)))
    assert sum(lengths) / len(lengths) == pytest.approx(1 / 0.8, rel=0.02)


@pytest.mark.parametrize(("loss", "burst"), [(0.01, 5), (0.05, 2), (0.2, 10), (0.5, 1)])
def test_gilbert_elliott_loses_its_share_in_bursts_of_its_length(loss: float, burst: float) -> None:
    model = GilbertElliott.of(loss=loss, burst=burst)
    assert model.mean_loss == pytest.approx(loss)
    lost = draws(model)
    lengths = bursts(lost)
    assert sum(lost) / COUNT == pytest.approx(loss, rel=0.15)
    assert sum(lengths) / len(lengths) == pytest.approx(burst, rel=0.1)


def test_gilbert_elliott_burst_lengths_are_geometric() -> None:
    lengths = bursts(draws(GilbertElliott.of(loss=0.2, burst=4)))
    for length in range(1, 6):
        expected = 0.75 ** (length - 1) * 0.25
        assert lengths.count(length) / len(lengths) == pytest.approx(expected, rel=0.1)


def test_gilbert_elliott_with_partial_loss_in_both_states() -> None:
    model = GilbertElliott(turn_bad=0.02, turn_good=0.1, loss_good=0.01, loss_bad=0.4)
    assert model.bad_share == pytest.approx(1 / 6)
    assert sum(draws(model)) / COUNT == pytest.approx(model.mean_loss, rel=0.1)


def test_listed_loses_just_those() -> None:
    lost = draws(ListedLosses(frozenset({0, 3})), 5)
    assert lost == [True, False, False, True, False]


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Bernoulli(1.5), "loss is a chance between 0 and 1, not 1.5"),
        (lambda: GilbertElliott(turn_bad=-1, turn_good=0.5), "turn_bad"),
        (lambda: GilbertElliott(turn_bad=0, turn_good=0), "could never change"),
        (lambda: GilbertElliott.of(loss=0.1, burst=0.5), "at least 1 packet"),
        (lambda: GilbertElliott.of(loss=0.9, burst=2), "at most 0.6667"),
        (lambda: GilbertElliott.of(loss=0, burst=2), "above 0"),
    ],
)
def test_impossible_losses_are_refused(make: type[LossModel], text: str) -> None:
    with pytest.raises(UsageError, match=text):
        make()
