"""What is known of one publisher whose losses its records would mostly not tell of.

A record of k entries tells of a loss if one of the k messages after it comes here:
with the probability 1 − (1 − ρ)^k, where ρ is the share of the publisher's messages
that come. If that is below .9 digests are asked for: at once when a publisher is new,
else when it is so twice in a row; above .97 no longer.

Digests are numbered: what the next one does not tell again is asked for at the publisher,
a few times. So are messages
that neither a record nor a digest told of, to learn what they were: those before the
first digest, and those of a silence longer than a record.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from penstock.content.filter import Predicate
from penstock.kernel.instant import MILLISECOND, Duration, Instant
from penstock.kernel.timers import Timers
from penstock.wire.frames.data import Data
from penstock.wire.frames.digest import Digest
from penstock.wire.serial import SEQ_BITS, distance

_DETECTION_LOW: Final = 0.9
_DETECTION_HIGH: Final = 0.97
_LOW_UPDATES_MIN: Final = 2
_SMOOTHING: Final = 0.3
# Of fewer messages nothing is concluded.
_SENT_MIN: Final = 8
_TRIES_MAX: Final = 9
# Where all are close a hiccup of the network is longer than many round trips.
_RETRY_MIN_NS: Final = 50 * MILLISECOND
_MISSING_DIGESTS_MAX: Final = 32
_UNDESCRIBED_MAX: Final = 2_048
_SEQ_MASK: Final = (1 << SEQ_BITS) - 1


class Room:
    """For so many numbers, of all publishers together."""

    __slots__ = ("left",)

    def __init__(self, most: int) -> None:
        self.left = most


class Pending:
    """Numbers that are to be asked for, and again: how often they were, and when next."""

    __slots__ = ("_most", "_room", "_timers", "_tries", "given_up")

    def __init__(self, most: int, room: Room) -> None:
        self._most: Final = most
        self._room: Final = room
        self._tries: Final[dict[int, int]] = {}
        self._timers: Final[Timers[int]] = Timers()
        # How many were asked for in vain, or had to go for others.
        self.given_up = 0

    def __len__(self) -> int:
        return len(self._tries)

    def add(self, numbers: range, at: Instant) -> None:
        """To be asked for then; if there are too many, the last of them, and the oldest go."""
        self.given_up += max(0, len(numbers) - self._most)
        for number in (each & _SEQ_MASK for each in numbers[-self._most :]):
            if number in self._tries:
                continue
            if not self._room.left:
                self.given_up += 1
                continue
            self._room.left -= 1
            self._tries[number] = 0
            self._timers.set(number, at)
        excess = len(self._tries) - self._most
        for number in list(islice(self._tries, max(0, excess))):
            self.discard(number)
            self.given_up += 1

    def discard(self, number: int) -> None:
        """It is here."""
        if self._tries.pop(number, None) is not None:
            self._room.left += 1
            self._timers.cancel(number)

    def clear(self) -> None:
        """Nothing is wanted any more."""
        for number in list(self._tries):
            self.discard(number)

    def due(self, retry_ns: Duration, now: Instant) -> Iterator[int]:
        """Those to be asked for now."""
        for number in self._timers.due(now):
            tries = self._tries[number]
            if tries >= _TRIES_MAX:
                self.discard(number)
                self.given_up += 1
                continue
            self._tries[number] = tries + 1
            self._timers.set(number, now + (max(retry_ns, _RETRY_MIN_NS) << min(tries, 6)))
            yield number

    def postpone(self, numbers: Iterable[int], at: Instant) -> None:
        """They could not be asked for."""
        for number in numbers:
            self._tries[number] -= 1
            self._timers.set(number, at)

    def next_at(self) -> Instant | None:
        """When the next one is to be asked for."""
        return self._timers.next_wakeup()


class DigestState:
    """One publisher."""

    __slots__ = (
        "_arrivals",
        "_described_through",
        "_last_seq",
        "_low_updates",
        "_received_share",
        "_record_entries",
        "_update_first_seq",
        "epoch",
        "first_seq",
        "last_digest_seq",
        "missing_digests",
        "renew_at",
        "replies",
        "requested_attributes",
        "subscription_id",
        "unanswered",
        "undescribed",
        "wants_digests",
    )

    def __init__(self, frame: Data, room: Room) -> None:
        self.epoch = frame.epoch
        # The first message that came, since when others may have been lost.
        self.first_seq = frame.seq
        self._update_first_seq = self._last_seq = frame.seq
        self._arrivals = 0
        self._record_entries = frame.record.count
        self._received_share: float | None = None
        self._low_updates = 0
        # Whether digests of what it sends are.
        self.wants_digests = False
        # Of the network, for its digests; None while none are wanted.
        self.subscription_id: int | None = None
        # When the publisher is next told that they are; how often it did, and did not, answer.
        self.renew_at: Instant = 0
        self.replies = 0
        self.unanswered = 0
        # The attributes that it was told to tell of.
        self.requested_attributes: Predicate | None = None
        # The newest digest, those before it that did not come, and messages of which none tells.
        self.last_digest_seq: int | None = None
        # The last message that a digest told of.
        self._described_through: int | None = None
        self.missing_digests: Final = Pending(_MISSING_DIGESTS_MAX, room)
        self.undescribed: Final = Pending(_UNDESCRIBED_MAX, room)

    def on_message(self, frame: Data) -> None:
        """One of its messages."""
        if frame.epoch != self.epoch:
            self.epoch, self.last_digest_seq, self._described_through, self.renew_at = (
                frame.epoch,
                None,
                None,
                0,
            )
            self.replies = 0
            self.missing_digests.clear()
            self.undescribed.clear()
            self.first_seq = self._update_first_seq = self._last_seq = frame.seq
            self._arrivals = 0
        self._arrivals += 1
        if distance(frame.seq, self._last_seq, SEQ_BITS) > 0:
            self._last_seq = frame.seq
        self._record_entries = frame.record.count

    @property
    def has_detection_ratio(self) -> bool:
        """Whether enough was heard of it to know."""
        return self._received_share is not None

    def update_detection_ratio(self) -> None:
        """From time to time: whether its digests are wanted; unless too little was sent."""
        sent = distance(self._last_seq, self._update_first_seq, SEQ_BITS)
        if sent < _SENT_MIN:
            return
        share = min(1.0, self._arrivals / sent)
        previous = self._received_share
        self._received_share = (
            share if previous is None else previous + _SMOOTHING * (share - previous)
        )
        self._update_first_seq, self._arrivals = self._last_seq, 0
        detection_ratio = 1 - (1 - self._received_share) ** self._record_entries
        self._low_updates = self._low_updates + 1 if detection_ratio < _DETECTION_LOW else 0
        if self._low_updates >= _LOW_UPDATES_MIN or (
            previous is None and detection_ratio < _DETECTION_LOW
        ):
            self.wants_digests = True
        elif detection_ratio > _DETECTION_HIGH:
            self.wants_digests = False

    def on_digest(self, digest: Digest, wait_ns: Duration, now: Instant) -> None:
        """Notes the number, and those that it shows to be missing: to be asked for after a wait."""
        digest_seq = digest.digest_seq
        self.missing_digests.discard(digest_seq)
        for offset in range(digest.count if self.undescribed else 0):
            self.undescribed.discard((digest.seq - offset) & _SEQ_MASK)
        if digest.to is not None or digest.is_reply:
            # It says nothing of where others stand.
            return
        ahead = (
            0
            if self.last_digest_seq is None
            else distance(digest_seq, self.last_digest_seq, SEQ_BITS)
        )
        if ahead > _MISSING_DIGESTS_MAX and self._described_through is not None:
            # So many are kept by nobody: what was in them is asked for instead.
            self._request_between(self._described_through, digest, now + wait_ns)
        elif ahead > 1:
            self.missing_digests.add(
                range(digest_seq - ahead + 1, digest_seq - digest.covers_previous), now + wait_ns
            )
        if self.last_digest_seq is None or ahead > 0:
            self.last_digest_seq = digest_seq
            self._described_through = digest.seq if digest.count else self._described_through

    def request_before(self, first_digest: Digest, now: Instant) -> None:
        """What left before the first digest, and after the first message that came."""
        self._request_between(self.first_seq, first_digest, now)

    def _request_between(self, described_through: int, digest: Digest, at: Instant) -> None:
        """The messages after that one, and before those that the digest tells of."""
        oldest = digest.seq - digest.count + 1
        between = distance(oldest & _SEQ_MASK, described_through, SEQ_BITS) - 1
        if between > 0:
            self.undescribed.add(range(oldest - between, oldest), at)
