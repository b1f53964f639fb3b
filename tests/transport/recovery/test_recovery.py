"""Endpoints that lose messages and get them back from one another."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.trace.fates import ReceiverFate
from penstock.transport.recovery import settings as recovery
from penstock.transport.recovery.cache_size import CacheSettings
from penstock.transport.recovery.settings import RecoverySettings
from penstock.transport.settings import OrderingSettings
from penstock.wire.frames.base import TransportFrame
from penstock.wire.frames.data import Data
from penstock.wire.frames.digest import Digest
from penstock.wire.frames.repair import Repair
from penstock.wire.frames.request import Request
from tests.transport.recovery.bus import Bus

PUBLISHER, ONE, OTHER, THIRD = 1, 2, 3, 4
QUIET = replace(recovery.DEFAULT, digests=False)
ROOMY = CacheSettings(k_min=50)
PEERS_ONLY = replace(QUIET, publisher_answers=False, names_first=False, cache=ROOMY)
LITERAL = replace(recovery.LITERAL, cache=replace(recovery.LITERAL.cache, k_min=50))


def lossy(*lost: tuple[int, int]) -> Bus:
    """The network loses these: (receiver, number)."""

    def loses(_sender: int, receiver: int, frame: TransportFrame) -> bool:
        return isinstance(frame, Data) and (receiver, frame.seq) in lost

    return Bus(loses=loses)


def publish(bus: Bus, count: int, *, every_ns: int = 20 * MILLISECOND, topic: int = 1) -> None:
    for _ in range(count):
        bus.publish(PUBLISHER, topic=topic)
        bus.run(every_ns)


@pytest.mark.parametrize("settings_", [QUIET, PEERS_ONLY, LITERAL])
def test_what_one_lost_comes_from_another(settings_: RecoverySettings) -> None:
    bus = lossy((ONE, 5))
    bus.add(PUBLISHER, settings_)
    for me in (ONE, OTHER):
        bus.add(me, settings_, interest="topic = 1")
    publish(bus, 20)
    bus.run(3 * SECOND)
    assert sorted(bus.delivered_seqs(ONE)) == list(range(20))
    assert sorted(bus.delivered_seqs(OTHER)) == list(range(20))
    (repaired,) = [r for r in bus.deliveries[ONE] if r.fate is ReceiverFate.REPAIRED]
    assert repaired.frame.seq == 5
    assert [a.resolution for a in bus.absences[ONE]] == [ReceiverFate.REPAIRED]


def test_a_message_with_one_receiver_comes_from_its_publisher_alone() -> None:
    bus = lossy(*((ONE, number) for number in range(5, 300, 5)))
    bus.add(PUBLISHER, QUIET)
    bus.add(ONE, QUIET, interest="topic = 1")
    publish(bus, 300)
    bus.run(3 * SECOND)
    assert sorted(bus.delivered_seqs(ONE)) == list(range(300))
    requests = [frame for frame in bus.frames(Request) if isinstance(frame, Request)]
    repairs = [frame for frame in bus.frames(Repair) if isinstance(frame, Repair)]
    assert len(requests) == len(repairs) == 59
    assert {request.designated_repairer for request in requests} == {PUBLISHER}
    assert {repair.repairer for repair in repairs} == {PUBLISHER}
    # Once it has turned out that nobody else asks, it is for that one alone.
    assert [repair.to for repair in repairs] == [None] * 23 + [ONE] * 36


def test_without_recovery_nothing_is_asked_for() -> None:
    bus = lossy((ONE, 5))
    bus.add(PUBLISHER, None)
    bus.add(ONE, None, interest="topic = 1")
    publish(bus, 20)
    bus.run(20 * SECOND)
    assert 5 not in bus.delivered_seqs(ONE)
    assert not bus.frames(Request)


def test_many_who_share_a_loss_ask_seldom_and_are_answered_once() -> None:
    group = range(10, 40)
    bus = lossy(*((me, 5) for me in group))
    bus.add(PUBLISHER, QUIET)
    for me in group:
        bus.add(me, QUIET, interest="topic = 1")
    publish(bus, 20)
    bus.run(5 * SECOND)
    assert all(sorted(bus.delivered_seqs(me)) == list(range(20)) for me in group)
    assert len(bus.frames(Request)) <= 6
    assert len(bus.frames(Repair)) <= 3


def test_what_comes_after_waits_for_a_repair_if_it_is_to() -> None:
    bus = lossy((ONE, 5))
    bus.add(PUBLISHER, QUIET)
    patient = OrderingSettings(hold_for_repair_ns=2 * SECOND)
    bus.add(ONE, QUIET, interest="topic = 1", ordering=patient)
    publish(bus, 20)
    bus.run(3 * SECOND)
    assert bus.delivered_seqs(ONE) == list(range(20))


def test_what_nobody_has_is_given_up_and_said() -> None:
    impatient = replace(QUIET, publisher_answers=False, give_up_ns=2 * SECOND)
    bus = lossy((ONE, 5))
    bus.add(PUBLISHER, impatient)
    bus.add(ONE, impatient, interest="topic = 1")
    publish(bus, 20)
    bus.run(8 * SECOND)
    assert 5 not in bus.delivered_seqs(ONE)
    assert [a.resolution for a in bus.absences[ONE]] == [ReceiverFate.GIVEN_UP]


def test_a_repairer_that_is_gone_is_replaced_by_another() -> None:
    bus = lossy((ONE, 5))
    bus.add(PUBLISHER, QUIET)
    for me in (ONE, OTHER):
        bus.add(me, replace(QUIET, cache=ROOMY), interest="topic = 1")
    publish(bus, 20, every_ns=MILLISECOND)
    bus.run(11 * MILLISECOND)
    bus.detach(PUBLISHER)
    bus.run(10 * SECOND)
    assert sorted(bus.delivered_seqs(ONE)) == list(range(20))
    assert {repair.repairer for repair in bus.frames(Repair) if isinstance(repair, Repair)} == {
        OTHER
    }


def test_a_request_that_is_lost_is_sent_again() -> None:
    asked = []

    def loses(_sender: int, receiver: int, frame: TransportFrame) -> bool:
        if isinstance(frame, Request):
            asked.append(frame)
            return len(asked) <= 2
        return isinstance(frame, Data) and (receiver, frame.seq) == (ONE, 5)

    bus = Bus(loses=loses)
    bus.add(PUBLISHER, QUIET)
    bus.add(ONE, QUIET, interest="topic = 1")
    publish(bus, 20)
    bus.run(10 * SECOND)
    assert sorted(bus.delivered_seqs(ONE)) == list(range(20))
    assert [request.round for request in asked] == sorted({r.round for r in asked})


def test_a_digest_tells_of_the_last_message_before_a_silence() -> None:
    """No record does: nothing comes after it."""
    bus = lossy((ONE, 60))
    bus.add(PUBLISHER, recovery.DEFAULT, record=1)
    bus.add(ONE, recovery.DEFAULT, record=1, interest="topic = 1")
    for number in range(60):
        bus.publish(PUBLISHER, topic=1 if number % 10 == 0 else 2)
        bus.run(100 * MILLISECOND)
    assert bus.frames(Digest)
    bus.publish(PUBLISHER, topic=1)
    bus.run(5 * SECOND)
    assert 60 in bus.delivered_seqs(ONE)


def test_who_gets_everything_asks_for_no_digests() -> None:
    bus = lossy((ONE, 5))
    bus.add(PUBLISHER, recovery.DEFAULT)
    bus.add(ONE, recovery.DEFAULT, interest="topic = 1")
    publish(bus, 200)
    assert not bus.frames(Digest)


def test_other_scopes_do_not_answer() -> None:
    here = replace(PEERS_ONLY, scope="here")
    bus = lossy((ONE, 5))
    bus.add(PUBLISHER, here)
    bus.add(ONE, here, interest="topic = 1")
    bus.add(OTHER, replace(PEERS_ONLY, scope="there"), interest="topic = 1")
    publish(bus, 20)
    bus.run(3 * SECOND)
    assert 5 not in bus.delivered_seqs(ONE)
    bus.add(THIRD, here, interest="topic = 1")
    bus.loses = lambda _s, receiver, f: isinstance(f, Data) and (receiver, f.seq) == (ONE, 25)
    publish(bus, 20)
    bus.run(3 * SECOND)
    assert 25 in bus.delivered_seqs(ONE)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([0.05, 0.2]))
def test_whatever_is_lost_every_message_is_told_of_once(seed: int, chance: float) -> None:
    """Delivered or repaired once, or given up and said; nothing twice."""
    draw = Random(seed)

    def loses(_sender: int, _receiver: int, _frame: TransportFrame) -> bool:
        return draw.random() < chance

    bus = Bus(loses=loses)
    bus.add(PUBLISHER, recovery.DEFAULT)
    for me in (ONE, OTHER, THIRD):
        bus.add(me, recovery.DEFAULT, interest="topic = 1")
    publish(bus, 60)
    bus.loses = lambda _sender, _receiver, _frame: False
    publish(bus, 10)
    bus.run(60 * SECOND)
    for me in (ONE, OTHER, THIRD):
        got = bus.delivered_seqs(me)
        assert len(got) == len({*got})
        # What was sent before the first that came may be repaired, but is not missed.
        first = got[0]
        given_up = {a.id.seq for a in bus.absences[me] if a.resolution is ReceiverFate.GIVEN_UP}
        assert {*range(first, 70)} <= {*got} | given_up
        assert not given_up & {*got}
