"""Digests where they are made: what was sent of late, for those who hear little of it (§3.4).

A subscriber that few messages are for sees few records, and none at all of the last
messages before a silence. Who so asks is told of every message, four times a second.
Each digest tells of what was sent since the one before it, and of a few more; after
a silence of a period the last one is repeated once. A digest that was lost can be
asked for by its number.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable
from typing import Final, NamedTuple

from msgspec.structs import replace

from penstock.content.message import Message
from penstock.content.tags import Encoder
from penstock.kernel.instant import MICROSECOND, MILLISECOND, SECOND, Duration, Instant
from penstock.transport.carrier import listing_of
from penstock.wire.codec.record import EntryCodec
from penstock.wire.frames.data import Data
from penstock.wire.frames.digest import Digest
from penstock.wire.frames.record import FingerprintEntry, Record
from penstock.wire.limits import RECORD_ENTRIES_MAX
from penstock.wire.quantise import delta_100us, stamp_us
from penstock.wire.serial import SEQ_BITS, after

PERIOD_NS: Final[Duration] = 250 * MILLISECOND
# Who wants digests says so again within this time.
LEASE_NS: Final[Duration] = 30 * SECOND
# Messages that the digest before told of already.
_OVERLAP: Final = 2
_KEPT_MAX: Final = 64
# What is left of a frame for entries, beside head, base and flows.
_ENTRIES_BYTES_MAX: Final = 1_000
# More than that since the last digest is not told of.
_SENT_MAX: Final = 4_096


class _Sent(NamedTuple):
    seq: int
    departed_ns: Instant
    entry: FingerprintEntry


class DigestMaker:
    """Of one publisher's epoch."""

    def __init__(self, pub: int, epoch: int, encoder: Encoder) -> None:
        self._pub: Final = pub
        self._epoch: Final = epoch
        self._encoder: Final = encoder
        # What the next digest tells of, oldest first; how many of them the last one did too.
        self._sent: Final[deque[_Sent]] = deque(maxlen=_SENT_MAX)
        self._told = 0
        self._is_repeated = True
        self._number = 0
        self._kept: Final[OrderedDict[int, Digest]] = OrderedDict()
        self._wanted_until: Instant = 0
        self.due_at: Instant | None = None

    def wanted(self, now: Instant) -> None:
        """Somebody asks for digests."""
        self._wanted_until = now + LEASE_NS
        if self.due_at is None:
            self.due_at = now + PERIOD_NS

    def on_sent(self, frame: Data, now: Instant) -> None:
        """A message left."""
        if self.due_at is not None:
            departed_ns = now - now % MICROSECOND
            self._sent.append(_Sent(frame.seq, departed_ns, self._entry(frame.message)))

    def make(self, now: Instant) -> list[Digest]:
        """What is due now."""
        if now >= self._wanted_until:
            self.due_at = None
            self._sent.clear()
            self._told = 0
            return []
        self.due_at = now + PERIOD_NS
        is_silent = len(self._sent) <= self._told
        if not self._sent or (is_silent and self._is_repeated):
            return []
        self._is_repeated = is_silent
        made = (self._digest(part, now) for part in _parts(list(self._sent)))
        digests = [digest for digest in made if digest is not None]
        while len(self._sent) > _OVERLAP:
            self._sent.popleft()
        self._told = len(self._sent)
        return digests

    def again(self, first: int, count: int) -> list[Digest]:
        """The digests of these numbers that are still kept."""
        return [digest for number, digest in self._kept.items() if 0 <= number - first < count]

    def _digest(self, part: list[_Sent], now: Instant) -> Digest | None:
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
        digest = Digest(
            pub=self._pub,
            epoch=self._epoch,
            number=self._number,
            seq=newest.seq,
            send_ts_us=stamp_us(now),
            departed_100us=delta_100us(now - newest.departed_ns),
            base=base,
            record=Record.joined(
                [delta_100us(newest.departed_ns - sent.departed_ns) for sent in others],
                [codec.pack(sent.entry) for sent in others],
            ),
        )
        self._number = after(self._number, SEQ_BITS)
        self._kept[digest.number] = digest
        if len(self._kept) > _KEPT_MAX:
            self._kept.popitem(last=False)
        return digest

    def _entry(self, message: Message) -> FingerprintEntry:
        listing = listing_of(message, self._encoder)
        return FingerprintEntry(listing.presence, tuple(sorted({*listing.values})))


def for_one(digest: Digest, endpoint: int) -> Digest:
    """The same, for one endpoint alone."""
    return replace(digest, to=endpoint)


def _parts(sent: list[_Sent]) -> Iterable[list[_Sent]]:
    """Runs of consecutive messages that fit a frame each, oldest first."""
    part: list[_Sent] = []
    used_bytes = 0
    for each in sent:
        # Two bytes and a half for a fingerprint, and what an entry has besides.
        size_bytes = 8 + 3 * len(each.entry.values)
        if used_bytes + size_bytes > _ENTRIES_BYTES_MAX or len(part) >= RECORD_ENTRIES_MAX:
            yield part
            part, used_bytes = [], 0
        part.append(each)
        used_bytes += size_bytes
    if part:
        yield part
