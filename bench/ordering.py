"""How many messages a second an endpoint takes in, puts in order and hands over, on one core.

One publisher's DATA frames, made beforehand by an endpoint of their own, go
through `Endpoint.receive`; what comes out is taken away and the next wake-up
asked for, as a driver does. As there, frames have been decoded just before, a
few dozen at a time, which is not counted. Messages have ten attributes and leave
a millisecond apart. Nothing is lost, and what is late is late by one place.

    everything    the subscription matches every message; a record of 10
    one in 20     it matches 5 % of them, and the others never come; a record of 25,
                  of which some entries are for us and have come or are on their way
    off           what arrives is handed over as it arrives: what the rest is compared with
    literal       the paper's algorithm, with its Bloom sets of 128 bits

A message is one that arrives.
"""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from time import process_time
from typing import Final, TypeAlias

from bench.result import Case, Note, Result
from penstock.content.bloom import BloomParams
from penstock.content.constraint import Constraint, Op
from penstock.content.filter import Filter, Predicate
from penstock.content.message import Message
from penstock.content.tags import Encoder
from penstock.kernel.instant import MILLISECOND, Instant
from penstock.kernel.machine import Deliver, Output, Send
from penstock.kernel.seeds import Seeds
from penstock.testing.loopback_network import LoopbackNetwork
from penstock.transport.endpoint import Endpoint
from penstock.transport.facts import Delivery
from penstock.transport.settings import (
    DEFAULT,
    OFF,
    EndpointSettings,
    OrderingSettings,
    RecordSettings,
    literal,
)
from penstock.wire.codec.transport import TRANSPORT
from penstock.wire.frames.base import TransportFrame

ARRIVALS: Final = 5_000
# Nineteen others must be published for each of these.
SPARSE_ARRIVALS: Final = 2_000
# What a driver finds in its socket at once.
CHUNK: Final = 64
ROUNDS: Final = 8
INTERVAL_NS: Final = MILLISECOND
DELAY_NS: Final = 50 * MILLISECOND
ATTRIBUTES: Final = 10
TOPICS: Final = 20
LATE_SHARE: Final = 0.05

# What arrives, and when.
Traffic: TypeAlias = Sequence[tuple[TransportFrame, Instant]]

