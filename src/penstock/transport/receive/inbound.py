"""The receiving half of an endpoint: finds the publisher and the subscriptions of a message.

1. `on_data` looks up the publisher, and drops duplicates and messages of an old epoch.
2. The delay estimators take a sample; each matching subscription orders the message.

`recovery` passes repairs and digests to it. Does not know sending or the network.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Collection, Sequence
from typing import Final

from penstock.content.filter import Predicate
from penstock.content.index import MatchingIndex
from penstock.content.message import Message
from penstock.content.tags import Encoder
from penstock.kernel.instant import MICROSECOND, MILLISECOND, SECOND, Duration, Instant
from penstock.kernel.sequence import EPOCH, SEQ
from penstock.trace.fates import ReceiverFate
from penstock.transport.congestion.controller import CongestionController
from penstock.transport.detect.flow_gaps import FlowLoss
from penstock.transport.facts import Absence, Delivery, Unseen
from penstock.transport.order.missing import LOST
from penstock.transport.order.stream import OrderedStream
from penstock.transport.receive.publisher_image import WINDOW_SIZE, PublisherImage
from penstock.transport.receive.subscriptions import SharedInterest
from penstock.transport.record.digest_reader import read_digest
from penstock.transport.recovery.recovery import Recovery
from penstock.transport.settings import EndpointSettings
from penstock.wire import size_of
from penstock.wire.frames.data import Data, MessageId
from penstock.wire.frames.digest import Digest

_DELIVERED: Final = ReceiverFate.DELIVERED
_REPAIRED: Final = ReceiverFate.REPAIRED
_SILENCE_MAX_NS: Final = 30 * SECOND
# For publishers without a stream, whose delays are not measured.
_DEFAULT_LOSS_TIMEOUT_NS: Final = 100 * MILLISECOND
# Up to this total number of filters, a linear scan is faster than the index.
_SCAN_FILTERS_MAX: Final = 4


class Inbound(ABC):
    """Known publishers, and the interests that their messages are matched against."""

    def __init__(self, encoder: Encoder, settings: EndpointSettings) -> None:
        self._encoder: Final = encoder
        self._settings: Final = settings
        self._interests_by_predicate: Final[dict[Predicate, SharedInterest]] = {}
        # The same interests by their network subscription id, and an index if there are many.
        self._interests_by_id: Final[dict[int, SharedInterest]] = {}
        self._index: MatchingIndex[int] | None = None
        # Least recently heard first.
        self._images: Final[OrderedDict[int, PublisherImage]] = OrderedDict()
        self.recovery: Recovery | None = None
        self.congestion: CongestionController | None = None
        # Dropped messages, and limits that were reached.
        self.counters: Final[dict[str, int]] = dict.fromkeys(
            (
                "duplicate",
                "too_old",
                "old_epoch",
                "unmatched",
                "not_data",
                "after_end",
                "held_overflow",
                "missing_overflow",
                "publishers_overflow",
                "dropped_at_source",
            ),
            0,
        )

    @abstractmethod
    def _deliver(self, fact: Delivery | Absence | Unseen) -> None:
        """Deliver a fact to the application."""

    @abstractmethod
    def _route_losses(self) -> None:
        """Report the pending losses to their observers."""

    def on_data(self, frame: Data, now: Instant, *, is_marked: bool = False) -> None:
        """Take a message, and order it for each subscription that it matches."""
        image = self._images.get(frame.pub)
        if image is None or image.epoch != frame.epoch:
            if image is not None and not _is_new_epoch(frame, image, now):
                self.counters["old_epoch"] += 1
                return
            image = self._admit(frame, now)
        else:
            self._images.move_to_end(frame.pub)
        previous_highest = image.highest
        extended_seq = image.receive(frame, now)
        if extended_seq is None:
            if not image.is_too_old(frame.seq):
                self.counters["duplicate"] += 1
                return
            if now - image.last_heard_ns <= _SILENCE_MAX_NS:
                self.counters["too_old"] += 1
                return
            # Nothing newer for 30 s: the sequence number that made this one too old was wrong
            # or forged.
            image = self._admit(frame, now)
            extended_seq = image.receive(frame, now)
            assert extended_seq is not None
        interests = self._matching_interests(frame.message)
        for interest in interests:
            for subscription in interest.subscriptions.values():
                stream = image.streams.get(subscription.subscription_id)
                if subscription.ordering.latch is None:
                    if stream is None:
                        delivery = Delivery(
                            subscription.subscription_id, frame, now, now, None, _DELIVERED
                        )
                        self._deliver(delivery)
                    else:
                        stream.on_unordered(frame, extended_seq, now)
                    continue
                if stream is None:
                    stream = OrderedStream(subscription, image, extended_seq)
                    image.streams[subscription.subscription_id] = stream
                stream.on_message(frame, extended_seq, now)
        if not interests:
            self.counters["unmatched"] += 1
        if extended_seq != image.highest:
            self._clear_irrelevant(image, extended_seq, interests, now)
        if self.congestion is not None and any(interest.subscriptions for interest in interests):
            if is_marked:
                # Duplicates do not get here: a mark counts only on the first copy.
                self.congestion.on_mark(frame, now)
            self.congestion.on_received(frame, size_of(frame), now)
        if self.recovery is not None:
            undescribed = extended_seq - previous_highest - 1 - frame.record.count
            if undescribed > 0:
                first_undescribed = SEQ.next(previous_highest)
                self.recovery.on_undescribed(
                    frame.pub, frame.epoch, first_undescribed, undescribed, now
                )
            is_wanted = any(interest.subscriptions for interest in interests)
            self.recovery.on_arrival(frame, is_wanted=is_wanted, is_cached=bool(interests), now=now)

    def _clear_irrelevant(
        self,
        image: PublisherImage,
        extended_seq: int,
        interests: Sequence[SharedInterest],
        now: Instant,
    ) -> None:
        """End the wait of streams that tracked this message although it does not match."""
        for stream in image.streams.values():
            if extended_seq in stream.missing and stream.interest not in interests:
                stream.on_irrelevant(extended_seq, now)

    def _matching_interests(self, message: Message) -> Sequence[SharedInterest]:
        if self._index is None:
            return [
                interest
                for interest in self._interests_by_predicate.values()
                if interest.predicate.matches(message)
            ]
        # Sorted by id: the order of the index differs between machines.
        return [
            self._interests_by_id[interest_id] for interest_id in sorted(self._index.match(message))
        ]

    def _index_interest(self, interest: SharedInterest) -> None:
        """Add an interest to the index; build the index when there are enough filters."""
        if self._index is not None:
            self._index.add(interest.interest_id, interest.predicate)
        elif (
            sum(len(predicate.filters) for predicate in self._interests_by_predicate)
            > _SCAN_FILTERS_MAX
        ):
            self._index = MatchingIndex()
            for each in self._interests_by_predicate.values():
                self._index.add(each.interest_id, each.predicate)

    # For recovery

    def has_received(self, id_: MessageId) -> bool:
        """Whether the message was received; False if it is older than the duplicate window."""
        image = self._images.get(id_.pub)
        if image is None or image.epoch != id_.epoch:
            return False
        extended_seq = image.unwrap(id_.seq)
        return extended_seq >= image.oldest_known and image.contains(extended_seq)

    def on_repair(self, frame: Data, now: Instant, *, is_requested: bool = False) -> bool:
        """Take a repair from a peer's cache; return whether the message was still missing.

        A repair is accepted if it was requested, is known to be missing, or lies below the
        highest sequence number received: no peer can repair a message before it is sent.
        """
        image = self._images.get(frame.pub)
        if image is None or image.epoch != frame.epoch:
            self.counters["repair_unwanted"] += 1
            return False
        extended_seq = image.unwrap(frame.seq)
        is_missing = any(extended_seq in s.missing for s in image.streams.values())
        is_requested &= extended_seq <= image.highest + WINDOW_SIZE
        is_past = image.first <= extended_seq < image.highest and extended_seq >= image.oldest_known
        if not (is_missing or is_requested or is_past):
            self.counters["repair_unwanted"] += 1
            return False
        interests = self._matching_interests(frame.message)
        if not interests:
            # [F17] The record entry described it incompletely: it does not match after all.
            self.counters["repair_unmatched"] += 1
            self._clear_irrelevant(image, extended_seq, interests, now)
            return False
        if not image.add(extended_seq):
            self.counters["duplicate"] += 1
            return False
        for interest in interests:
            for subscription in interest.subscriptions.values():
                stream = image.streams.get(subscription.subscription_id)
                if stream is None:
                    self._deliver(
                        Delivery(subscription.subscription_id, frame, now, now, None, _REPAIRED)
                    )
                else:
                    stream.on_repair(frame, extended_seq, now)
        self._clear_irrelevant(image, extended_seq, interests, now)
        return True

    def give_up(self, id_: MessageId, now: Instant) -> None:
        """Give up a lost message that no peer could repair."""
        image = self._images.get(id_.pub)
        if image is not None and image.epoch == id_.epoch:
            extended_seq = image.unwrap(id_.seq)
            for stream in image.streams.values():
                stream.give_up(extended_seq, now)

    def give_up_unidentified(self, loss: FlowLoss, now: Instant) -> None:
        """Report messages of a tracked flow that no peer could repair and whose ids are unknown."""
        interest = self._interests_by_id.get(loss.interest_id)
        for subscription_id in interest.subscriptions if interest else ():
            unseen = Unseen(
                subscription_id, loss.publisher, loss.epoch, loss.messages, loss.detected_ns, now
            )
            self._deliver(unseen)

    def loss_timeout_ns(self, publisher: int) -> Duration:
        """Return the longest loss timeout of this publisher's streams; 100 ms without streams."""
        image = self._images.get(publisher)
        streams = image.streams.values() if image is not None else ()
        return max(
            (stream.loss_timeout_ns() for stream in streams), default=_DEFAULT_LOSS_TIMEOUT_NS
        )

    def _is_awaited(self, id_: MessageId) -> bool:
        """Whether any subscription still waits for a repair of this message."""
        image = self._images.get(id_.pub)
        if image is None or image.epoch != id_.epoch:
            return False
        extended_seq = image.unwrap(id_.seq)
        missing = (stream.missing.get(extended_seq) for stream in image.streams.values())
        return any(entry is not None and entry.state is LOST for entry in missing)

    def on_digest(self, digest: Digest, now: Instant) -> None:
        """Find the missing messages among those that a digest describes."""
        image = self._images.get(digest.pub)
        if image is None or image.epoch != digest.epoch or not image.streams:
            return
        entries = read_digest(digest, self._encoder)
        next_seq = image.unwrap(digest.seq) + 1
        sent_ns = digest.send_ts_us * MICROSECOND
        for subscription_id, stream in list(image.streams.items()):
            if stream.interest.subscriptions[subscription_id].ordering.latch is None:
                # Ordering is off: nothing counts as missing.
                continue
            matches = stream.interest.matcher(None).match_digest(entries)
            if matches:
                stream.on_digest(matches, next_seq, sent_ns, now)
        self._route_losses()

    # Known publishers

    @property
    def publishers(self) -> Collection[int]:
        """The known publishers, least recently heard first."""
        return self._images.keys()

    def _admit(self, first: Data, now: Instant) -> PublisherImage:
        """Start an image at a publisher's first message, or the first of a new epoch."""
        if first.pub in self._images:
            self._evict(first.pub, now)
        elif len(self._images) >= self._settings.publishers_max:
            self.counters["publishers_overflow"] += 1
            self._evict(next(iter(self._images)), now)
        image = self._images[first.pub] = PublisherImage(first)
        return image

    def _evict(self, publisher: int, now: Instant) -> None:
        for stream in self._images.pop(publisher).streams.values():
            stream.close(now)

    def _close_streams(self, subscription: int, now: Instant) -> None:
        for image in self._images.values():
            stream = image.streams.pop(subscription, None)
            if stream is not None:
                stream.close(now)


def _is_new_epoch(frame: Data, image: PublisherImage, now: Instant) -> bool:
    """Whether the frame's epoch is newer; after 30 s of silence any other is, as epochs wrap."""
    is_silent = now - image.last_heard_ns > _SILENCE_MAX_NS
    return is_silent or EPOCH.is_newer(frame.epoch, image.epoch)
