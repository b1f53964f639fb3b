"""Digests where they are made: what was sent of late, for those who hear little of it (§3.4).

A subscriber that few messages are for sees few records, and none at all of the last
messages before a silence. Who so asks is told of every message, several times a second;
of its attributes those that some filter of who asks is about.
Each digest tells of what was sent since the one before it, and again of what was new in
that one: who loses one of them needs nothing but the next. After a silence of a period
the last one is repeated once. Those of which more were lost can be asked for by number.

To those who track flows it tells the last numbers of the flows that got some since;
of what the messages were it tells only if somebody asks for that.
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
# So many messages need not wait for the period to end: what a digest costs is little for each.
_DIGEST_EARLY_AT_MESSAGES: Final = 16
# Messages that the digest before told of already; of more there are as many as fit.
_REPEATED_MAX: Final = 32
_RECENT_DIGESTS_MAX: Final = 128
# Of more it is not known how many they are.
_SUBSCRIBERS_MAX: Final = 16_384
_ATTRIBUTE_NAMES_MAX: Final = 1 << 16
# What is left of a frame for entries, beside head, base and some flows.
_ENTRIES_BYTES_MAX: Final = 1_000
_FLOWS_WITH_ENTRIES_MAX: Final = 32
# Digests that one who asks gets at once: more must be asked for again.
_DIGESTS_PER_REPLY_MAX: Final = 8
# More than that since the last digest is not told of.
_MESSAGES_MAX: Final = 4_096


class _DigestedMessage(NamedTuple):
    seq: int
    sent_ns: Instant
    entry: FingerprintEntry


# Of attributes.
AttributeNames: TypeAlias = frozenset[str]


class _DigestInterest(NamedTuple):
    # All if it is None.
    attributes: AttributeNames | None
    expires_at: Instant


# Flows and their last numbers, sorted.
_FlowSeqs: TypeAlias = list[tuple[int, int]]


class DigestPublisher:
    """Of one publisher's epoch."""

    def __init__(
        self, publisher: int, epoch: int, encoder: Encoder, flow_numbers: FlowNumbers
    ) -> None:
        self._publisher: Final = publisher
        self._epoch: Final = epoch
        self._encoder: Final = encoder
        self._flow_numbers: Final = flow_numbers
        # The numbers that were new in the last digest.
        self._previous_flow_seqs: _FlowSeqs = []
        # Whether the next one can tell again all that was.
        self._can_cover_previous = False
        self._last_seq = 0
        self._last_sent_ns: Instant = 0
        # What the next digest tells of, oldest first; how many of them the last one did too.
        self._messages: Final[deque[_DigestedMessage]] = deque(maxlen=_MESSAGES_MAX)
        self._reported_count = 0
        self._is_repeated = True
        self._next_digest_seq = 0
        self._recent_digests: Final[BoundedDict[int, Digest]] = BoundedDict(_RECENT_DIGESTS_MAX)
        # Of these, and of messages, what was asked for.
        self._resend_suppression: Final = ReplySuppression()
        self._describe_suppression: Final = ReplySuppression(unicast_first=True)
        # Who asks, and until when that holds; who asked last comes last.
        self._subscribers: Final[OrderedDict[int, _DigestInterest]] = OrderedDict()
        # Names that they give, in all.
        self._name_count = 0
        # The attributes that are told of: these, or all.
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
        """Somebody asks to be told of messages, or of these attributes of them; how many ask."""
        subscribers = self._subscribers
        self._unsubscribe(subscriber)
        # Where too much is named all is told.
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
            # Of what nobody names any more.
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
        """Somebody listens, if only for the numbers of flows."""
        if self.due_at is None:
            self.due_at = now + DIGEST_INTERVAL_NS

    def on_sent(self, frame: Data, now: Instant) -> None:
        """A message left."""
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
        """What is due now."""
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
        """What these messages were, by rising number, for one who heard nothing of them.

        Many begin to listen at about the same time, and ask for the same.
        """
        if requester not in self._subscribers:
            # Has not said what of messages it must know.
            return self._describe_runs(frames, requester, now, all_attributes=True)[
                :_DIGESTS_PER_REPLY_MAX
            ]
        audiences = [
            (frame, self._describe_suppression.audience(frame.seq, requester, hold_ns, now))
            for frame in frames
        ]
        # Together, lest there be many short ones.
        is_for_all = any(whom is Audience.ALL for _, whom in audiences)
        described = [frame for frame, whom in audiences if whom is not Audience.NONE]
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
        """Says nothing of what the messages were."""
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
        """The digests of these numbers that are still kept: who loses one seldom does so alone."""
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
        """Describes these, oldest first; the base is the last one that is not too large."""
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
            # What no filter asks for tells nobody anything.
            attributes = {
                name: message.attributes[name]
                for name in message.attributes
                if name in self._attributes
            }
            message = Message(attributes)
        listing = tags_of(message, self._encoder)
        return FingerprintEntry(listing.presence, tuple(sorted({*listing.values})))


def _runs(frames: Iterable[Data]) -> Iterator[list[Data]]:
    """Of consecutive numbers each: a digest has no holes."""
    frames = list(frames)
    start = 0
    for _, count in SEQ.runs(frame.seq for frame in frames):
        yield frames[start : start + count]
        start += count


def _split_into_batches(
    messages: list[_DigestedMessage], width_bits: int
) -> Iterable[list[_DigestedMessage]]:
    """Runs of consecutive messages that fit a frame each, oldest first."""
    batch: list[_DigestedMessage] = []
    used_bytes = 0
    for message in messages:
        # Whole bytes for a fingerprint and its code, and what an entry has besides.
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
