"""Whatever publishers and clocks do, an endpoint goes on, and what it remembers is bounded."""

from __future__ import annotations

import gc
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from random import Random

import msgspec
import pytest

from penstock.kernel.instant import MICROSECOND, MILLISECOND, SECOND
from penstock.kernel.machine import Deliver
from penstock.transport.facts import Absence, Delivery
from penstock.transport.order.delay_estimator import DelayEstimator
from penstock.transport.order.latch import ConstantLatch
from penstock.transport.order.missing import MissingEntry
from penstock.transport.order.stream import OrderedStream
from penstock.transport.receive.publisher_image import WINDOW_SIZE, PublisherImage
from penstock.transport.settings import DEFAULT, OrderingSettings, constant, literal
from penstock.wire.frames.data import Data
from penstock.wire.frames.record import EMPTY_RECORD, PublicationRecord, RecordEntry
from tests.transport.harness import Receiver, published

KEPT = (PublisherImage, OrderedStream, DelayEstimator, MissingEntry)


def kept() -> Counter[str]:
    """How many there are of what an endpoint remembers publishers by."""
    gc.collect()
    return Counter(type(o).__name__ for o in gc.get_objects() if isinstance(o, KEPT))


def from_publisher(frame: Data, pub: int) -> Data:
    return msgspec.structs.replace(frame, pub=pub)


def test_of_thirty_thousand_publishers_no_more_are_remembered_than_is_allowed() -> None:
    before = kept()
    frames = published([1] * 3)
    receiver = Receiver(publishers_max=1_000)
    endpoint, told = receiver.endpoint, Counter[type]()

    def hear(frame: Data, pub: int) -> None:
        endpoint.receive(from_publisher(frame, pub), via="all", now=pub * MICROSECOND)
        while (output := endpoint.poll()) is not None:
            assert isinstance(output, Deliver)
            told[type(output.item)] += 1

    for pub in range(30_000):
        hear(frames[0], pub)
        if pub % 10 == 0:
            # This one leaves a gap, which is waited for.
            hear(frames[2], pub)
    assert list(endpoint.publishers) == list(range(29_000, 30_000))
    assert endpoint.counters["publishers_overflow"] == 29_000
    since = kept() - before
    assert since["PublisherImage"] == since["DelayEstimator"] == 1_000
    # Timers that are no longer needed go when there are many of them.
    assert since["OrderedStream"] <= 1_100
    assert since["MissingEntry"] <= 2 * len(endpoint._timers) == 200
    # Nothing was lost for it, and every gap has an end.
    endpoint.unsubscribe(receiver.subscription, now=SECOND)
    receiver.drain()
    assert told[Delivery] + len(receiver.receipts) == 33_000
    assert told[Absence] + len(receiver.absences) == 3_000
    assert (kept() - before)["OrderedStream"] < 100


@pytest.mark.parametrize(("messages", "bytes_max"), [(1, 3_000), (150, 8_000)])
def test_a_publisher_costs_a_few_kilobytes(messages: int, bytes_max: int) -> None:
    frames = published([1] * messages)
    publishers = 20_000 // (100 + messages)
    receiver = Receiver(publishers_max=publishers)
    gc.collect()
    tracemalloc.start()
    try:
        for pub in range(publishers):
            for frame in frames:
                receiver.endpoint.receive(from_publisher(frame, pub), via="all", now=receiver.now)
                receiver.now += MILLISECOND
                while receiver.endpoint.poll() is not None:
                    pass
        gc.collect()
        used_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert used_bytes / publishers < bytes_max


HOSTILE_ORDERINGS = {
    "default": replace(DEFAULT, held_max=50, missing_max=50),
    "dropping": replace(DEFAULT, held_max=50, missing_max=50, late="drop", remember_ns=0),
    "literal": replace(literal(), held_max=50, missing_max=50),
    "basic": replace(literal(record_used=0), held_max=50, missing_max=50),
    "cautious": OrderingSettings(is_cautious=True, held_max=50, missing_max=50),
    "constant": replace(constant(2 * SECOND), held_max=50, missing_max=50),
}


