"""What a subscriber knows of one publisher: whether it needs its digests, and which are missing.

Records of k entries reveal a loss if one of the k messages after it arrives here. The
probability of that, the detection ratio, is 1 − (1 − ρ)^k, where ρ is the share of the
publisher's messages that arrive. Below 0.9 digests are needed: at once for a new publisher,
otherwise after two such updates in a row. Above 0.97 they are no longer needed.

Digests are numbered. A missing digest that the next one does not cover is requested from the
publisher, up to nine times. So are descriptions of messages that neither a record nor a digest
described: those before the first digest, and those of a gap longer than a record.
This module decides what to request; `digest_subscriber` sends the requests.
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
# Messages sent between two updates of the detection ratio, at least.
_SENT_MIN: Final = 8
_ATTEMPTS_MAX: Final = 9
# Independent of distance: between close peers a network outage outlasts many round trips.
_BACKOFF: Final = Backoff(first_ns=50 * MILLISECOND, doublings_max=6)
_MISSING_DIGESTS_MAX: Final = 32
UNDESCRIBED_MAX: Final = 2_048


class DigestState:
    """Digest state of one publisher; `limit` bounds the pending entries of all publishers."""

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
        # The first message received; losses are counted from here.
        self.first_seq = frame.seq
        self._update_first_seq = self._last_seq = frame.seq
        self._arrivals = 0
        self._record_entries = frame.record.count
        self._received_share: float | None = None
        self._low_updates = 0
        self.wants_digests = False
        # Subscription to its digests at the network; None without one.
        self.subscription_id: int | None = None
        # When the next TRACK for digests is due, how many were answered, how many in a row not.
        self.renew_at: Instant = 0
        self.replies = 0
        self.unanswered = 0
        # The attributes named in the last TRACK; None for all.
        self.requested_attributes: Predicate | None = None
        self.last_digest_seq: int | None = None
        # The last message that a digest described.
        self._described_through: int | None = None
        self.missing_digests: Final[RetryQueue[int]] = RetryQueue(
            _BACKOFF, attempts_max=_ATTEMPTS_MAX, max_entries=_MISSING_DIGESTS_MAX, limit=limit
        )
        self.undescribed: Final[RetryQueue[int]] = RetryQueue(
            _BACKOFF, attempts_max=_ATTEMPTS_MAX, max_entries=UNDESCRIBED_MAX, limit=limit
        )

    def on_message(self, frame: Data) -> None:
        """Count a message of this publisher; a new epoch resets the state."""
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
        """Whether enough messages were seen for a first estimate."""
        return self._received_share is not None

    def update_detection_ratio(self) -> None:
        """Update `wants_digests`, unless fewer than `_SENT_MIN` messages were sent since."""
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
        """Record a digest, and schedule requests for missing ones `wait_ns` from now."""
        digest_seq = digest.digest_seq
        self.missing_digests.discard(digest_seq)
        for offset in range(digest.count if self.undescribed else 0):
            self.undescribed.discard((digest.seq - offset) & SEQ.mask)
        if digest.to is not None or digest.is_reply:
            # A reply: its number is not the newest, so it reveals no missing digests.
            return
        ahead = (
            0 if self.last_digest_seq is None else SEQ.distance(digest_seq, self.last_digest_seq)
        )
        if ahead > _MISSING_DIGESTS_MAX and self._described_through is not None:
            # Too many to request by number: request descriptions of their messages instead.
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
        """Request descriptions of the messages between the first received and the first digest."""
        self._request_between(self.first_seq, first_digest, now)

    def _request_between(self, described_through: int, digest: Digest, at: Instant) -> None:
        """Request the messages after `described_through` and before those in the digest."""
        oldest = digest.seq - digest.count + 1
        between = SEQ.distance(oldest, described_through) - 1
        self.undescribed.add(
            SEQ.missing_between(described_through, oldest, most=UNDESCRIBED_MAX),
            at,
            skipped=max(0, between - UNDESCRIBED_MAX),
        )
