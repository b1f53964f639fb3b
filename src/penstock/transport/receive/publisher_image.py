"""The state of one publisher at a receiver: received sequence numbers and delay estimators.

Sequence numbers wrap on the wire; here they are extended and never wrap. The latest run
of consecutive numbers is stored as its length, the numbers below it as a bounded bit set:
a publisher received in order costs almost nothing, and any other at most one kilobyte.
Does not know subscriptions, except that each has a stream.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from penstock.kernel.instant import MICROSECOND, Instant
from penstock.kernel.sequence import SEQ
from penstock.transport.order.delay_estimator import DelayEstimator, EstimatorSettings
from penstock.transport.statistics import PublisherStatistics
from penstock.wire.frames.data import Data

if TYPE_CHECKING:
    from penstock.transport.order.stream import OrderedStream

# How far below the latest run duplicates are recognised.
WINDOW_SIZE: Final = 8_192
_WINDOW_MASK: Final = (1 << WINDOW_SIZE) - 1
# Only these bits are shifted at every gap: to shift the whole window would double the cost.
_RECENT_BITS_MAX: Final = 512
# Module constants, because `receive` runs for every message.
_SEQ_MASK: Final = SEQ.mask
_SEQ_HALF: Final = 1 << SEQ.bits - 1


class PublisherImage:
    """One epoch of one publisher, from its first message on."""

    __slots__ = (
        "_estimators",
        "_older",
        "_recent",
        "_recent_bits",
        "_run_length",
        "epoch",
        "first",
        "highest",
        "last_heard_ns",
        "publisher",
        "streams",
    )

    def __init__(self, first: Data) -> None:
        self.publisher: Final = first.pub
        self.epoch: Final = first.epoch
        # The first message received; earlier ones are not repaired.
        self.first: Final = first.seq
        self.highest = first.seq - 1
        self.last_heard_ns: Instant = 0
        # `_run_length` numbers from `highest` down have all arrived. Below them, bit i of
        # `_recent` stands for `highest - _run_length - i`; `_older` continues after
        # `_recent_bits` bits.
        self._run_length = 0
        self._recent = self._recent_bits = self._older = 0
        self._estimators: dict[EstimatorSettings, DelayEstimator] = {}
        # By subscription id, for each ordering subscription that received a message.
        self.streams: Final[dict[int, OrderedStream]] = {}

    def unwrap(self, seq: int) -> int:
        """Return the extended sequence number nearest to `highest`."""
        return SEQ.unwrap(seq, self.highest)

    def add(self, extended_seq: int) -> bool:
        """Mark a number as received; False if it is a duplicate or too old to know."""
        ahead = extended_seq - self.highest
        if ahead == 1:
            self._run_length += 1
            self.highest = extended_seq
            return True
        if ahead > 1:
            self._begin_run(extended_seq, ahead - 1)
            return True
        offset = -ahead - self._run_length
        if offset < 0:
            return False
        if offset >= WINDOW_SIZE:
            return any(extended_seq in stream.missing for stream in self.streams.values())
        if self._is_set(offset):
            return False
        if offset < self._recent_bits:
            self._recent |= 1 << offset
        else:
            self._older |= 1 << offset - self._recent_bits
        return True

    def is_too_old(self, seq: int) -> bool:
        """Whether it lies below the duplicate window."""
        return self.highest - self._run_length - self.unwrap(seq) >= WINDOW_SIZE

    @property
    def oldest_known(self) -> int:
        """The lowest number in the duplicate window."""
        return self.highest - self._run_length - WINDOW_SIZE + 1

    def contains(self, extended_seq: int) -> bool:
        """Whether the number was received; True below the window, so nothing waits for it."""
        offset = self.highest - self._run_length - extended_seq
        if offset < 0:
            return extended_seq <= self.highest
        return offset >= WINDOW_SIZE or self._is_set(offset)

    def estimator(self, settings: EstimatorSettings) -> DelayEstimator:
        """Return the estimator for these settings, shared by all streams that use them."""
        found = self._estimators.get(settings)
        if found is None:
            found = self._estimators[settings] = DelayEstimator(settings)
        return found

    def receive(self, frame: Data, now: Instant) -> int | None:
        """Return the extended number and update the estimators; None if duplicate or too old."""
        # Inlines `unwrap` and `add` for the most frequent cases.
        ahead = (frame.seq - self.highest) & _SEQ_MASK
        extended_seq = self.highest + ahead
        if ahead == 1:
            self._run_length += 1
            self.highest = extended_seq
        elif 1 < ahead < _SEQ_HALF:
            self._begin_run(extended_seq, ahead - 1)
        else:
            extended_seq = self.unwrap(frame.seq)
            if not self.add(extended_seq):
                return None
        self.last_heard_ns = now
        sent_ns, is_highest = frame.send_ts_us * MICROSECOND, extended_seq == self.highest
        for estimator in self._estimators.values():
            estimator.on_arrival(sent_ns, now=now, is_highest=is_highest)
        return extended_seq

    def statistics(self) -> PublisherStatistics:
        """The size of everything bounded here."""
        return PublisherStatistics(
            publisher=self.publisher,
            epoch=self.epoch,
            window_bits=self._recent.bit_length() + self._older.bit_length(),
            streams=tuple([stream.statistics() for stream in self.streams.values()]),
            delays=tuple([estimator.statistics() for estimator in self._estimators.values()]),
        )

    def _begin_run(self, extended_seq: int, skipped: int) -> None:
        """Move the current run into the bit set and start a new one after a gap."""
        if skipped >= WINDOW_SIZE:
            self._recent = self._recent_bits = self._older = 0
        else:
            run = self._run_length if self._run_length < WINDOW_SIZE else WINDOW_SIZE
            self._recent = self._recent << run + skipped | ((1 << run) - 1) << skipped
            self._recent_bits += run + skipped
            if self._recent_bits > _RECENT_BITS_MAX:
                self._older = (self._older << self._recent_bits | self._recent) & _WINDOW_MASK
                self._recent = self._recent_bits = 0
        self._run_length = 1
        self.highest = extended_seq

    def _is_set(self, offset: int) -> bool:
        """Whether the number `offset` below the latest run was received."""
        older = offset - self._recent_bits
        return bool(self._recent >> offset & 1 if older < 0 else self._older >> older & 1)
