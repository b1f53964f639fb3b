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

from typing import Final

from penstock.content.filter import Predicate
from penstock.kernel.instant import MILLISECOND, Duration, Instant
from penstock.kernel.retry import Backoff, RetryQueue, SharedLimit
from penstock.kernel.sequence import SEQ
from penstock.wire.frames.data import Data
from penstock.wire.frames.digest import Digest

_DETECTION_LOW: Final = 0.9
_DETECTION_HIGH: Final = 0.97
_LOW_UPDATES_MIN: Final = 2
_SMOOTHING: Final = 0.3
# Of fewer messages nothing is concluded.
_SENT_MIN: Final = 8
_ATTEMPTS_MAX: Final = 9
# Where all are close a hiccup of the network is longer than many round trips.
_BACKOFF: Final = Backoff(first_ns=50 * MILLISECOND, doublings_max=6)
_MISSING_DIGESTS_MAX: Final = 32
UNDESCRIBED_MAX: Final = 2_048


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

    def __init__(self, frame: Data, limit: SharedLimit) -> None:
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
        self.missing_digests: Final[RetryQueue[int]] = RetryQueue(
            _BACKOFF, attempts_max=_ATTEMPTS_MAX, max_entries=_MISSING_DIGESTS_MAX, limit=limit
        )
        self.undescribed: Final[RetryQueue[int]] = RetryQueue(
            _BACKOFF, attempts_max=_ATTEMPTS_MAX, max_entries=UNDESCRIBED_MAX, limit=limit
        )

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
        if SEQ.distance(frame.seq, self._last_seq) > 0:
            self._last_seq = frame.seq
        self._record_entries = frame.record.count

    @property
    def has_detection_ratio(self) -> bool:
        """Whether enough was heard of it to know."""
        return self._received_share is not None

    def update_detection_ratio(self) -> None:
        """From time to time: whether its digests are wanted; unless too little was sent."""
        sent = SEQ.distance(self._last_seq, self._update_first_seq)
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
            self.undescribed.discard((digest.seq - offset) & SEQ.mask)
        if digest.to is not None or digest.is_reply:
            # It says nothing of where others stand.
            return
        ahead = (
            0 if self.last_digest_seq is None else SEQ.distance(digest_seq, self.last_digest_seq)
        )
        if ahead > _MISSING_DIGESTS_MAX and self._described_through is not None:
            # So many are kept by nobody: what was in them is asked for instead.
            self._request_between(self._described_through, digest, now + wait_ns)
        elif self.last_digest_seq is not None and ahead > 1:
            missing = SEQ.missing_between(
                self.last_digest_seq,
                digest_seq - digest.covers_previous,
                most=_MISSING_DIGESTS_MAX,
            )
            skipped = max(0, ahead - 1 - digest.covers_previous - _MISSING_DIGESTS_MAX)
            self.missing_digests.add(missing, now + wait_ns, skipped=skipped)
        if self.last_digest_seq is None or ahead > 0:
            self.last_digest_seq = digest_seq
            self._described_through = digest.seq if digest.count else self._described_through

    def request_before(self, first_digest: Digest, now: Instant) -> None:
        """What left before the first digest, and after the first message that came."""
        self._request_between(self.first_seq, first_digest, now)

    def _request_between(self, described_through: int, digest: Digest, at: Instant) -> None:
        """The messages after that one, and before those that the digest tells of."""
        oldest = digest.seq - digest.count + 1
        between = SEQ.distance(oldest, described_through) - 1
        self.undescribed.add(
            SEQ.missing_between(described_through, oldest, most=UNDESCRIBED_MAX),
            at,
            skipped=max(0, between - UNDESCRIBED_MAX),
        )
