"""Random networks, whatever they do: the promises hold for every ordering."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from penstock.kernel.instant import MILLISECOND
from penstock.trace.fates import RECEIVED, ReceiverFate
from penstock.transport.record.matcher import RecordMatch
from penstock.transport.settings import DEFAULT, OFF, OrderingSettings, constant, literal
from penstock.wire.frames.data import Data
from tests.transport.harness import Receiver, published

ORDERINGS = {
    "default": DEFAULT,
    "off": OFF,
    "literal": literal(),
    "basic": literal(record_used=0),
    "printed": literal(as_printed=True),
    "constant": constant(10 * MILLISECOND),
    "constant with record": constant(10 * MILLISECOND, record_used=10),
    "dropping": OrderingSettings(late="drop"),
    "hasty": OrderingSettings(max_delay_ns=2 * MILLISECOND),
    "cramped": OrderingSettings(held_max=3, missing_max=20),
    "cautious": OrderingSettings(is_cautious=True),
}


def arrivals(rng: Random, frames: list[Data]) -> tuple[list[tuple[int, Data]], set[int]]:
    """What arrives, some of it twice; and what is for us and never does."""
    arriving, lost = [], set()
    for frame in frames:
        if frame.message.attributes["topic"] != 1:
            continue
        if rng.random() < 0.1:
            lost.add(frame.seq)
            continue
        for _ in range(2 if rng.random() < 0.1 else 1):
            delay = 20_000_000 + round(rng.expovariate(1 / 4e6) + rng.expovariate(1 / 4e6))
            arriving.append((frame.send_ts_us * 1000 + delay, frame))
    return sorted(arriving, key=lambda item: item[0]), lost


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", ORDERINGS)
def test_the_promises_hold(name: str, seed: int) -> None:
    ordering = ORDERINGS[name]
    rng = Random(seed)
    match = rng.choice([0.1, 0.5, 1])
    frames = published(
        [1 if rng.random() < match else 2 for _ in range(400)],
        every_ns=rng.choice([300_000, 1_000_000, 5_000_000]),
        size=rng.choice([0, 2, 10, 30]),
    )
    arriving, lost = arrivals(rng, frames)
    receiver = Receiver(ordering=ordering)
    for at, frame in arriving:
        receiver.hear(frame, at=at)
    receiver.wait_for_all()

    # Each message that came has one receipt, whatever became of it; nothing else has any.
    came = {frame.seq for _, frame in arriving}
    assert Counter(r.frame.seq for r in receiver.receipts) == Counter(came)
    if ordering.late == "deliver":
        assert not [r for r in receiver.receipts if r.fate is ReceiverFate.DROPPED_LATE]
    # What is not called late is in order, and what is called late is not.
    if ordering.latch is not None:
        highest = -1
        for receipt in receiver.receipts:
            assert (receipt.frame.seq > highest) == (receipt.fate is ReceiverFate.DELIVERED)
            highest = max(highest, receipt.frame.seq)
    # Nothing waits longer than it may.
    waits = [r.resolved_ns - r.arrived_ns for r in receiver.receipts]
    assert 0 <= min(waits) <= max(waits) <= ordering.max_delay_ns
    # Every number that was missed ends once, and as it should.
    assert max(Counter(a.id.seq for a in receiver.absences).values(), default=1) == 1
    for absence in receiver.absences:
        if absence.resolution in RECEIVED or absence.resolution is ReceiverFate.DROPPED_LATE:
            assert absence.id.seq in came
        else:
            assert absence.id.seq in lost
    assert receiver.endpoint.next_wakeup() is None


@pytest.mark.spec("F12")
def test_what_the_default_calls_lost_is() -> None:
    rng = Random(3)
    frames = published([1] * 6000, every_ns=5 * MILLISECOND)
    arriving, lost = [], set()
    for frame in frames:
        if rng.random() < 0.01:
            lost.add(frame.seq)
        else:
            delay = sum(rng.expovariate(1 / 4e6) for _ in range(4))
            arriving.append((frame.send_ts_us * 1000 + round(delay), frame))
    receivers = {name: Receiver(ordering=ORDERINGS[name]) for name in ("default", "literal")}
    precision, recall = {}, {}
    for name, receiver in receivers.items():
        for at, frame in sorted(arriving, key=lambda item: item[0]):
            receiver.hear(frame, at=at)
        receiver.wait_for_all()
        declared = {a.id.seq for a in receiver.absences if a.lost_ns is not None}
        precision[name] = len(declared & lost) / len(declared)
        recall[name] = len(declared & lost) / len(lost)
    assert precision["default"] > 0.9
    # But for one at the very end, after which nothing came.
    assert recall["default"] > 0.97
    # As the paper declares them, losses are mostly messages that are only slow.
    assert precision["literal"] < 0.3


def test_a_message_given_up_after_a_digest_announced_it_has_no_second_fate() -> None:
    frames = published([1] * 4)
    receiver = Receiver(ordering=replace(DEFAULT, remember_ns=0))
    receiver.hear(frames[0])
    stream = receiver.endpoint._images[1].streams[receiver.subscription]
    # A digest overtakes messages 1 and 2, and announces the second.
    announced = RecordMatch(offset=1, sent_before_ns=0, is_certain=True, packed=b"", reader=None)
    stream.on_digest([announced], 3, 2 * MILLISECOND, receiver.now)
    receiver.wait_for_all()
    assert receiver.fates == {2: "given_up"}
    receiver.hear(frames[2])
    assert receiver.numbers == [0]
    assert receiver.endpoint.counters["after_end"] == 1
    # What comes after it does not wait for it, and what came before it is still in order.
    receiver.hear(frames[1], frames[3])
    assert receiver.numbers == [0, 1, 3]
    assert receiver.fates == {2: "given_up"}
