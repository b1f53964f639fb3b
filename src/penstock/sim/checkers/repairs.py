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

from penstock.sim.checkers.endpoint_history import EndpointHistory
from penstock.sim.checkers.naive_receiver import NaiveImage
from penstock.transport.detect.flow_numbers import tracked_flow_tags
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
RECOVERY_FRAMES: Final = (Digest, RangeRequest, Repair, Request, TrackRequest, TrackReply)


def receive_repair(history: EndpointHistory, repair: Repair) -> tuple[NaiveImage, int] | None:
    """The naive twin takes it, and says of whom it is; None if it is not to be taken."""
    recovery, original = history.machine.recovery, repair.original
    assert recovery is not None
    if repair.repairer == recovery._identity.endpoint_id or repair.to not in (
        None,
        recovery._identity.endpoint_id,
    ):
        return None
    history.touched_publishers[original.pub] = None
    history.delays_before[original.pub] = delays(history, original.pub)
    image = history.receiver.images.get(original.pub)
    if image is None or image.epoch != original.epoch:
        history.expected_counters["repair_unwanted"] += 1
        return None
    extended_seq = image.unwrap(original.seq)
    is_missing = (image, extended_seq) in history.missing_of(original.pub)
    # What is missing in the numbers of a flow only the endpoint knows.
    is_missing = is_missing or recovery._flow_gaps.has_gap(
        original.pub, original.epoch, original.flows
    )
    is_past = image.first <= extended_seq < image.highest and not image.is_too_old(extended_seq)
    if not is_missing and not is_past:
        history.expected_counters["repair_unwanted"] += 1
    elif not history.has_interest(original.message):
        history.expected_counters["repair_unmatched"] += 1
        image.irrelevant.add(extended_seq)
    elif extended_seq in image.received:
        history.expected_counters["duplicate"] += 1
    else:
        history.expected_counters["repaired"] += 1
        image.add(extended_seq)
        return image, extended_seq
    return None


def as_repaired(frame: Data) -> Data:
    """A published message as a repair brings it."""
    return replace(
        frame,
        record=EMPTY_RECORD,
        echo=None,
        has_bloom_entries=False,
        flows=tracked_flow_tags(frame),
    )


def delays(history: EndpointHistory, publisher: int) -> dict[Any, tuple[Any, ...]]:
    """All that is known of how a publisher's delays vary."""
    arrivals = history.machine._images.get(publisher)
    if arrivals is None:
        return {}
    return {
        settings: (e.samples, e._last_sent_ns, e._last_arrival_ns, e._outlier_run, e.rejected)
        for settings, e in arrivals._estimators.items()
    }


def violations(history: EndpointHistory) -> Iterator[tuple[str, str]]:
    """To what can be seen of an endpoint's recovery between events: a check, and what is wrong."""
    recovery = history.machine.recovery
    if recovery is None:
        return
    for what in _loss_violations(history, recovery):
        yield "losses", what
    settings = recovery._settings
    requester, repairer = recovery._requester, recovery._repairer
    sizes = [
        (len(requester), settings.wanted_max, "wanted"),
        (len(requester.timers), len(requester), "timers to ask"),
        (len(repairer), settings.answers_max, "about to be answered"),
        (len(repairer.timers), len(repairer), "timers to answer"),
        *_cache_sizes(recovery.cache, "of others"),
        *_cache_sizes(recovery.publication_cache, "of its own"),
    ]
    for size, size_max, what in sizes:
        if size > size_max:
            yield "bounds", f"{size} {what}, not {size_max}"
    if len(requester.timers) != len(requester):
        yield "bounds", f"{len(requester.timers)} timers for {len(requester)} wanted"


def _loss_violations(history: EndpointHistory, recovery: Recovery) -> Iterator[str]:
    lost: dict[MessageId, None] = {}
    for arrivals in history.machine._images.values():
        for stream in arrivals.streams.values():
            lost_seqs = [
                extended_seq for extended_seq, m in stream.missing.items() if m.state is LOST
            ]
            lost.update(dict.fromkeys(map(stream._message_id, lost_seqs)))
    for id_ in lost:
        if id_ not in recovery._requester:
            yield f"{id_} is lost, and nobody asks for it"
    if len(recovery._requester) > len(lost):
        yield f"asks for {len(recovery._requester)} messages, and {len(lost)} are lost"


def _cache_sizes(caches: RepairCache, owner: str) -> Iterator[tuple[int, int, str]]:
    settings = caches._settings
    yield caches.size_bytes, settings.bytes_max, f"bytes kept {owner}"
    yield caches.publishers, settings.publishers_max, f"publishers kept {owner}"
    own_bytes = sum(cache.size_bytes for cache in caches._by_publisher.values())
    yield abs(own_bytes - caches.size_bytes), 0, f"bytes kept {owner} and not counted"
    for publisher, cache in caches._by_publisher.items():
        yield cache.limit, settings.k_max, f"messages to be kept {owner} of {publisher}"
        yield len(cache.entries), cache.limit, f"messages kept {owner} of {publisher}"
