"""What an endpoint hears: whose messages came, which subscriptions they are for.

1. `_on_data` finds the publisher, and drops what came before or is of an old epoch.
2. The delay estimators see it; each subscription whose predicate it matches orders it.

Repairs and digests come by here too, from `recovery`.
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
# Of publishers whose delays nobody measures.
_DEFAULT_LOSS_TIMEOUT_NS: Final = 100 * MILLISECOND
# Up to so many filters in all, looking at each is quicker than an index.
_SCAN_FILTERS_MAX: Final = 4


class Inbound(ABC):
    """Publishers that are heard, and what is wanted of them."""

    def __init__(self, encoder: Encoder, settings: EndpointSettings) -> None:
        self._encoder: Final = encoder
        self._settings: Final = settings
        self._interests_by_predicate: Final[dict[Predicate, SharedInterest]] = {}
        # The same by the numbers that the network knows them by; and an index if they are many.
        self._interests_by_id: Final[dict[int, SharedInterest]] = {}
        self._index: MatchingIndex[int] | None = None
        # Those heard last come last.
        self._images: Final[OrderedDict[int, PublisherImage]] = OrderedDict()
        self.recovery: Recovery | None = None
        self.congestion: CongestionController | None = None
        # What was dropped, and which bounds were met.
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
        """To the application."""

    @abstractmethod
    def _route_losses(self) -> None:
        """Of losses."""

    def on_data(self, frame: Data, now: Instant, *, is_marked: bool = False) -> None:
        """A message has arrived: orders it for each subscription that it matches."""
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
            # Nothing newer for long: the number that made this one old was a mistake, or forged.
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
        if self.congestion is not None and any(wish.subscriptions for wish in interests):
            if is_marked:
                # Of what comes twice the mark was heard with the first.
                self.congestion.on_mark(frame, now)
            self.congestion.on_received(frame, size_of(frame), now)
        if self.recovery is not None:
            undescribed = extended_seq - previous_highest - 1 - frame.record.count
            if undescribed > 0:
                first_undescribed = SEQ.next(previous_highest)
                self.recovery.on_undescribed(
                    frame.pub, frame.epoch, first_undescribed, undescribed, now
                )
            is_wanted = any(wish.subscriptions for wish in interests)
            self.recovery.on_arrival(frame, is_wanted=is_wanted, is_cached=bool(interests), now=now)

    def _clear_irrelevant(
        self,
        image: PublisherImage,
        extended_seq: int,
        interests: Sequence[SharedInterest],
        now: Instant,
    ) -> None:
        """A late message ends the wait also of those who only thought that it was for them."""
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
        # In order of subscription: the index's own order is not the same on every machine.
        return [
            self._interests_by_id[interest_id] for interest_id in sorted(self._index.match(message))
        ]

    def _index_interest(self, interest: SharedInterest) -> None:
        """Puts it into the index, which is there once there are more than a few filters."""
        if self._index is not None:
            self._index.add(interest.interest_id, interest.predicate)
        elif (
            sum(len(predicate.filters) for predicate in self._interests_by_predicate)
            > _SCAN_FILTERS_MAX
        ):
            self._index = MatchingIndex()
            for each in self._interests_by_predicate.values():
                self._index.add(each.interest_id, each.predicate)

    # What recovery asks for.

    def has_received(self, id_: MessageId) -> bool:
        """Whether the message came here, as far as that is remembered."""
        image = self._images.get(id_.pub)
        if image is None or image.epoch != id_.epoch:
            return False
        extended_seq = image.unwrap(id_.seq)
        return extended_seq >= image.oldest_known and image.contains(extended_seq)

    def on_repair(self, frame: Data, now: Instant, *, is_requested: bool = False) -> bool:
        """Takes a message that others had kept; whether it was still missing.

        It must be one that was asked for or is known to be missing, or at least one that
        others of its publisher have come after: what is yet to come is nobody's to repair.
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
            # [F17] What the record told of it was not enough: it never was for us.
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
        """Nobody could repair it."""
        image = self._images.get(id_.pub)
        if image is not None and image.epoch == id_.epoch:
            extended_seq = image.unwrap(id_.seq)
            for stream in image.streams.values():
                stream.give_up(extended_seq, now)

    def give_up_unidentified(self, loss: FlowLoss, now: Instant) -> None:
        """So many messages nobody could repair, of which it is not known which they were."""
        interest = self._interests_by_id.get(loss.interest_id)
        for subscription_id in interest.subscriptions if interest else ():
            unseen = Unseen(
                subscription_id, loss.publisher, loss.epoch, loss.messages, loss.detected_ns, now
            )
            self._deliver(unseen)

    def loss_timeout_ns(self, publisher: int) -> Duration:
        """How long after another a message of this publisher may come that left before it."""
        image = self._images.get(publisher)
        streams = image.streams.values() if image is not None else ()
        return max(
            (stream.loss_timeout_ns() for stream in streams), default=_DEFAULT_LOSS_TIMEOUT_NS
        )

    def _is_awaited(self, id_: MessageId) -> bool:
        """Whether a subscription still hopes for it, after others have ended or given it up."""
        image = self._images.get(id_.pub)
        if image is None or image.epoch != id_.epoch:
            return False
        extended_seq = image.unwrap(id_.seq)
        missing = (stream.missing.get(extended_seq) for stream in image.streams.values())
        return any(entry is not None and entry.state is LOST for entry in missing)

    def on_digest(self, digest: Digest, now: Instant) -> None:
        """Looks for what is missing of what a digest tells of."""
        image = self._images.get(digest.pub)
        if image is None or image.epoch != digest.epoch or not image.streams:
            return
        entries = read_digest(digest, self._encoder)
        next_seq = image.unwrap(digest.seq) + 1
        sent_ns = digest.send_ts_us * MICROSECOND
        for subscription_id, stream in list(image.streams.items()):
            if stream.interest.subscriptions[subscription_id].ordering.latch is None:
                # It has ceased to order: nothing is missed.
                continue
            matches = stream.interest.matcher(None).match_digest(entries)
            if matches:
                stream.on_digest(matches, next_seq, sent_ns, now)
        self._route_losses()

    # Who is heard.

    @property
    def publishers(self) -> Collection[int]:
        """Those that are remembered, the one heard last at the end."""
        return self._images.keys()

    def _admit(self, first: Data, now: Instant) -> PublisherImage:
        """A publisher's first message, or the first of a new epoch."""
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
    """Epochs may be counted by a clock, and wrap: after a long silence any other one is new."""
    is_silent = now - image.last_heard_ns > _SILENCE_MAX_NS
    return is_silent or EPOCH.is_newer(frame.epoch, image.epoch)
