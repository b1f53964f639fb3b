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
from penstock.kernel.instant import MICROSECOND, MILLISECOND, Duration, Instant
from penstock.transport.detect.flow_numbers import LEASE_NS, Flows
from penstock.transport.detect.reply_suppression import Shared, Whom
from penstock.transport.record.reader import tags_of
from penstock.wire.codec.record import EntryCodec
from penstock.wire.frames.data import Data
from penstock.wire.frames.digest import Digest
from penstock.wire.frames.record import FingerprintEntry, Record
from penstock.wire.limits import DIGEST_FLOWS_MAX, RECORD_ENTRIES_MAX
from penstock.wire.quantise import STAMP_BITS, delta_100us, stamp_us
from penstock.wire.serial import SEQ_BITS, after

PERIOD_NS: Final[Duration] = 125 * MILLISECOND
# So many messages need not wait for the period to end: what a digest costs is little for each.
_WORTH_ONE: Final = 16
# Messages that the digest before told of already; of more there are as many as fit.
_REPEATED_MAX: Final = 32
_KEPT_MAX: Final = 128
# Of more it is not known how many they are.
_WANTED_BY_MAX: Final = 16_384
_NAMED_MAX: Final = 1 << 16
# What is left of a frame for entries, beside head, base and some flows.
_ENTRIES_BYTES_MAX: Final = 1_000
_FLOWS_BESIDE_MAX: Final = 32
# Digests that one who asks gets at once: more must be asked for again.
_DESCRIBED_MAX: Final = 8
_STAMP_MASK: Final = (1 << STAMP_BITS) - 1
_SEQ_MASK: Final = (1 << SEQ_BITS) - 1
# More than that since the last digest is not told of.
_SENT_MAX: Final = 4_096


class _Sent(NamedTuple):
    seq: int
    departed_ns: Instant
    entry: FingerprintEntry


# Of attributes.
Names: TypeAlias = frozenset[str]


class _Wanted(NamedTuple):
    # All if it is None.
    names: Names | None
    until: Instant


# Flows and their last numbers, sorted.
_Numbers: TypeAlias = list[tuple[int, int]]


