"""What an endpoint knows of one publisher: which numbers came, and how delays vary.

Numbers wrap around on the wire; here they are unwrapped and grow for ever. The
last run of consecutive numbers is a length; what lies below it is a set of bits,
bounded, so that a publisher that is received in order costs next to nothing, and
one of which little is received no more than a kilobyte.
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

# How far back a number that comes is known to be new, or not.
WINDOW_SIZE: Final = 8_192
_WINDOW_MASK: Final = (1 << WINDOW_SIZE) - 1
# How many of the window's bits move with every gap: to move all would take as long as the rest.
_RECENT_BITS_MAX: Final = 512
# Here, for `receive` runs for every message.
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
        # The first that came; what was before it is nobody's to bring.
        self.first: Final = first.seq
        self.highest = first.seq - 1
        self.last_heard_ns: Instant = 0
        # The numbers from `highest` down that all came. Of those below, bit i stands for
        # `highest - run - i` in the recent ones, and so many bits further down in the older ones.
        self._run_length = 0
        self._recent = self._recent_bits = self._older = 0
        self._estimators: dict[EstimatorSettings, DelayEstimator] = {}
        # The order of its messages, for each subscription that got one, by its number.
        self.streams: Final[dict[int, OrderedStream]] = {}

    def unwrap(self, seq: int) -> int:
        """The unwrapped number nearest to those that came last."""
        return SEQ.unwrap(seq, self.highest)

    def add(self, extended_seq: int) -> bool:
        """Notes that it came; False if it had come before, or is too old to tell."""
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
        """Whether it is so far back that nobody knows whether it came."""
        return self.highest - self._run_length - self.unwrap(seq) >= WINDOW_SIZE

    @property
    def oldest_known(self) -> int:
        """The lowest number of which it is known whether it came."""
        return self.highest - self._run_length - WINDOW_SIZE + 1

    def contains(self, extended_seq: int) -> bool:
        """Whether it did; what is too far back to tell is not to be waited for either."""
        offset = self.highest - self._run_length - extended_seq
        if offset < 0:
            return extended_seq <= self.highest
        return offset >= WINDOW_SIZE or self._is_set(offset)

    def estimator(self, settings: EstimatorSettings) -> DelayEstimator:
        """The one for these settings, shared by all that order alike."""
        found = self._estimators.get(settings)
        if found is None:
            found = self._estimators[settings] = DelayEstimator(settings)
        return found

    def receive(self, frame: Data, now: Instant) -> int | None:
        """Its number, after all estimators have seen it; None if it is not to be taken."""
        # As `number` and `add` do: this is what happens most.
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
        """What came before goes below the new run; what is far below is forgotten."""
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
        """Whether the number came that stands so far below the last run."""
        older = offset - self._recent_bits
        return bool(self._recent >> offset & 1 if older < 0 else self._older >> older & 1)
