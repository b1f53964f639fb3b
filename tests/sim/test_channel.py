"""The model network: its laws are those it was given, and everyone gets what it asked for."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import sqrt
from typing import Any

import numpy as np
import pytest
import scipy.stats

from penstock.content.filter import Predicate
from penstock.content.syntax import parse
from penstock.kernel.errors import UsageError
from penstock.kernel.instant import MILLISECOND, SECOND, Instant
from penstock.kernel.machine import Deliver
from penstock.kernel.seeds import Seeds
from penstock.sim.channel.match_draws import MatchDraws
from penstock.sim.channel.network import HUB, ChannelNetwork
from penstock.sim.channel.path_model import HOPS_MAX, PathModel, PathSampler
from penstock.sim.clock import Clock
from penstock.sim.host import Host, Outlets
from penstock.sim.link_spec import LinkSpec
from penstock.sim.loss import ListedLosses
from penstock.sim.observer import DropReason, Observer
from penstock.wire.frames.base import TrafficClass
from penstock.wire.frames.data import Data
from tests.frames import data

HOP = 4 * MILLISECOND
MANY = 20_000


def delays(path: PathModel, count: int = MANY, seed: int = 1) -> list[tuple[int, ...]]:
    journeys = PathSampler(path, Seeds(seed))
    return [journeys.draw() for _ in range(count)]


def first_ms(path: PathModel, count: int = MANY) -> Any:
    return np.array([journey[0] for journey in delays(path, count)]) / MILLISECOND


# Paths ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hops", [1, 2, 4, HOPS_MAX])
def test_hops_add_up_to_an_erlang_law_after_the_fixed_part(hops: int) -> None:
    found = first_ms(PathModel(hops=hops, hop_ns=HOP, fixed_ns=50 * MILLISECOND)) - 50
    assert scipy.stats.kstest(found, scipy.stats.gamma(hops, scale=4).cdf).pvalue > 0.001


def test_correlated_delays_have_the_same_law_and_follow_one_another() -> None:
    path = PathModel(hops=2, hop_ns=HOP, correlation=0.9)
    found = first_ms(path)
    law = scipy.stats.gamma(2, scale=4)
    # A hundredth of them are as good as independent.
    assert scipy.stats.kstest(found[::100], law.cdf).pvalue > 0.001
    normal = scipy.stats.norm.ppf(law.cdf(found))
    for lag in (1, 5):
        seen = np.corrcoef(normal[lag:], normal[:-lag])[0, 1]
        assert seen == pytest.approx(0.9**lag, abs=0.03)


def test_uncorrelated_delays_know_nothing_of_one_another() -> None:
    found = first_ms(PathModel(hops=2, hop_ns=HOP))
    assert abs(np.corrcoef(found[1:], found[:-1])[0, 1]) < 4 / sqrt(MANY)


def test_some_are_lost_some_come_twice_and_some_take_the_detour() -> None:
    path = PathModel(fixed_ns=7, loss=0.1, duplicates=0.05, detours=0.2, detour_ns=10)
    found = delays(path)

    def share(is_such: Callable[[tuple[int, ...]], bool]) -> float:
        return sum(map(is_such, found)) / MANY

    spread = 4 / sqrt(MANY)
    assert share(lambda j: not j) == pytest.approx(0.1, abs=spread * 0.3)
    assert share(lambda j: len(j) == 2) == pytest.approx(0.9 * 0.05, abs=spread * 0.25)
    assert share(lambda j: j[:1] == (17,)) == pytest.approx(0.9 * 0.2, abs=spread * 0.4)
    assert {delay for journey in found for delay in journey} == {7, 17}


def test_a_chance_that_is_switched_on_shifts_no_delay() -> None:
    plain = delays(PathModel(hop_ns=HOP))
    chancy = delays(PathModel(hop_ns=HOP, loss=0.5, duplicates=0.5))
    assert all(one[:1] in {other, ()} for one, other in zip(chancy, plain, strict=True))


def test_the_same_seed_draws_the_same_journeys() -> None:
    path = PathModel(hops=3, hop_ns=HOP, loss=0.1, correlation=0.5)
    assert delays(path, 500) == delays(path, 500)
    assert delays(path, 500) != delays(path, 500, seed=2)


@pytest.mark.parametrize(
    "wrong", [{"hops": 0}, {"hops": 16}, {"hop_ns": -1}, {"loss": 1.5}, {"correlation": 1}]
)
def test_what_is_no_path_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        PathModel(**wrong)


# The network ------------------------------------------------------------------------------------


class Bench(Observer):
    """A network, who got which number when, and what was dropped where."""

    def __init__(self, path: PathModel, *, codec: bool = False) -> None:
        self.got: list[tuple[Instant, str, int]] = []
        self.dropped: list[tuple[str, DropReason]] = []
        self.sent = self.arrived = 0
        outlets = Outlets(deliver=self._deliver)
        self.network = ChannelNetwork(Seeds(1), path, codec=codec, outlets=outlets)
        self.network.world.observe(self)
        self._seq = 0

    def client(self, name: str, interest: str | Predicate | None = None, **options: Any) -> None:
        self.network.add_client(name, **options)
        if interest is not None:
            predicate = parse(interest) if isinstance(interest, str) else interest
            self.network.subscribe(name, predicate)

    def publish(self, name: str, attributes: dict[str, Any], *, at: Instant) -> None:
        frame = data(self._seq, attributes)
        self._seq += 1
        self.network.world.call_at(at, name, lambda port, now: port.publish(frame, now=now))

    def numbers(self, name: str) -> list[int]:
        return [seq for _, who, seq in self.got if who == name]

    def run(self) -> None:
        self.network.world.run(self.network.world.now + 10 * SECOND)

    def _deliver(self, host: Host[Any, Any], output: Deliver) -> None:
        assert isinstance(output.item, Data)
        self.got.append((self.network.world.now, host.name, output.item.seq))

    def on_send(self, link: Any, *_about: object, **_when: Instant) -> None:
        self.sent += link.name.startswith(HUB)

    def on_arrive(self, link: Any, *_about: object, **_when: Instant) -> None:
        self.arrived += link.name.startswith(HUB)

    def on_drop(self, place: str, frame: Any, reason: DropReason, *, now: Instant) -> None:
        del frame, now
        self.dropped.append((place, reason))


@pytest.mark.parametrize("codec", [False, True])
def test_everyone_gets_just_what_its_predicate_matches(codec: bool) -> None:
    bench = Bench(PathModel(hops=2, hop_ns=HOP, fixed_ns=HOP), codec=codec)
    bench.client("P")
    bench.client("low", "x < 5")
    bench.client("seven", "x = 7")
    bench.client("all", "exists x")
    for x in range(10):
        bench.publish("P", {"x": x}, at=x * SECOND // 100)
    bench.run()
    assert sorted(bench.numbers("low")) == [0, 1, 2, 3, 4]
    assert bench.numbers("seven") == [7]
    assert sorted(bench.numbers("all")) == list(range(10))
    assert bench.sent == bench.arrived == 16


def test_a_message_that_several_subscriptions_match_comes_once() -> None:
    bench = Bench(PathModel())
    bench.client("P")
    bench.client("twice", "x = 1")
    bench.network.subscribe("twice", parse("x < 5"), subscription_id=2)
    bench.publish("P", {"x": 1}, at=1)
    bench.run()
    assert bench.numbers("twice") == [0]


def test_what_was_taken_back_or_changed_counts_no_more() -> None:
    bench = Bench(PathModel())
    bench.client("P")
    bench.client("gone", "x = 1")
    bench.client("changed", "x = 1")
    bench.network.world.run(1)
    bench.network.subscribe("changed", parse("x = 2"))
    bench.network.world.host("gone").call(lambda port, now: port.unsubscribe(1, now=now))
    for x in (1, 2):
        bench.publish("P", {"x": x}, at=SECOND)
    bench.run()
    assert bench.numbers("gone") == []
    assert bench.numbers("changed") == [1]


def test_a_request_goes_to_whoever_subscribes_to_requests() -> None:
    bench = Bench(PathModel())
    bench.client("P", "exists x")
    bench.client("answering")
    asked = parse("x = 1")
    bench.network.world.host("answering").call(
        lambda port, now: port.subscribe(1, asked, traffic=TrafficClass.REQUEST, now=now)
    )
    request = data(0, {"x": 2})
    bench.network.world.call_at(
        SECOND, "P", lambda p, now: p.publish(request, traffic=TrafficClass.REQUEST, now=now)
    )
    bench.run()
    assert [who for _, who, _ in bench.got] == ["answering"]


def test_messages_overtake_one_another_and_each_receiver_has_its_own_luck() -> None:
    bench = Bench(PathModel(hops=2, hop_ns=HOP))
    bench.client("P")
    bench.client("one", "exists x")
    bench.client("other", "exists x")
    for x in range(100):
        bench.publish("P", {"x": x}, at=x * MILLISECOND)
    bench.run()
    one, other = bench.numbers("one"), bench.numbers("other")
    assert sorted(one) == sorted(other) == list(range(100))
    assert any(later < sooner for sooner, later in pairwise(one))
    assert one != other


def test_what_the_access_link_loses_all_lose() -> None:
    bench = Bench(PathModel())
    bench.client("P", access=LinkSpec(loss=ListedLosses(frozenset({3}))))
    bench.client("one", "exists x")
    bench.client("other", "exists x")
    for x in range(6):
        bench.publish("P", {"x": x}, at=x)
    bench.run()
    assert bench.numbers("one") == bench.numbers("other") == [0, 1, 2, 4, 5]
    assert bench.dropped == [(f"P-{HUB}", "loss")]


def test_a_path_that_is_cut_drops_what_is_on_its_way() -> None:
    bench = Bench(PathModel(fixed_ns=HOP))
    bench.client("P")
    bench.client("one", "exists x")
    link = bench.network.world.link(HUB, "one")
    bench.network.world.events.schedule(3 * MILLISECOND, link.cut)
    bench.network.world.events.schedule(3 * MILLISECOND + 10, link.mend)
    for x, at in enumerate((2 * MILLISECOND, 3 * MILLISECOND + 5, 4 * MILLISECOND)):
        bench.publish("P", {"x": x}, at=at)
    bench.run()
    assert bench.numbers("one") == [2]
    assert bench.dropped == [(link.name, "down")] * 2


def test_a_client_has_the_path_and_the_clock_it_was_given() -> None:
    bench = Bench(PathModel(fixed_ns=HOP))
    bench.client("P")
    clock = Clock(offset_ns=SECOND, drift_ppm=500)
    bench.client("far", "exists x", path=PathModel(fixed_ns=9 * HOP, hops=3), clock=clock)
    bench.publish("P", {"x": 1}, at=0)
    bench.run()
    assert bench.got == [(9 * HOP, "far", 0)]
    assert bench.network.world.host("far").now == SECOND + 10 * SECOND + 5 * MILLISECOND
    assert bench.network.brokers_between("P", "far") == 3


# Coins ------------------------------------------------------------------------------------------


def falls(coins: MatchDraws, count: int = MANY, **options: Any) -> Any:
    make = coins.message_maker(Seeds(1).rng("coins"), **options)
    return np.array([list(make().attributes.values()) for _ in range(count)])


def test_coins_fall_as_often_as_they_should_and_alone() -> None:
    found = falls(MatchDraws(probabilities=(0.5, 0.2, 1, 0)))
    assert found.mean(axis=0) == pytest.approx([0.5, 0.2, 1, 0], abs=4 * 0.5 / sqrt(MANY))
    both = (found[:, 0] & found[:, 1]).mean()
    assert both == pytest.approx(0.1, abs=4 * 0.3 / sqrt(MANY))


def test_coins_that_overlap_fall_equally_often_and_as_the_first_does() -> None:
    found = falls(MatchDraws(probabilities=(0.2,) * 3, overlap=0.5))
    assert found.mean(axis=0) == pytest.approx(0.2, abs=4 * 0.4 / sqrt(MANY))
    given_first = found[found[:, 0]]
    spread = 4 * 0.5 / sqrt(len(given_first))
    assert given_first[:, 1:].mean(axis=0) == pytest.approx(0.5, abs=spread)
    # And once that is known, not as one another.
    assert (given_first[:, 1] & given_first[:, 2]).mean() == pytest.approx(0.25, abs=spread)


def test_every_so_many_messages_the_first_coin_is_true() -> None:
    found = falls(MatchDraws(probabilities=(0.01, 0.01), overlap=0.5), first_every=10)
    assert found[9::10, 0].all()
    assert found[9::10, 1].mean() == pytest.approx(0.5, abs=4 * 0.5 / sqrt(MANY / 10))


def test_who_asks_for_a_coin_gets_the_messages_on_which_it_is_true() -> None:
    coins = MatchDraws(probabilities=(0.5, 0.5), name="m.")
    make = coins.message_maker(Seeds(1).rng("coins"))
    for message in (make() for _ in range(50)):
        for number, name in enumerate(("m.c0", "m.c1")):
            assert coins.interest(number).matches(message) is message.attributes[name]


@pytest.mark.parametrize(
    "wrong",
    [
        {"probabilities": ()},
        {"probabilities": (1.5,)},
        {"probabilities": (0.1, 0.2), "overlap": 0.5},
        {"probabilities": (0.9,) * 2, "overlap": 0.5},
    ],
)
def test_what_are_no_coins_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        MatchDraws(**wrong)
