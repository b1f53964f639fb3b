"""Builds the digests of one publisher: descriptions of its recent messages (§3.4).

A subscriber that receives few of the messages sees few records, and none that describe the last
messages before a pause. Digests, eight a second, describe every message to the subscribers that
request them; they contain only the attributes that some subscriber's filters name.
Each digest describes the messages sent since the previous digest, and repeats those that were new
in the previous one, so that a single lost digest does no harm. After one interval without messages
the last digest is repeated once. If several in a row are lost, they can be requested by number.

Digests also carry the last number of each tracked flow that advanced. If no subscriber requests
descriptions, they carry nothing else. This module does not know what the subscribers received.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple, TypeAlias

from msgspec.structs import replace

from penstock.content.message import Message
from penstock.content.tags import Encoder
from penstock.kernel.bounded import BoundedDict
from penstock.kernel.instant import MICROSECOND, MILLISECOND, Duration, Instant
from penstock.kernel.sequence import SEQ, STAMP
from penstock.transport.detect.flow_numbers import LEASE_NS, FlowNumbers
from penstock.transport.detect.reply_suppression import Audience, ReplySuppression
from penstock.transport.record.reader import tags_of
from penstock.transport.statistics import DigestPublisherStatistics
from penstock.wire.codec.record import EntryCodec
from penstock.wire.frames.data import Data
from penstock.wire.frames.digest import Digest
from penstock.wire.frames.record import FingerprintEntry, PublicationRecord
from penstock.wire.limits import DIGEST_FLOWS_MAX, RECORD_ENTRIES_MAX
from penstock.wire.quantise import delta_100us, stamp_us

DIGEST_INTERVAL_NS: Final[Duration] = 125 * MILLISECOND
# A digest of this many messages is sent before the interval ends: the overhead per message is low.
_DIGEST_EARLY_AT_MESSAGES: Final = 16
# Messages repeated from the previous digest; if it had more, only the newest are repeated.
_REPEATED_MAX: Final = 32
_RECENT_DIGESTS_MAX: Final = 128
# Beyond this, the oldest subscription is evicted and the reported group size stays at this value.
_SUBSCRIBERS_MAX: Final = 16_384
_ATTRIBUTE_NAMES_MAX: Final = 1 << 16
# Space for entries in a frame, beside the header, the base and `_FLOWS_WITH_ENTRIES_MAX` flows.
_ENTRIES_BYTES_MAX: Final = 1_000
_FLOWS_WITH_ENTRIES_MAX: Final = 32
# Digests sent in reply to one request; the requester must request the rest again.
_DIGESTS_PER_REPLY_MAX: Final = 8
# Messages waiting for the next digest; beyond this, the oldest are not described.
_MESSAGES_MAX: Final = 4_096


class _DigestedMessage(NamedTuple):
    seq: int
    sent_ns: Instant
    entry: FingerprintEntry


AttributeNames: TypeAlias = frozenset[str]


class _DigestInterest(NamedTuple):
    # None: all attributes.
    attributes: AttributeNames | None
    expires_at: Instant


# Pairs of flow id and last flow sequence number, sorted.
_FlowSeqs: TypeAlias = list[tuple[int, int]]


class DigestPublisher:
    """Builds the digests of one epoch of a publisher."""

    def __init__(
        self, publisher: int, epoch: int, encoder: Encoder, flow_numbers: FlowNumbers
    ) -> None:
        self._publisher: Final = publisher
        self._epoch: Final = epoch
        self._encoder: Final = encoder
        self._flow_numbers: Final = flow_numbers
        # The flow sequence numbers that were new in the last digest.
        self._previous_flow_seqs: _FlowSeqs = []
        # Whether the next digest can repeat everything that was new in the last one.
        self._can_cover_previous = False
        self._last_seq = 0
        self._last_sent_ns: Instant = 0
        # The messages of the next digest, oldest first; the first `_reported_count` are repeats.
        self._messages: Final[deque[_DigestedMessage]] = deque(maxlen=_MESSAGES_MAX)
        self._reported_count = 0
        self._is_repeated = True
        self._next_digest_seq = 0
        self._recent_digests: Final[BoundedDict[int, Digest]] = BoundedDict(_RECENT_DIGESTS_MAX)
        # Keyed by digest number and by message sequence number, respectively.
        self._resend_suppression: Final = ReplySuppression()
        self._describe_suppression: Final = ReplySuppression(unicast_first=True)
        # By subscriber id, in order of the last request, so the first entry expires first.
        self._subscribers: Final[OrderedDict[int, _DigestInterest]] = OrderedDict()
        # Total number of attribute names in all subscriptions.
        self._name_count = 0
        # The attributes that digests contain, unless they contain all.
        self._attributes: Final[set[str]] = set()
        self._all_attributes = False
        self._recount_at: Instant = 0
        self.due_at: Instant | None = None

    def statistics(self) -> DigestPublisherStatistics:
        """The size of everything bounded here."""
        return DigestPublisherStatistics(
            subscribers=len(self._subscribers),
            attributes=self._name_count,
            messages=len(self._messages),
            recent_digests=len(self._recent_digests),
            requested=len(self._resend_suppression) + len(self._describe_suppression),
        )

    def subscribe(self, subscriber: int, attributes: AttributeNames | None, now: Instant) -> int:
        """Subscribe to descriptions with these attributes (None: all); return the group size."""
        subscribers = self._subscribers
        self._unsubscribe(subscriber)
        # Beyond the limit on stored names, the subscription is for all attributes.
        attributes = (
            attributes if self._name_count + len(attributes or ()) <= _ATTRIBUTE_NAMES_MAX else None
        )
        self._name_count += len(attributes or ())
        subscribers[subscriber] = _DigestInterest(attributes, now + LEASE_NS)
        while (
            subscribers[next(iter(subscribers))].expires_at <= now
            or len(subscribers) > _SUBSCRIBERS_MAX
        ):
            self._unsubscribe(next(iter(subscribers)))
        self._add_attributes(attributes)
        if now >= self._recount_at:
            # Drops the attributes that only expired subscriptions named.
            self._recount_at = now + LEASE_NS
            self._attributes.clear()
            self._all_attributes = False
            for interest in subscribers.values():
                self._add_attributes(interest.attributes)
        self.start(now)
        return len(subscribers)

    def _add_attributes(self, attributes: AttributeNames | None) -> None:
        self._all_attributes |= attributes is None
        self._attributes.update(attributes or ())

    def _unsubscribe(self, subscriber: int) -> None:
        interest = self._subscribers.pop(subscriber, None)
        if interest is not None:
            self._name_count -= len(interest.attributes or ())

    @property
    def _subscribed_until(self) -> Instant:
        last = next(reversed(self._subscribers.values()), None)
        return 0 if last is None else last.expires_at

    def start(self, now: Instant) -> None:
        """Start sending digests, if only for the numbers of tracked flows."""
        if self.due_at is None:
            self.due_at = now + DIGEST_INTERVAL_NS

    def on_sent(self, frame: Data, now: Instant) -> None:
        """Add a sent message to the next digest."""
        if self.due_at is None:
            return
        self._last_seq, self._last_sent_ns = frame.seq, now - now % MICROSECOND
        if now < self._subscribed_until:
            self._messages.append(
                _DigestedMessage(frame.seq, self._last_sent_ns, self._entry(frame.message))
            )
            if len(self._messages) - self._reported_count >= _DIGEST_EARLY_AT_MESSAGES:
                self.due_at = now

    def next_digests(self, now: Instant) -> list[Digest]:
        """Return the digests due now; stop when all subscriptions and claims have expired."""
        if now >= max(self._subscribed_until, self._flow_numbers.claimed_until):
            self.due_at = None
            self._messages.clear()
            self._reported_count = 0
            return []
        self.due_at = now + DIGEST_INTERVAL_NS
        advanced = self._flow_numbers.take_advanced()
        is_silent = len(self._messages) <= self._reported_count and not advanced
        if is_silent and self._is_repeated:
            return []
        self._is_repeated = is_silent
        digests = self._build_digests(
            sorted({**dict(self._previous_flow_seqs), **dict(advanced)}.items()), now
        )
        if len(digests) == 1 and self._can_cover_previous:
            digests = [replace(digests[0], covers_previous=True)]
            self._recent_digests[digests[0].digest_seq] = digests[0]
        self._previous_flow_seqs = advanced
        for _ in range(self._reported_count):
            self._messages.popleft()
        self._can_cover_previous = len(digests) <= 1 and len(self._messages) <= _REPEATED_MAX
        while len(self._messages) > _REPEATED_MAX:
            self._messages.popleft()
        self._reported_count = len(self._messages)
        return digests

    def describe(
        self, frames: Iterable[Data], requester: int, hold_ns: Duration, now: Instant
    ) -> list[Digest]:
        """Describe these messages, in order of sequence number, to one requester or to all.

        Subscribers that start at about the same time request the same messages, hence the
        suppression of replies.
        """
        if requester not in self._subscribers:
            # The attributes that this requester needs are not known.
            return self._describe_runs(frames, requester, now, all_attributes=True)[
                :_DIGESTS_PER_REPLY_MAX
            ]
        audiences = [
            (frame, self._describe_suppression.audience(frame.seq, requester, hold_ns, now))
            for frame in frames
        ]
        # One audience for all messages: splitting them would produce many short digests.
        is_for_all = any(audience is Audience.ALL for _, audience in audiences)
        described = [frame for frame, audience in audiences if audience is not Audience.NONE]
        return self._describe_runs(described, None if is_for_all else requester, now)[
            :_DIGESTS_PER_REPLY_MAX
        ]

    def _describe_runs(
        self, frames: Iterable[Data], to: int | None, now: Instant, *, all_attributes: bool = False
    ) -> list[Digest]:
        digests = []
        stamp = stamp_us(now)
        for run in _runs(frames):
            messages = [
                _DigestedMessage(
                    frame.seq,
                    now - (stamp - frame.send_ts_us & STAMP.mask) * MICROSECOND,
                    self._entry(frame.message, all_attributes=all_attributes),
                )
                for frame in run
            ]
            for batch in _split_into_batches(messages, self._encoder.fingerprint_bits):
                digest = self._build_digest(batch, SEQ.next(self._next_digest_seq, -1), (), now)
                if digest is not None:
                    digests.append(replace(digest, to=to, is_reply=True))
        return digests

    def _build_digests(self, flow_seqs: _FlowSeqs, now: Instant) -> list[Digest]:
        digests = []
        for batch in _split_into_batches(list(self._messages), self._encoder.fingerprint_bits):
            included, flow_seqs = (
                flow_seqs[:_FLOWS_WITH_ENTRIES_MAX],
                flow_seqs[_FLOWS_WITH_ENTRIES_MAX:],
            )
            digest = self._build_next_digest(batch, included, now)
            if digest is None:
                flow_seqs = included + flow_seqs
            else:
                digests.append(digest)
        while flow_seqs:
            digests.append(self._store(self._build_flow_digest(flow_seqs[:DIGEST_FLOWS_MAX], now)))
            flow_seqs = flow_seqs[DIGEST_FLOWS_MAX:]
        return digests

    def _build_flow_digest(self, flow_seqs: _FlowSeqs, now: Instant) -> Digest:
        """Build a digest with flow sequence numbers only, without descriptions of messages."""
        return Digest(
            pub=self._publisher,
            epoch=self._epoch,
            digest_seq=self._next_digest_seq,
            seq=self._last_seq,
            send_ts_us=stamp_us(now),
            sent_before_100us=delta_100us(now - self._last_sent_ns),
            flows=tuple(flow_seqs),
        )

    def resend(
        self, first_seq: int, count: int, requester: int, hold_ns: Duration, now: Instant
    ) -> list[Digest]:
        """Return the stored digests in this range, addressed to all or to the requester.

        Digests are often lost by several subscribers at once, hence the suppression of replies.
        """
        found = []
        for digest_seq, digest in self._recent_digests.items():
            if 0 <= digest_seq - first_seq < count:
                audience = self._resend_suppression.audience(digest_seq, requester, hold_ns, now)
                if audience is not Audience.NONE:
                    to = None if audience is Audience.ALL else requester
                    found.append(replace(digest, to=to))
        return found

    def _build_next_digest(
        self, batch: list[_DigestedMessage], flow_seqs: _FlowSeqs, now: Instant
    ) -> Digest | None:
        digest = self._build_digest(batch, self._next_digest_seq, tuple(flow_seqs), now)
        return None if digest is None else self._store(digest)

    def _build_digest(
        self,
        batch: list[_DigestedMessage],
        digest_seq: int,
        flows: tuple[tuple[int, int], ...],
        now: Instant,
    ) -> Digest | None:
        """Describe these messages, oldest first; the base is the last that fits a frame."""
        width_bits = self._encoder.fingerprint_bits
        base_codec = EntryCodec((), (), width_bits)
        while batch and not (base := base_codec.pack(batch[-1].entry)):
            batch.pop()
        if not batch:
            return None
        newest = batch[-1]
        codec = EntryCodec(newest.entry.presence, newest.entry.values, width_bits)
        others = batch[-2::-1]
        return Digest(
            pub=self._publisher,
            epoch=self._epoch,
            digest_seq=digest_seq,
            seq=newest.seq,
            send_ts_us=stamp_us(now),
            sent_before_100us=delta_100us(now - newest.sent_ns),
            base=base,
            record=PublicationRecord.from_columns(
                [delta_100us(newest.sent_ns - sent.sent_ns) for sent in others],
                [codec.pack(sent.entry) for sent in others],
            ),
            flows=flows,
        )

    def _store(self, digest: Digest) -> Digest:
        self._next_digest_seq = SEQ.next(self._next_digest_seq)
        self._recent_digests[digest.digest_seq] = digest
        return digest

    def _entry(self, message: Message, *, all_attributes: bool = False) -> FingerprintEntry:
        if not (all_attributes or self._all_attributes):
            # Attributes that no subscriber's filter names would only waste space.
            attributes = {
                name: message.attributes[name]
                for name in message.attributes
                if name in self._attributes
            }
            message = Message(attributes)
        listing = tags_of(message, self._encoder)
        return FingerprintEntry(listing.presence, tuple(sorted({*listing.values})))


def _runs(frames: Iterable[Data]) -> Iterator[list[Data]]:
    """Split into runs of consecutive sequence numbers: a digest cannot have gaps."""
    frames = list(frames)
    start = 0
    for _, count in SEQ.runs(frame.seq for frame in frames):
        yield frames[start : start + count]
        start += count


def _split_into_batches(
    messages: list[_DigestedMessage], width_bits: int
) -> Iterable[list[_DigestedMessage]]:
    """Split consecutive messages into batches that fit one frame each, oldest first."""
    batch: list[_DigestedMessage] = []
    used_bytes = 0
    for message in messages:
        # Upper bound: whole bytes for each fingerprint and its code, 8 bytes for the rest.
        tags = len(message.entry.values) + len(message.entry.presence)
        size_bytes = 8 + (width_bits // 8 + 1) * tags
        if used_bytes + size_bytes > _ENTRIES_BYTES_MAX or len(batch) >= RECORD_ENTRIES_MAX:
            if batch:
                yield batch
            batch, used_bytes = [], 0
        batch.append(message)
        used_bytes += size_bytes
    if batch:
        yield batch
