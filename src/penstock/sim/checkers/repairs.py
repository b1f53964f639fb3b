"""What recovery promises, checked from outside: what must become of a repair, and its bounds.

    once      a repair is taken for a message that did not come, and never for one that did
    losses    what is lost is asked for, and nothing else is, until its end
    delays    a repair says nothing of delays
    bounds    what is wanted, about to be answered or kept is no more than allowed

Judges one life of an endpoint for `transport`, which tells what came.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import replace

from penstock.sim.checkers.endpoint_history import Life
from penstock.sim.checkers.naive_receiver import Heard
from penstock.transport.order.missing import LOST
from penstock.transport.recovery.cache import RepairCache
from penstock.transport.recovery.recovery import Recovery
from penstock.wire.frames.data import Data, MessageId
from penstock.wire.frames.digest import Digest
from penstock.wire.frames.range_request import RangeRequest
from penstock.wire.frames.record import EMPTY_RECORD
from penstock.wire.frames.repair import Repair
from penstock.wire.frames.request import Request
from penstock.wire.frames.track_reply import TrackReply
from penstock.wire.frames.track_request import TrackRequest

# What an endpoint with recovery takes, besides messages.
TAKEN: Final = (Digest, RangeRequest, Repair, Request, TrackRequest, TrackReply)


def hear(life: Life, repair: Repair) -> tuple[Heard, int] | None:
    """The naive twin takes it, and says of whom it is; None if it is not to be taken."""
    recovery, original = life.machine.recovery, repair.original
    assert recovery is not None
    if repair.repairer == recovery._identity.endpoint_id or repair.to not in (
        None,
        recovery._identity.endpoint_id,
    ):
        return None
    life.touched[original.pub] = None
    life.delays[original.pub] = delays(life, original.pub)
    heard = life.publishers.all.get(original.pub)
    if heard is None or heard.epoch != original.epoch:
        life.counted["repair_unwanted"] += 1
        return None
    number = heard.number(original.seq)
    is_missed = (heard, number) in life.missed(original.pub)
    # What is missing in the numbers of a flow only the endpoint knows.
    is_missed = is_missed or recovery._flow_gaps.has_gap(
        original.pub, original.epoch, original.flows
    )
    is_past = heard.begun <= number < heard.highest and not heard.is_too_old(number)
    if not is_missed and not is_past:
        life.counted["repair_unwanted"] += 1
    elif not life.is_wanted(original.message):
        life.counted["repair_unmatched"] += 1
        heard.passed.add(number)
    elif number in heard.numbers:
        life.counted["duplicate"] += 1
    else:
        life.counted["repaired"] += 1
        heard.add(number)
        return heard, number
    return None


def as_repaired(frame: Data) -> Data:
    """A published message as a repair brings it."""
    return replace(frame, record=EMPTY_RECORD, echo=None, has_bloom_entries=False)


def delays(life: Life, pub: int) -> dict[Any, tuple[Any, ...]]:
    """All that is known of how a publisher's delays vary."""
    arrivals = life.machine._images.get(pub)
    if arrivals is None:
        return {}
    return {
        settings: (e.samples, e._last_sent_ns, e._last_arrival_ns, e._outlier_run, e.rejected)
        for settings, e in arrivals._estimators.items()
    }


def objections(life: Life) -> Iterator[tuple[str, str]]:
    """To what can be seen of an endpoint's recovery between events: a check, and what is wrong."""
    recovery = life.machine.recovery
    if recovery is None:
        return
    for what in _about_losses(life, recovery):
        yield "losses", what
    settings = recovery._settings
    requester, repairer = recovery._requester, recovery._repairer
    sizes = [
        (len(requester), settings.wanted_max, "wanted"),
        (len(requester.timers), len(requester), "timers to ask"),
        (len(repairer), settings.answers_max, "about to be answered"),
        (len(repairer.timers), len(repairer), "timers to answer"),
        *_kept(recovery.cache, "of others"),
        *_kept(recovery.publication_cache, "of its own"),
    ]
    for size, most, what in sizes:
        if size > most:
            yield "bounds", f"{size} {what}, not {most}"
    if len(requester.timers) != len(requester):
        yield "bounds", f"{len(requester.timers)} timers for {len(requester)} wanted"


def _about_losses(life: Life, recovery: Recovery) -> Iterator[str]:
    lost: dict[MessageId, None] = {}
    for arrivals in life.machine._images.values():
        for stream in arrivals.streams.values():
            numbers = [number for number, m in stream.missing.items() if m.state is LOST]
            lost.update(dict.fromkeys(map(stream._message_id, numbers)))
    for id_ in lost:
        if id_ not in recovery._requester:
            yield f"{id_} is lost, and nobody asks for it"
    if len(recovery._requester) > len(lost):
        yield f"asks for {len(recovery._requester)} messages, and {len(lost)} are lost"


def _kept(caches: RepairCache, whose: str) -> Iterator[tuple[int, int, str]]:
    settings = caches._settings
    yield caches.size_bytes, settings.bytes_max, f"bytes kept {whose}"
    yield caches.publishers, settings.publishers_max, f"publishers kept {whose}"
    own_bytes = sum(cache.size_bytes for cache in caches._by_publisher.values())
    yield abs(own_bytes - caches.size_bytes), 0, f"bytes kept {whose} and not counted"
    for pub, cache in caches._by_publisher.items():
        yield cache.limit, settings.k_max, f"messages to be kept {whose} of {pub}"
        yield len(cache.entries), cache.limit, f"messages kept {whose} of {pub}"
