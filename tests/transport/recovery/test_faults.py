"""Whatever fails, each message is delivered once, or said to be lost once; never neither, nor both.

`check` knows the truth: what was published, and what each endpoint's filter matches of it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.trace.fates import ReceiverFate
from penstock.transport.recovery import settings as recovery
from penstock.transport.recovery.cache_size import CacheSettings
from penstock.transport.recovery.settings import RecoverySettings
from penstock.wire.frames.base import TransportFrame
from penstock.wire.frames.data import Data
from penstock.wire.frames.repair import Repair
from penstock.wire.frames.request import Request
from tests.transport.recovery.bus import Bus

PUBLISHER, ONE, OTHER, THIRD = 1, 2, 3, 4
SUBSCRIBERS = (ONE, OTHER, THIRD)
QUIET = replace(recovery.DEFAULT, digests=False, cache=CacheSettings(k_min=50))
PEERS_ONLY = replace(QUIET, publisher_answers=False, names_first=False)
TRACKS = replace(recovery.DEFAULT, tracks=True)
EVERY_NS = 20 * MILLISECOND


def network(
    settings: RecoverySettings, *, record: int = 10, members: tuple[int, ...] = SUBSCRIBERS
) -> Bus:
    bus = Bus()
    bus.add(PUBLISHER, settings, record=record)
    for me in members:
        bus.add(me, settings, record=record, interest="topic = 1")
    return bus


def publish(bus: Bus, count: int, *, every_ns: int = EVERY_NS) -> None:
    for _ in range(count):
        bus.publish(PUBLISHER, topic=1)
        bus.run(every_ns)


def lose(bus: Bus, *lost: tuple[int, int]) -> None:
    """The network loses these originals: (receiver, number)."""
    bus.loses = lambda _s, to, frame: isinstance(frame, Data) and (to, frame.seq) in lost


def run_until_asked(bus: Bus) -> Request:
    """To just after the first request left; it takes 10 ms to arrive."""
    while not (asked := bus.frames(Request)):
        bus.run(MILLISECOND)
    assert isinstance(asked[0], Request)
    assert not bus.frames(Repair)
    return asked[0]


def given_up(bus: Bus, me: int) -> set[tuple[int, int]]:
    """By epoch and number."""
    lost = [a.id for a in bus.absences[me] if a.resolution is ReceiverFate.GIVEN_UP]
    assert len(lost) == len({*lost}), "told twice"
    return {(id_.epoch, id_.seq) for id_ in lost}


def delivered(bus: Bus, me: int) -> Counter[tuple[int, int]]:
    dropped = ReceiverFate.DROPPED_LATE
    return Counter(
        (r.frame.epoch, r.frame.seq) for r in bus.deliveries[me] if r.fate is not dropped
    )


def check(bus: Bus, *members: int, topics: tuple[int, ...] = (1,)) -> None:
    """All that was sent from the first to the last that came, of each epoch, has one fate."""
    sent = [frame for frame in bus.frames(Data) if isinstance(frame, Data)]
    for me in members:
        got, lost = delivered(bus, me), given_up(bus, me)
        matching = {(f.epoch, f.seq) for f in sent if f.message.attributes["topic"] in topics}
        assert {*got} | lost <= matching, f"{me} got, or missed, what it never asked for"
        assert not [key for key, times in got.items() if times > 1], f"{me} got it twice"
        assert not lost & {*got}, f"{me} got what it had given up"
        for epoch in {epoch for epoch, _ in got}:
            first, last = known(bus, me, epoch)
            wanted = {key for key in matching if key[0] == epoch and first <= key[1] <= last}
            silent = wanted - {*got} - lost
            assert not silent, f"{me} was never told of {sorted(silent)}"


def known(bus: Bus, me: int, epoch: int) -> tuple[int, int]:
    """What was sent before the first original that came, or after the last, nobody can miss."""
    numbers = [
        r.frame.seq
        for r in bus.deliveries[me]
        if r.frame.epoch == epoch and r.fate is not ReceiverFate.REPAIRED
    ]
    return numbers[0], max(numbers)


# One fault at a time -----------------------------------------------------------------------------


def test_if_who_was_named_leaves_before_it_answers_another_does() -> None:
    """Fails where the same one is named again, and again, until the message is given up."""
    bus = network(QUIET)
    publish(bus, 10)
    lose(bus, (ONE, 10))
    publish(bus, 6, every_ns=MILLISECOND)
    request = run_until_asked(bus)
    assert request.designated_repairer == PUBLISHER
    bus.detach(PUBLISHER)
    bus.run(10 * SECOND)
    assert delivered(bus, ONE)[1, 10] == 1
    repairs = [frame for frame in bus.frames(Repair) if isinstance(frame, Repair)]
    assert {repair.repairer for repair in repairs} <= {OTHER, THIRD}
    check(bus, *SUBSCRIBERS)


def test_if_who_is_about_to_answer_leaves_the_next_one_does() -> None:
    """The one whose timer would ring first is gone when it rings; nobody told the others."""
    bus = network(PEERS_ONLY)
    publish(bus, 10)
    lose(bus, (ONE, 10))
    publish(bus, 6, every_ns=MILLISECOND)
    run_until_asked(bus)
    bus.run(bus.delay_ns + MILLISECOND)
    waits = {me: repairer_wakeup(bus, me) for me in (OTHER, THIRD)}
    assert all(at is not None for at in waits.values()), "both have it, and wait"
    leaver = min(waits, key=lambda me: waits[me] or 0)
    bus.detach(leaver)
    bus.run(10 * SECOND)
    (stayed,) = {OTHER, THIRD} - {leaver}
    assert {f.repairer for f in bus.frames(Repair) if isinstance(f, Repair)} == {stayed}
    assert delivered(bus, ONE)[1, 10] == 1
    check(bus, ONE, stayed)


def repairer_wakeup(bus: Bus, me: int) -> int | None:
    machine = bus.endpoints[me].recovery
    assert machine is not None
    return machine._repairer.timers.next_wakeup()


@pytest.mark.parametrize("kind", [Request, Repair])
@pytest.mark.parametrize("times", [1, 2, 4])
def test_requests_and_repairs_that_are_lost_are_sent_again(
    kind: type[TransportFrame], times: int
) -> None:
    """Nobody hears the first few of them. Fails if a repair that nobody got holds others down."""
    bus = network(QUIET, members=(ONE, OTHER))
    first: list[TransportFrame] = []

    def loses(_sender: int, to: int, frame: TransportFrame) -> bool:
        if type(frame) is kind and frame not in first and len(first) < times:
            first.append(frame)
        return frame in first or (isinstance(frame, Data) and (to, frame.seq) == (ONE, 10))

    bus.loses = loses
    publish(bus, 16)
    bus.run(30 * SECOND)
    assert len(first) == times
    assert delivered(bus, ONE)[1, 10] == 1
    check(bus, ONE, OTHER)


@pytest.mark.parametrize("kind", [Request, Repair])
def test_if_none_of_them_ever_arrives_the_message_is_given_up_and_said(
    kind: type[TransportFrame],
) -> None:
    bus = network(QUIET, members=(ONE, OTHER))
    bus.loses = lambda _s, to, frame: (
        type(frame) is kind or (isinstance(frame, Data) and (to, frame.seq) == (ONE, 10))
    )
    publish(bus, 16)
    bus.run(60 * SECOND)
    assert given_up(bus, ONE) == {(1, 10)}
    check(bus, ONE, OTHER)


def restart(bus: Bus, settings: RecoverySettings, *, epoch: int, record: int = 10) -> None:
    if PUBLISHER in bus.endpoints:
        bus.detach(PUBLISHER)
    bus.add(PUBLISHER, settings, epoch=epoch, record=record)


def test_what_a_restarted_publisher_sent_before_comes_from_others() -> None:
    """It has forgotten it, and its new numbers are the same as the old."""
    bus = network(QUIET)
    publish(bus, 10)
    lose(bus, (ONE, 5), (ONE, 10))
    publish(bus, 6, every_ns=MILLISECOND)
    run_until_asked(bus)
    restart(bus, QUIET, epoch=2)
    bus.run(5 * SECOND)
    assert delivered(bus, ONE)[1, 10] == 1
    publish(bus, 20)
    bus.run(10 * SECOND)
    assert delivered(bus, ONE)[2, 10] == 1
    check(bus, *SUBSCRIBERS)


def test_what_is_asked_for_when_a_new_epoch_is_heard_is_given_up_and_said() -> None:
    """Its number may be that of a new message by now: a repair of it must not be taken for one."""
    bus = network(QUIET)
    publish(bus, 10)
    lose(bus, (ONE, 10), (ONE, 12))
    publish(bus, 6, every_ns=MILLISECOND)
    run_until_asked(bus)
    restart(bus, QUIET, epoch=2)
    bus.loses = lambda *_of: False
    publish(bus, 20, every_ns=5 * MILLISECOND)
    bus.run(30 * SECOND)
    fates = given_up(bus, ONE) | {key for key in delivered(bus, ONE) if key[0] == 1}
    assert {(1, 10), (1, 12)} <= fates
    assert all(delivered(bus, ONE)[2, seq] == 1 for seq in range(20))
    check(bus, *SUBSCRIBERS)


@pytest.mark.parametrize(
    ("settings", "record", "every_ms"),
    [(QUIET, 30, 200), (recovery.DEFAULT, 10, 20), (TRACKS, 10, 20)],
    ids=["records reach back", "the untold is asked for", "numbers of flows"],
)
def test_all_that_a_partition_of_five_seconds_took_is_got_back(
    settings: RecoverySettings, record: int, every_ms: int
) -> None:
    """Publishers on one side, subscribers on the other; what is asked for is lost as well.

    Of more messages than a record has entries it tells nothing: then the publisher must be
    asked what they were, or numbers of flows must tell.
    """
    bus = network(settings, record=record)
    every_ns = every_ms * MILLISECOND
    publish(bus, 3_000 // every_ms, every_ns=every_ns)
    before = len(bus.frames(Data))
    bus.loses = lambda sender, to, _frame: (sender == PUBLISHER) != (to == PUBLISHER)
    publish(bus, 5_000 // every_ms, every_ns=every_ns)
    healed = len(bus.frames(Data))
    assert all(seq < before for me in SUBSCRIBERS for seq in bus.delivered_seqs(me))
    bus.loses = lambda *_of: False
    publish(bus, 3_000 // every_ms, every_ns=every_ns)
    bus.run(60 * SECOND)
    check(bus, *SUBSCRIBERS)
    for me in SUBSCRIBERS:
        assert {*range(before, healed)} <= {*bus.delivered_seqs(me)}, (
            "the publisher had kept all of it"
        )


# Many at once ------------------------------------------------------------------------------------


class Adversity:
    """Loses, cuts off, restarts and removes, by one seed; outages are shorter than records."""

    RECORD = 60
    CUT_MS_MAX = 800

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.bus = Bus(loses=self._loses, delay_ns=self.rng.choice([2, 10, 40]) * MILLISECOND)
        self.settings = self.rng.choice([recovery.DEFAULT, QUIET, PEERS_ONLY])
        self.chance = 0.0
        self.cut_until = 0
        self.epoch = 1
        self.happened: Counter[str] = Counter()
        self.bus.add(PUBLISHER, self.settings, record=self.RECORD)
        self.topics = {me: self.rng.choice([(1,), (1, 2)]) for me in SUBSCRIBERS}
        for me, topics in self.topics.items():
            interest = " or ".join(f"topic = {topic}" for topic in topics)
            self.bus.add(me, self.settings, record=self.RECORD, interest=interest)

    def run(self) -> None:
        for _ in range(150):
            self._fault()
            self._publish()
        self.chance, self.cut_until = 0.0, 0
        for _ in range(self.RECORD):
            self._publish()
        self.bus.run(60 * SECOND)
        for me, topics in self.topics.items():
            check(self.bus, me, topics=topics)

    def _publish(self) -> None:
        self.bus.publish(PUBLISHER, topic=self.rng.choice([1, 2]))
        self.bus.run(EVERY_NS)

    def _fault(self) -> None:
        chosen = self.rng.choices(["none", "loss", "cut", "restart", "leave"], [100, 5, 2, 1, 0.5])[
            0
        ]
        self.happened[chosen] += 1
        if chosen == "loss":
            self.chance = self.rng.choice([0.0, 0.05, 0.3])
        elif chosen == "cut" and self.bus.now > self.cut_until + self.CUT_MS_MAX * MILLISECOND:
            self.cut_until = self.bus.now + self.rng.randint(100, self.CUT_MS_MAX) * MILLISECOND
        elif chosen == "restart":
            self.epoch += 1
            restart(self.bus, self.settings, epoch=self.epoch, record=self.RECORD)
        elif chosen == "leave":
            there = [me for me in SUBSCRIBERS if me in self.bus.endpoints]
            if len(there) > 1:
                gone = self.rng.choice(there)
                self.bus.detach(gone)
                # Nobody tells a dead application anything.
                del self.topics[gone]

    def _loses(self, sender: int, to: int, _frame: TransportFrame) -> bool:
        if self.bus.now < self.cut_until and (sender == PUBLISHER) != (to == PUBLISHER):
            return True
        return self.rng.random() < self.chance


@pytest.mark.parametrize("seed", range(40))
def test_whatever_fails_each_message_has_one_fate(seed: int) -> None:
    """Fails, among others, if a repair is taken without asking whether the message came."""
    Adversity(seed).run()


@pytest.mark.soak
def test_of_many_seeds_none_leaves_a_message_without_a_fate() -> None:
    happened: Counter[str] = Counter()
    for seed in range(1_000, 2_000):
        adversity = Adversity(seed)
        adversity.run()
        happened += adversity.happened
    assert min(happened[fault] for fault in ("loss", "cut", "restart", "leave")) > 100