class DigestMaker:
    """Of one publisher's epoch."""

    def __init__(self, pub: int, epoch: int, encoder: Encoder, flows: Flows) -> None:
        self._pub: Final = pub
        self._epoch: Final = epoch
        self._encoder: Final = encoder
        self._flows: Final = flows
        # The numbers that were new in the last digest.
        self._last_numbers: _Numbers = []
        # Whether the next one can tell again all that was.
        self._is_repeatable = False
        self._seq = 0
        self._departed_ns: Instant = 0
        # What the next digest tells of, oldest first; how many of them the last one did too.
        self._sent: Final[deque[_Sent]] = deque(maxlen=_SENT_MAX)
        self._told = 0
        self._is_repeated = True
        self._number = 0
        self._kept: Final[OrderedDict[int, Digest]] = OrderedDict()
        # Of these, and of messages, what was asked for.
        self._asked_again: Final = Shared()
        self._asked_about: Final = Shared(alone_first=True)
        # Who asks, and until when that holds; who asked last comes last.
        self._wanted_by: Final[OrderedDict[int, _Wanted]] = OrderedDict()
        # Names that they give, in all.
        self._named = 0
        # The attributes that are told of: these, or all.
        self._names: Final[set[str]] = set()
        self._is_of_all = False
        self._recount_at: Instant = 0
        self.due_at: Instant | None = None

    def wanted(self, subscriber: int, names: Names | None, now: Instant) -> int:
        """Somebody asks to be told of messages, or of these attributes of them; how many ask."""
        wanted_by = self._wanted_by
        self._forget(subscriber)
        # Where too much is named all is told.
        names = names if self._named + len(names or ()) <= _NAMED_MAX else None
        self._named += len(names or ())
        wanted_by[subscriber] = _Wanted(names, now + LEASE_NS)
        while wanted_by[next(iter(wanted_by))].until <= now or len(wanted_by) > _WANTED_BY_MAX:
            self._forget(next(iter(wanted_by)))
        self._tell_of(names)
        if now >= self._recount_at:
            # Of what nobody names any more.
            self._recount_at = now + LEASE_NS
            self._names.clear()
            self._is_of_all = False
            for wanted in wanted_by.values():
                self._tell_of(wanted.names)
        self.begin(now)
        return len(wanted_by)

    def _tell_of(self, names: Names | None) -> None:
        self._is_of_all |= names is None
        self._names.update(names or ())

    def _forget(self, subscriber: int) -> None:
        wanted = self._wanted_by.pop(subscriber, None)
        if wanted is not None:
            self._named -= len(wanted.names or ())

    @property
    def _wanted_until(self) -> Instant:
        last = next(reversed(self._wanted_by.values()), None)
        return 0 if last is None else last.until

    def begin(self, now: Instant) -> None:
        """Somebody listens, if only for the numbers of flows."""
        if self.due_at is None:
            self.due_at = now + PERIOD_NS

    def on_sent(self, frame: Data, now: Instant) -> None:
        """A message left."""
        if self.due_at is None:
            return
        self._seq, self._departed_ns = frame.seq, now - now % MICROSECOND
        if now < self._wanted_until:
            self._sent.append(_Sent(frame.seq, self._departed_ns, self._entry(frame.message)))
            if len(self._sent) - self._told >= _WORTH_ONE:
                self.due_at = now

    def make(self, now: Instant) -> list[Digest]:
        """What is due now."""
        if now >= max(self._wanted_until, self._flows.until):
            self.due_at = None
            self._sent.clear()
            self._told = 0
            return []
        self.due_at = now + PERIOD_NS
        moved = self._flows.take_moved()
        is_silent = len(self._sent) <= self._told and not moved
        if is_silent and self._is_repeated:
            return []
        self._is_repeated = is_silent
        digests = self._digests(sorted({**dict(self._last_numbers), **dict(moved)}.items()), now)
        if len(digests) == 1 and self._is_repeatable:
            digests = [replace(digests[0], repeats=True)]
            self._kept[digests[0].number] = digests[0]
        self._last_numbers = moved
        for _ in range(self._told):
            self._sent.popleft()
        self._is_repeatable = len(digests) <= 1 and len(self._sent) <= _REPEATED_MAX
        while len(self._sent) > _REPEATED_MAX:
            self._sent.popleft()
        self._told = len(self._sent)
        return digests

    def describe(
        self, frames: Iterable[Data], requester: int, hold_ns: Duration, now: Instant
    ) -> list[Digest]:
        """What these messages were, by rising number, for one who heard nothing of them.

        Many begin to listen at about the same time, and ask for the same.
        """
        if requester not in self._wanted_by:
            # Has not said what of messages it must know.
            return self._described(frames, requester, now, of_all=True)[:_DESCRIBED_MAX]
        asked = [
            (frame, self._asked_about.whom(frame.seq, requester, hold_ns, now)) for frame in frames
        ]
        # Together, lest there be many short ones.
        is_for_all = any(whom is Whom.ALL for _, whom in asked)
        told = [frame for frame, whom in asked if whom is not Whom.NOBODY]
        return self._described(told, None if is_for_all else requester, now)[:_DESCRIBED_MAX]

    def _described(
        self, frames: Iterable[Data], to: int | None, now: Instant, *, of_all: bool = False
    ) -> list[Digest]:
        digests = []
        stamp = stamp_us(now)
        for run in _runs(frames):
            sent = [
                _Sent(
                    frame.seq,
                    now - (stamp - frame.send_ts_us & _STAMP_MASK) * MICROSECOND,
                    self._entry(frame.message, of_all=of_all),
                )
                for frame in run
            ]
            for part in _parts(sent, self._encoder.fingerprint_bits):
                digest = self._describe(part, (self._number - 1) & _SEQ_MASK, (), now)
                if digest is not None:
                    digests.append(replace(digest, to=to, is_asked_for=True))
        return digests

    def _digests(self, numbers: _Numbers, now: Instant) -> list[Digest]:
        digests = []
        for part in _parts(list(self._sent), self._encoder.fingerprint_bits):
            beside, numbers = numbers[:_FLOWS_BESIDE_MAX], numbers[_FLOWS_BESIDE_MAX:]
            digest = self._digest(part, beside, now)
            if digest is None:
                numbers = beside + numbers
            else:
                digests.append(digest)
        while numbers:
            digests.append(self._keep(self._of_flows(numbers[:DIGEST_FLOWS_MAX], now)))
            numbers = numbers[DIGEST_FLOWS_MAX:]
        return digests

    def _of_flows(self, numbers: _Numbers, now: Instant) -> Digest:
        """Says nothing of what the messages were."""
        return Digest(
            pub=self._pub,
            epoch=self._epoch,
            number=self._number,
            seq=self._seq,
            send_ts_us=stamp_us(now),
            departed_100us=delta_100us(now - self._departed_ns),
            flows=tuple(numbers),
        )

    def again(
        self, first: int, count: int, requester: int, hold_ns: Duration, now: Instant
    ) -> list[Digest]:
        """The digests of these numbers that are still kept: who loses one seldom does so alone."""
        found = []
        for number, digest in self._kept.items():
            if 0 <= number - first < count:
                whom = self._asked_again.whom(number, requester, hold_ns, now)
                if whom is not Whom.NOBODY:
                    to = None if whom is Whom.ALL else requester
                    found.append(replace(digest, to=to))
        return found

    def _digest(self, part: list[_Sent], numbers: _Numbers, now: Instant) -> Digest | None:
        digest = self._describe(part, self._number, tuple(numbers), now)
        return None if digest is None else self._keep(digest)

    def _describe(
        self, part: list[_Sent], number: int, flows: tuple[tuple[int, int], ...], now: Instant
    ) -> Digest | None:
        """Describes these, oldest first; the base is the last one that is not too large."""
        width_bits = self._encoder.fingerprint_bits
        alone = EntryCodec((), (), width_bits)
        while part and not (base := alone.pack(part[-1].entry)):
            part.pop()
        if not part:
            return None
        newest = part[-1]
        codec = EntryCodec(newest.entry.presence, newest.entry.values, width_bits)
        others = part[-2::-1]
        return Digest(
            pub=self._pub,
            epoch=self._epoch,
            number=number,
            seq=newest.seq,
            send_ts_us=stamp_us(now),
            departed_100us=delta_100us(now - newest.departed_ns),
            base=base,
            record=Record.joined(
                [delta_100us(newest.departed_ns - sent.departed_ns) for sent in others],
                [codec.pack(sent.entry) for sent in others],
            ),
            flows=flows,
        )

    def _keep(self, digest: Digest) -> Digest:
        self._number = after(self._number, SEQ_BITS)
        self._kept[digest.number] = digest
        if len(self._kept) > _KEPT_MAX:
            self._kept.popitem(last=False)
        return digest

    def _entry(self, message: Message, *, of_all: bool = False) -> FingerprintEntry:
        if not (of_all or self._is_of_all):
            # What no filter asks for tells nobody anything.
            kept = {
                name: message.attributes[name] for name in message.attributes if name in self._names
            }
            message = Message(kept)
        listing = tags_of(message, self._encoder)
        return FingerprintEntry(listing.presence, tuple(sorted({*listing.values})))


def _runs(frames: Iterable[Data]) -> Iterator[list[Data]]:
    """Of consecutive numbers each: a digest has no holes."""
    run: list[Data] = []
    for frame in frames:
        if run and frame.seq != after(run[-1].seq, SEQ_BITS):
            yield run
            run = []
        run.append(frame)
    if run:
        yield run


def _parts(sent: list[_Sent], width_bits: int) -> Iterable[list[_Sent]]:
    """Runs of consecutive messages that fit a frame each, oldest first."""
    part: list[_Sent] = []
    used_bytes = 0
    for each in sent:
        # Whole bytes for a fingerprint and its code, and what an entry has besides.
        tags = len(each.entry.values) + len(each.entry.presence)
        size_bytes = 8 + (width_bits // 8 + 1) * tags
        if used_bytes + size_bytes > _ENTRIES_BYTES_MAX or len(part) >= RECORD_ENTRIES_MAX:
            if part:
                yield part
            part, used_bytes = [], 0
        part.append(each)
        used_bytes += size_bytes
    if part:
        yield part
