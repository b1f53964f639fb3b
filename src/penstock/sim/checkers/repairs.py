"""Checks of recovery: which repairs an endpoint must accept, and the bounds of its tables.

    once      a repair is accepted for a message that did not arrive, never for one that did
    losses    every lost message is requested until it is resolved, and no other message is
    delays    a repair does not change the delay estimators
    bounds    pending requests, pending answers and cached messages stay within their limits

Checks one life of an endpoint. Does not observe the network: `transport` passes on the frames
that arrive.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import replace

from penstock.sim.checkers.endpoint_history import EndpointHistory
from penstock.sim.checkers.naive_receiver import NaiveImage
from penstock.transport.detect.flow_numbers import tracked_flow_tags
from penstock.transport.recovery.cache_size import CacheSettings
from penstock.transport.statistics import (
    CacheStatistics,
    DelayStatistics,
    EndpointStatistics,
    RecoveryStatistics,
)
from penstock.wire.frames.data import Data, MessageId
from penstock.wire.frames.digest import Digest
from penstock.wire.frames.range_request import RangeRequest
from penstock.wire.frames.record import EMPTY_RECORD
from penstock.wire.frames.repair import Repair
from penstock.wire.frames.request import Request
from penstock.wire.frames.track_reply import TrackReply
from penstock.wire.frames.track_request import TrackRequest

# Frames that an endpoint with recovery accepts, besides messages.
RECOVERY_FRAMES: Final = (Digest, RangeRequest, Repair, Request, TrackRequest, TrackReply)


def receive_repair(history: EndpointHistory, repair: Repair) -> tuple[NaiveImage, int] | None:
    """The image and extended number of an accepted repair, added to the naive twin; else None."""
    endpoint_id, original = history.machine.endpoint_id, repair.original
    if repair.repairer == endpoint_id or repair.to not in (None, endpoint_id):
        return None
    history.touched_publishers[original.pub] = None
    history.delays_before[original.pub] = delays(history, original.pub)
    image = history.receiver.images.get(original.pub)
    if image is None or image.epoch != original.epoch:
        history.expected_counters["repair_unwanted"] += 1
        return None
    extended_seq = image.unwrap(original.seq)
    is_missing = (image, extended_seq) in history.missing_of(original.pub)
    is_missing = is_missing or _has_flow_gap(history, original)
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
    """A published message in the form in which a repair carries it."""
    return replace(
        frame,
        record=EMPTY_RECORD,
        echo=None,
        has_bloom_entries=False,
        flows=tracked_flow_tags(frame),
    )


def delays(history: EndpointHistory, publisher: int) -> dict[Any, DelayStatistics]:
    """The delay estimators of a publisher, by their settings."""
    statistics = history.machine.publisher_statistics(publisher)
    return {} if statistics is None else {each.settings: each for each in statistics.delays}


def _has_flow_gap(history: EndpointHistory, original: Data) -> bool:
    """Whether the message fills a gap in a flow; only the endpoint itself knows these gaps."""
    recovery = history.machine.recovery
    if recovery is None or not original.flows:
        return False
    tags = {(tag.flow_id, tag.flow_seq) for tag in original.flows}
    return any(
        (publisher.publisher, publisher.epoch) == (original.pub, original.epoch)
        and not tags.isdisjoint(publisher.gaps)
        for publisher in recovery.statistics().flow_gaps
    )


def violations(
    history: EndpointHistory, statistics: EndpointStatistics
) -> Iterator[tuple[str, str]]:
    """Yields the name of each check that an endpoint's recovery violates now, and the reason."""
    recovery, settings = statistics.recovery, history.machine.settings.recovery
    if recovery is None or settings is None:
        return
    for what in _loss_violations(statistics, recovery):
        yield "losses", what
    requester, repairer = recovery.requester, recovery.repairer
    requested = len(requester.pending)
    sizes = [
        (requested, settings.wanted_max, "wanted"),
        (requester.timers, requested, "timers to ask"),
        (len(repairer.pending), settings.answers_max, "about to be answered"),
        (repairer.timers, len(repairer.pending), "timers to answer"),
        *_cache_sizes(recovery.cache, settings.cache, "of others"),
        *_cache_sizes(recovery.publication_cache, settings.own_cache, "of its own"),
    ]
    for size, size_max, what in sizes:
        if size > size_max:
            yield "bounds", f"{size} {what}, not {size_max}"
    if requester.timers != requested:
        yield "bounds", f"{requester.timers} timers for {requested} wanted"


def _loss_violations(statistics: EndpointStatistics, recovery: RecoveryStatistics) -> Iterator[str]:
    lost: dict[MessageId, None] = {}
    for publisher in statistics.publishers:
        for stream in publisher.streams:
            lost.update(dict.fromkeys(stream.lost))
    requested = set(recovery.requester.pending)
    for id_ in lost:
        if id_ not in requested:
            yield f"{id_} is lost, and nobody asks for it"
    if len(requested) > len(lost):
        yield f"asks for {len(requested)} messages, and {len(lost)} are lost"


def _cache_sizes(
    cache: CacheStatistics, settings: CacheSettings, owner: str
) -> Iterator[tuple[int, int, str]]:
    yield cache.size_bytes, settings.bytes_max, f"bytes kept {owner}"
    yield len(cache.publishers), settings.publishers_max, f"publishers kept {owner}"
    own_bytes = sum(each.size_bytes for each in cache.publishers)
    yield abs(own_bytes - cache.size_bytes), 0, f"bytes kept {owner} and not counted"
    for each in cache.publishers:
        publisher = each.publisher
        yield each.messages_max, settings.k_max, f"messages to be kept {owner} of {publisher}"
        yield each.messages, each.messages_max, f"messages kept {owner} of {publisher}"