def hostile(rng: Random, honest: list[Data]) -> Iterator[Data]:
    """Frames that can be read, and make no sense together: no two fields agree."""
    seq = epoch = 0
    for frame in honest:
        seq += rng.choice(
            (1, 1, 1, 2, 5, 100, WINDOW_SIZE, 2**31 - 1, -1, -2, -50, -WINDOW_SIZE, -(2**31))
        )
        epoch += rng.choice((0,) * 60 + (1, -1, 2**15, 100))
        record = frame.record
        match rng.randrange(4):
            case 0:
                entries = [
                    RecordEntry(rng.randrange(2**24), rng.randbytes(rng.randrange(60)))
                    for _ in range(rng.randrange(256))
                ]
                record = PublicationRecord.of(entries)
            case 1:
                record = EMPTY_RECORD
        yield msgspec.structs.replace(
            frame,
            pub=666,
            seq=seq % 2**32,
            epoch=epoch % 2**16,
            send_ts_us=rng.choice((frame.send_ts_us, rng.randrange(2**48))),
            since_previous_100us=rng.randrange(2**24),
            record=record,
            has_bloom_entries=rng.random() < 0.2,
        )


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", HOSTILE_ORDERINGS)
def test_a_hostile_publisher_neither_stops_an_endpoint_nor_fills_it(name: str, seed: int) -> None:
    rng = Random(seed)
    receiver = Receiver("topic = 1 and at >= 0", HOSTILE_ORDERINGS[name])
    receiver.subscribe("topic = 1", HOSTILE_ORDERINGS[name])
    good = published([1] * 500, size=30)
    for frame, bad in zip(good, hostile(rng, good), strict=True):
        receiver.hear(bad, at=receiver.now + rng.choice((0, 100_000, 3 * MILLISECOND)))
        receiver.hear(frame)
        arrivals = receiver.endpoint._images[666]
        bits = arrivals._recent.bit_length() + arrivals._older.bit_length()
        assert bits <= 2 * WINDOW_SIZE + 1
        for stream in arrivals.streams.values():
            assert len(stream._buffer.messages) <= 50
            assert len(stream.missing) <= 50
            assert len(stream._blocking) <= 50
            assert len(stream._given_up) <= 50
        assert len(receiver.endpoint._timers) <= 2 * 100
    for subscription in (1, 2):
        mine = [r for r in receiver.receipts if r.subscription == subscription]
        assert [r.frame.seq for r in mine if r.frame.pub == 1] == list(range(500))
        assert any(r.frame.pub == 666 for r in mine)
        receiver.endpoint.unsubscribe(subscription, now=receiver.now)
    assert receiver.endpoint.next_wakeup() is None


def test_what_was_given_up_stays_so_however_much_was_given_up_since() -> None:
    frames = published([1] * 10)
    ordering = replace(DEFAULT, missing_max=2, remember_ns=0)
    receiver = Receiver(ordering=ordering)
    for frame in frames[::2]:
        receiver.hear(frame)
        receiver.wait_for_all()
    assert receiver.fates == dict.fromkeys((1, 3, 5, 7), "given_up")
    receiver.hear(*frames[1:8:2])
    assert receiver.numbers == [0, 2, 4, 6, 8]
    assert receiver.endpoint.counters["after_end"] == 4


def test_there_is_a_bound_on_what_is_only_assumed_to_be_missing() -> None:
    frames = [msgspec.structs.replace(f, record=EMPTY_RECORD) for f in published([1] * 40)]
    ordering = replace(constant(10 * MILLISECOND), missing_max=5)
    receiver = Receiver(ordering=ordering)
    receiver.hear(*frames[::2])
    assert len(receiver.endpoint._timers) == 5
    receiver.wait_for_all()
    assert receiver.numbers == list(range(0, 40, 2))


def test_of_what_may_match_or_not_no_more_is_waited_for_either() -> None:
    # Of a range no entry tells: each of a hundred may be for us.
    frames = published([1] * 102, size=100)
    ordering = replace(literal(), bloom=None, latch=ConstantLatch(MILLISECOND), missing_max=5)
    receiver = Receiver("at >= 0", ordering)
    receiver.hear(frames[0], frames[101])
    assert len(receiver.endpoint._timers) == 5
    assert receiver.numbers == [0]
    receiver.wait_for_all()
    assert receiver.numbers == [0, 101]


def test_what_was_given_up_is_not_missed_again_when_a_longer_record_tells_of_it() -> None:
    frames = published([1] * 20, size=20)
    short = msgspec.structs.replace(frames[10], record=frames[10].record.newest(3))
    receiver = Receiver(ordering=replace(DEFAULT, remember_ns=0))
    receiver.hear(frames[0], short)
    receiver.wait_for_all()
    assert receiver.fates == dict.fromkeys((7, 8, 9), "given_up")
    receiver.hear(frames[12])
    receiver.wait_for_all()
    assert sorted(absence.id.seq for absence in receiver.absences) == [*range(1, 10), 11]


def test_a_clock_that_is_set_back_while_something_is_missing_is_survived() -> None:
    frames = published([1] * 20)
    receiver = Receiver()
    receiver.hear(*frames[:10], frames[11], at=10_000 * SECOND)
    receiver.now = 0
    receiver.hear(frames[10])
    assert receiver.numbers == list(range(12))