EVERYTHING: Final = Predicate([Filter([Constraint("kind", Op.EQ, "quote")])])
ONE_IN_20: Final = Predicate([Filter([Constraint("topic", Op.EQ, "topic 7")])])
_BLOOM: Final = BloomParams(128, 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderingCase:
    """One case: what is asked for, how it is ordered, and what arrives."""

    interest: Predicate
    ordering: OrderingSettings
    record: RecordSettings
    late_share: float = 0.0


_TEN: Final = RecordSettings(size=10)
_TWENTY_FIVE: Final = RecordSettings(size=25)
_TEN_SETS: Final = RecordSettings(size=10, bloom=_BLOOM)
_TWENTY_FIVE_SETS: Final = RecordSettings(size=25, bloom=_BLOOM)
_LITERAL: Final = literal()

IN_ORDER: Final = "everything, in order"
LATE: Final = "everything, 5 % late"
SPARSE: Final = "one in 20, in order"
SPARSE_LATE: Final = "one in 20, 5 % late"

CASES: Final = {
    IN_ORDER: OrderingCase(interest=EVERYTHING, ordering=DEFAULT, record=_TEN),
    LATE: OrderingCase(interest=EVERYTHING, ordering=DEFAULT, record=_TEN, late_share=LATE_SHARE),
    SPARSE: OrderingCase(interest=ONE_IN_20, ordering=DEFAULT, record=_TWENTY_FIVE),
    SPARSE_LATE: OrderingCase(
        interest=ONE_IN_20, ordering=DEFAULT, record=_TWENTY_FIVE, late_share=LATE_SHARE
    ),
    f"off: {IN_ORDER}": OrderingCase(interest=EVERYTHING, ordering=OFF, record=_TEN),
    f"off: {SPARSE}": OrderingCase(interest=ONE_IN_20, ordering=OFF, record=_TWENTY_FIVE),
    f"literal: {IN_ORDER}": OrderingCase(interest=EVERYTHING, ordering=_LITERAL, record=_TEN_SETS),
    f"literal: {LATE}": OrderingCase(
        interest=EVERYTHING, ordering=_LITERAL, record=_TEN_SETS, late_share=LATE_SHARE
    ),
    f"literal: {SPARSE}": OrderingCase(
        interest=ONE_IN_20, ordering=_LITERAL, record=_TWENTY_FIVE_SETS
    ),
    f"literal: {SPARSE_LATE}": OrderingCase(
        interest=ONE_IN_20, ordering=_LITERAL, record=_TWENTY_FIVE_SETS, late_share=LATE_SHARE
    ),
}
GOALS: Final = {IN_ORDER: ">= 200000", SPARSE: ">= 100000", SPARSE_LATE: ">= 100000"}
# What ordering costs beside none, and beside the paper's.
RATIOS: Final = (
    (IN_ORDER, f"off: {IN_ORDER}"),
    (SPARSE, f"off: {SPARSE}"),
    (IN_ORDER, f"literal: {IN_ORDER}"),
    (LATE, f"literal: {LATE}"),
    (SPARSE, f"literal: {SPARSE}"),
    (SPARSE_LATE, f"literal: {SPARSE_LATE}"),
)


def run(note: Note) -> Result:
    """Each case in turn, several times, the quickest of which counts: noise only adds time."""
    encoder = Encoder(b"bench")
    sent: dict[tuple[Predicate, RecordSettings], Traffic] = {}
    traffic = {}
    for name, case in CASES.items():
        note(f"{name}: making frames")
        key = case.interest, case.record
        if key not in sent:
            sent[key] = matching_traffic(
                case, encoder, ARRIVALS if key[0] is EVERYTHING else SPARSE_ARRIVALS
            )
        traffic[name] = with_overtaking(sent[key], case.late_share)
    best = dict.fromkeys(CASES, 0.0)
    for number in range(ROUNDS):
        for name, case in CASES.items():
            note(f"{name}: round {number + 1} of {ROUNDS}")
            spent_s = seconds(case, encoder, traffic[name])
            best[name] = max(best[name], len(traffic[name]) / spent_s)
    cases = [
        Case(name, "speed", rate, "messages/s", GOALS.get(name, "")) for name, rate in best.items()
    ]
    return Result(
        "ordering", cases, {f"{one}/{other}": best[one] / best[other] for one, other in RATIOS}
    )


def seconds(case: OrderingCase, encoder: Encoder, traffic: Traffic) -> float:
    """How long a new endpoint takes for all of it."""
    return pump(receiver(case, encoder), traffic)[0]


def delivered_seqs(case: OrderingCase, encoder: Encoder, traffic: Traffic) -> list[int]:
    """The numbers that the application gets, in that order: what is timed must be right."""
    items = [o.item for o in pump(receiver(case, encoder), traffic)[1] if isinstance(o, Deliver)]
    return [item.frame.seq for item in items if isinstance(item, Delivery)]


def pump(
    endpoint: Endpoint[TransportFrame], traffic: Traffic
) -> tuple[float, list[Output[TransportFrame]]]:
    """Drives the endpoint; how long that took, and all that came out."""
    outputs: list[Output[TransportFrame]] = []
    take, receive, poll = outputs.append, endpoint.receive, endpoint.poll
    written = [(TRANSPORT.encode(frame), now) for frame, now in traffic]
    spent_s = 0.0
    gc.collect()
    gc.disable()
    for first in range(0, len(written), CHUNK):
        chunk = [(TRANSPORT.decode(data), now) for data, now in written[first : first + CHUNK]]
        # Not the clock on the wall: what others do on the machine does not count.
        start = process_time()
        for frame, now in chunk:
            while (wakeup := endpoint.next_wakeup()) is not None and wakeup <= now:
                endpoint.wake(now=wakeup)
                while (output := poll()) is not None:
                    take(output)
            receive(frame, via="", now=now)
            while (output := poll()) is not None:
                take(output)
        spent_s += process_time() - start
    gc.enable()
    return spent_s, outputs


def receiver(case: OrderingCase, encoder: Encoder) -> Endpoint[TransportFrame]:
    """An endpoint that has subscribed, and has heard nothing yet."""
    endpoint = Endpoint(LoopbackNetwork(), endpoint_id=2, epoch=1, encoder=encoder)
    endpoint.subscribe(case.interest, ordering=case.ordering, now=0)
    return endpoint


def matching_traffic(case: OrderingCase, encoder: Encoder, count: int) -> Traffic:
    """So many messages that are wanted, in the order in which they left."""
    settings = EndpointSettings(record=case.record)
    publisher = Endpoint(
        LoopbackNetwork(), endpoint_id=1, epoch=1, encoder=encoder, settings=settings
    )
    rng = Seeds(1).rng("ordering", "messages")
    traffic: list[tuple[TransportFrame, Instant]] = []
    now = 0
    while len(traffic) < count:
        now += INTERVAL_NS
        message = _message(rng)
        frame = publisher.publish(message, now=now)
        assert publisher.poll() == Send("", frame)
        if case.interest.matches(message):
            traffic.append((frame, now + DELAY_NS))
    return traffic


def with_overtaking(traffic: Traffic, share: float) -> Traffic:
    """The same, but that some messages have changed places with the next."""
    frames = [frame for frame, _ in traffic]
    rng = Seeds(1).rng("ordering", "late")
    at = 0
    while at + 1 < len(frames):
        if rng.random() < share:
            frames[at], frames[at + 1] = frames[at + 1], frames[at]
            at += 1
        at += 1
    return [(frame, now) for frame, (_, now) in zip(frames, traffic, strict=True)]


def _message(rng: Random) -> Message:
    details = {f"detail{i}": rng.randrange(1000) for i in range(ATTRIBUTES - 2)}
    return Message({"kind": "quote", "topic": f"topic {rng.randrange(TOPICS)}", **details})
