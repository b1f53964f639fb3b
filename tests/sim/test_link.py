"""Links, held against a twin that simulates packet by packet."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.kernel.errors import UsageError
from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.kernel.seeds import Seeds
from penstock.sim.events import EventQueue
from penstock.sim.link import Link
from penstock.sim.link_spec import LinkSpec
from penstock.sim.loss import Bernoulli, ListedLosses
from penstock.sim.observer import DropReason, Observer
from tests.sim.twin import NaiveLink

Step: TypeAlias = tuple[int, str, int]  # gap before it, what, size or rate

SPECS = st.builds(
    LinkSpec,
    rate_bps=st.sampled_from([8_000_000, 3_000_000, 1_000_000_000]),
    delay_ns=st.just(300_000),
    jitter_ns=st.sampled_from([0, 1_000, 300_000]),
    loss=st.sampled_from([None, Bernoulli(0.3)]),
    queue_bytes_max=st.sampled_from([1_000, 1_500, 4_000]),
)
# Gaps of whole transmissions make ties likely: 1000 ns is a byte at 8 Mbit/s.
GAPS = st.one_of(st.integers(0, 3).map(lambda n: n * 100_000), st.integers(0, 400_000))
SIZES = st.sampled_from([100, 200, 284, 999])


class Log(Observer):
    """Drops, as the twin writes them."""

    def __init__(self) -> None:
        self.dropped: list[tuple[int, int, str]] = []

    def on_drop(self, place: str, frame: Any, reason: DropReason, *, now: int) -> None:
        assert place == "A-B"
        self.dropped.append((now, frame, reason))


class Bench:
    """A link, what arrives from it and what does not."""

    def __init__(self, spec: LinkSpec, seed: int = 1) -> None:
        self.events = EventQueue()
        self.arrived: list[tuple[int, int]] = []
        self.log = Log()
        self.link: Link[int] = Link(
            "A-B", spec, self._arrive, events=self.events, seeds=Seeds(seed)
        )
        self.link.observe(self.log)

    def _arrive(self, frame: int) -> None:
        self.arrived.append((self.events.now, frame))


def play(bench: Bench, steps: list[Step]) -> None:
    now = 0
    for number, (gap, what, amount) in enumerate(steps):
        now += gap
        bench.events.run(now - 1)
        bench.events.now = now
        match what:
            case "cut":
                bench.link.cut()
                bench.link.mend()
            case "rate":
                bench.link.set_rate(amount)
            case _:
                bench.link.send(number, amount, what == "urgent")
    bench.events.run(now + 10 * SECOND)


def play_twin(twin: NaiveLink, steps: list[Step]) -> None:
    now = 0
    for number, (gap, what, amount) in enumerate(steps):
        now += gap
        match what:
            case "cut":
                twin.cut(now)
            case "rate":
                twin.set_rate(amount, now)
            case _:
                twin.send(number, amount, what == "urgent", now)
    twin.settle(now + 10 * SECOND)


def compare(spec: LinkSpec, steps: list[Step]) -> None:
    bench, twin = Bench(spec), NaiveLink("A-B", spec, Seeds(1))
    play(bench, steps)
    play_twin(twin, steps)
    assert bench.arrived == twin.arrived
    assert sorted(bench.log.dropped) == sorted(twin.dropped)
    numbers = [n for _, n in twin.arrived] + [n for _, n, _ in twin.dropped]
    assert sorted(numbers) == [n for n, s in enumerate(steps) if s[1] in {"data", "urgent"}]


def test_how_full_its_queue_is() -> None:
    bench = Bench(LinkSpec(rate_bps=8_000_000, queue_bytes_max=1_000))
    assert bench.link.queue_fill == 0
    for number in range(4):
        bench.link.send(number, 200)
    # The unsent rest of what is in transmission is part of it.
    assert bench.link.queue_fill == pytest.approx(0.8)
    bench.events.run(until=300_000)
    assert bench.link.queue_fill == pytest.approx(0.5)
    bench.link.send(9, 100, urgent=True)
    assert bench.link.queue_fill == pytest.approx(0.6)
    bench.link.cut()
    assert bench.link.queue_fill == 0
    assert Bench(LinkSpec()).link.queue_fill == 0


def steps_of(*kinds: st.SearchStrategy[tuple[str, int]]) -> st.SearchStrategy[list[Step]]:
    one = st.tuples(GAPS, st.one_of(*kinds)).map(lambda pair: (pair[0], *pair[1]))
    return st.lists(one, max_size=60)


DATA = st.tuples(st.just("data"), SIZES)
URGENT = st.tuples(st.just("urgent"), SIZES)
RATE = st.tuples(st.just("rate"), st.sampled_from([1_000_000, 8_000_000, 40_000_000]))
CUT = st.just(("cut", 0))


@given(SPECS, steps_of(DATA))
def test_plain_packets_agree_with_the_twin(spec: LinkSpec, steps: list[Step]) -> None:
    compare(spec, steps)


@settings(max_examples=300)
@given(SPECS, steps_of(DATA, DATA, URGENT))
def test_urgent_packets_agree_with_the_twin(spec: LinkSpec, steps: list[Step]) -> None:
    compare(spec, steps)


@settings(max_examples=300)
@given(SPECS, steps_of(DATA, DATA, URGENT, RATE, CUT))
def test_changes_of_rate_and_cuts_agree_with_the_twin(spec: LinkSpec, steps: list[Step]) -> None:
    compare(spec, steps)


@given(SPECS, steps_of(DATA, URGENT))
def test_a_sample_shows_what_the_twin_has_waiting(spec: LinkSpec, steps: list[Step]) -> None:
    bench, twin = Bench(spec), NaiveLink("A-B", spec, Seeds(1))
    now = 0
    for number, (gap, what, size_bytes) in enumerate(steps):
        now += gap
        bench.events.run(now)
        bench.link.send(number, size_bytes, what == "urgent")
        twin.send(number, size_bytes, what == "urgent", now)
        sample = bench.link.sample()
        unsent_ns = max(0, twin.busy_until - now)
        unsent_ns += sum(twin.transmit_ns(p.size_bytes) for p in twin.waiting)
        assert sample.queue_frames == len(twin.waiting)
        assert sample.queue_bytes == -(-unsent_ns * (spec.rate_bps or 0) // 8_000_000_000)
        assert sample.dropped_frames == len(bench.log.dropped)


def test_without_a_rate_packets_only_take_the_delay() -> None:
    bench = Bench(LinkSpec(delay_ns=70))
    play(bench, [(0, "data", 10_000), (0, "urgent", 10_000), (5, "data", 1)])
    assert bench.arrived == [(70, 0), (70, 1), (75, 2)]


def test_the_queue_drops_what_does_not_fit_and_only_that() -> None:
    # A byte a microsecond; 1000 bytes fit, counting what is unsent of the one in transmission.
    bench = Bench(LinkSpec(rate_bps=8_000_000, queue_bytes_max=1_000))
    play(bench, [(0, "data", 600), (0, "data", 401), (0, "data", 400), (1_000, "data", 1)])
    assert bench.arrived == [(600_000, 0), (1_000_000, 2), (1_001_000, 3)]
    assert bench.log.dropped == [(0, 1, "queue_full")]


def test_urgent_packets_overtake_the_queue_but_not_each_other_nor_what_is_being_sent() -> None:
    bench = Bench(LinkSpec(rate_bps=8_000_000))
    play(bench, [(0, "data", 100), (0, "data", 100), (0, "urgent", 10), (0, "urgent", 10)])
    assert [frame for _, frame in bench.arrived] == [0, 2, 3, 1]


def test_a_full_data_queue_leaves_room_for_urgent_packets() -> None:
    bench = Bench(LinkSpec(rate_bps=8_000_000, queue_bytes_max=1_000))
    play(bench, [(0, "data", 500), (0, "data", 500), (0, "data", 1), (0, "urgent", 100)])
    assert [frame for _, frame in bench.arrived] == [0, 3, 1]


@given(st.integers(0, 1 << 32))
def test_jitter_keeps_the_order_of_the_link(seed: int) -> None:
    spec = LinkSpec(delay_ns=5 * MILLISECOND, jitter_ns=5 * MILLISECOND)
    bench = Bench(spec, seed)
    play(bench, [(100_000, "data", 1)] * 100)
    assert [frame for _, frame in bench.arrived] == list(range(100))
    delays = [at - 100_000 * (frame + 1) for at, frame in bench.arrived]
    assert 0 <= min(delays) < max(delays) <= 10 * MILLISECOND


@given(st.integers(0, 1 << 32))
def test_jitter_packs_packets_no_closer_than_the_rate_does(seed: int) -> None:
    spec = LinkSpec(rate_bps=8_000_000, delay_ns=5 * MILLISECOND, jitter_ns=5 * MILLISECOND)
    bench = Bench(spec, seed)
    play(bench, [(400_000, "data", 300)] * 100)
    times = [at for at, _ in bench.arrived]
    assert min(after - before for before, after in pairwise(times)) == 300_000


def test_a_lost_packet_still_uses_the_transmitter() -> None:
    bench = Bench(LinkSpec(rate_bps=8_000_000, loss=ListedLosses(frozenset({0}))))
    play(bench, [(0, "data", 100), (0, "data", 100)])
    assert bench.arrived == [(200_000, 1)]
    assert bench.log.dropped == [(100_000, 0, "loss")]


def test_a_link_that_is_down_drops_what_waits_what_flies_and_what_comes() -> None:
    bench = Bench(LinkSpec(rate_bps=8_000_000, delay_ns=SECOND))
    for number in range(3):
        bench.link.send(number, 100)
    bench.events.run(150_000)
    bench.link.cut()
    bench.link.cut()
    bench.link.send(3, 100)
    bench.link.mend()
    assert not bench.link.is_up
    bench.link.send(4, 100)
    bench.link.mend()
    bench.link.send(5, 100)
    bench.events.run(10 * SECOND)
    assert bench.arrived == [(SECOND + 250_000, 5)]
    assert bench.log.dropped == [(150_000, n, "down") for n in range(5)]
    assert bench.link.dropped["down"] == 5


def test_an_unobserved_link_does_the_same() -> None:
    arrived = list[int]()
    events = EventQueue()
    spec = LinkSpec(rate_bps=8_000_000, queue_bytes_max=200, loss=ListedLosses(frozenset({1})))
    link: Link[int] = Link("A-B", spec, arrived.append, events=events, seeds=Seeds(1))
    for number in range(4):
        link.send(number, 100)
    events.run(SECOND)
    assert (arrived, link.sent_frames, link.sent_bytes) == ([0], 2, 200)
    assert link.dropped == {"queue_full": 2, "loss": 1, "down": 0, "corrupt": 0}


def test_duplication_and_corruption_last_until_they_are_lifted() -> None:
    bench = Bench(LinkSpec())
    mishaps = bench.link.impairments
    mishaps.start_duplicating(1.0)
    mishaps.start_duplicating(0.5)
    bench.link.send(0, 1)
    mishaps.stop_duplicating(1.0)
    mishaps.stop_duplicating(0.5)
    mishaps.start_corrupting(1.0)
    bench.link.send(1, 1)
    mishaps.stop_corrupting(1.0)
    bench.link.send(2, 1)
    bench.events.run(1)
    assert bench.arrived == [(0, 0), (0, 0), (0, 2)]
    assert bench.log.dropped == [(0, 1, "corrupt")]


def test_a_garbled_frame_arrives_if_it_can_be_read() -> None:
    arrived = list[int]()
    events = EventQueue()
    link: Link[int] = Link(
        "A-B", LinkSpec(), arrived.append, events=events, seeds=Seeds(1), garble=lambda n: n ^ 8
    )
    link.impairments.start_corrupting(1.0)
    link.send(1, 1)
    events.run(1)
    assert arrived == [9]


def test_a_fault_shifts_nobody_elses_draws() -> None:
    spec = LinkSpec(delay_ns=MILLISECOND, jitter_ns=MILLISECOND, loss=Bernoulli(0.2))
    calm, troubled = Bench(spec), Bench(spec)
    troubled.link.impairments.start_duplicating(0.5)
    steps = [(10 * MILLISECOND, "data", 1)] * 100
    play(calm, steps)
    play(troubled, steps)
    assert sorted(set(troubled.arrived)) == calm.arrived
    assert len(troubled.arrived) > len(calm.arrived)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"rate_bps": 0}, "above 0 bit/s"),
        ({"rate_bps": -5}, "above 0 bit/s"),
        ({"delay_ns": -1}, "negative"),
        ({"jitter_ns": 11}, "0 up to the delay"),
        ({"queue_bytes_max": 0}, "at least the size"),
    ],
)
def test_an_impossible_link_is_refused(change: dict[str, int], text: str) -> None:
    with pytest.raises(UsageError, match=text):
        replace(LinkSpec(delay_ns=10), **change)  # type: ignore[arg-type]


@pytest.mark.parametrize("watched_first", [False, True])
def test_diverted_frames_pass_the_far_end_in_the_same_queue(watched_first: bool) -> None:
    events = EventQueue()
    came: list[tuple[int, Any]] = []
    aside: list[tuple[int, Any]] = []
    spec = LinkSpec(rate_bps=8_000_000, queue_bytes_max=1_000)
    link: Link[Any] = Link(
        "A-B",
        spec,
        lambda frame: came.append((events.now, frame)),
        events=events,
        seeds=Seeds(1),
    )
    if watched_first:
        link.observe(Observer())
    link.divert(str, lambda frame: aside.append((events.now, frame)))
    if not watched_first:
        link.observe(Observer())
    for frame in ("a", 1, "b", 2):
        link.send(frame, 300)
    events.run(SECOND)
    # 1000 ns a byte; the fourth finds no room.
    assert aside == [(300_000, "a"), (900_000, "b")]
    assert came == [(600_000, 1)]
    assert link.dropped["queue_full"] == 1
