"""What is known of one publisher whose losses its records would mostly not tell of.

A record of k entries tells of a loss if one of the k messages after it comes here:
with the probability 1 − (1 − ρ)^k, where ρ is the share of the publisher's messages
that come. If that is below .9 digests are asked for: at once when a publisher is new,
else when it is so twice in a row; above .97 no longer.

Digests are numbered: a hole is asked for at the publisher, a few times. So are messages
that neither a record nor a digest told of, to learn what they were: those before the
first digest, and those of a silence longer than a record.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from penstock.kernel.instant import Duration, Instant
from penstock.wire.frames.data import Data
from penstock.wire.frames.digest import Digest
from penstock.wire.serial import SEQ_BITS, distance

_LOW: Final = 0.9
_HIGH: Final = 0.97
_LOW_TIMES: Final = 2
_SMOOTHING: Final = 0.3
# Of fewer messages nothing is concluded.
_SENT_MIN: Final = 8
_TRIES_MAX: Final = 4
_DIGESTS_MAX: Final = 32
_UNTOLD_MAX: Final = 2_048
_SEQ_MASK: Final = (1 << SEQ_BITS) - 1


class Pending:
    """Numbers that are to be asked for, and again: how often they were, and when next."""

    __slots__ = ("_most", "_numbers", "given_up")

    def __init__(self, most: int) -> None:
        self._most: Final = most
        self._numbers: Final[dict[int, tuple[int, Instant]]] = {}
        # How many were asked for in vain, or had to go for others.
        self.given_up = 0

    def __len__(self) -> int:
        return len(self._numbers)

    def add(self, numbers: Iterable[int], at: Instant) -> None:
        """To be asked for then; the oldest go if there are too many."""
        for number in numbers:
            self._numbers.setdefault(number & _SEQ_MASK, (0, at))
        while len(self._numbers) > self._most:
            del self._numbers[next(iter(self._numbers))]
            self.given_up += 1

    def discard(self, number: int) -> None:
        """It is here."""
        self._numbers.pop(number, None)

    def clear(self) -> None:
        """Nothing is wanted any more."""
        self._numbers.clear()

    def due(self, retry_ns: Duration, now: Instant) -> Iterator[int]:
        """Those to be asked for now."""
        for number, (tries, at) in list(self._numbers.items()):
            if now < at:
                continue
            if tries >= _TRIES_MAX:
                del self._numbers[number]
                self.given_up += 1
                continue
            self._numbers[number] = tries + 1, now + (retry_ns << tries)
            yield number

    def next_at(self) -> Instant | None:
        """When the next one is to be asked for."""
        return min((at for _, at in self._numbers.values()), default=None)


class Watched:
    """One publisher."""

    __slots__ = (
        "_came",
        "_entries",
        "_first",
        "_last",
        "_low_times",
        "_share",
        "begun",
        "digest",
        "epoch",
        "holes",
        "is_wanted",
        "subscription",
        "tell_at",
        "unanswered",
        "untold",
    )

    def __init__(self, frame: Data) -> None:
        self.epoch = frame.epoch
        # The first message that came, since when others may have been lost.
        self.begun = frame.seq
        self._first = self._last = frame.seq
        self._came = 0
        self._entries = frame.record.count
        self._share: float | None = None
        self._low_times = 0
        # Whether digests of what it sends are.
        self.is_wanted = False
        # Of the network, for its digests; None while none are wanted.
        self.subscription: int | None = None
        # When the publisher is next told that they are, and how often it did not answer.
        self.tell_at: Instant = 0
        self.unanswered = 0
        # The newest digest, those before it that did not come, and messages of which none tells.
        self.digest: int | None = None
        self.holes: Final = Pending(_DIGESTS_MAX)
        self.untold: Final = Pending(_UNTOLD_MAX)

    def came(self, frame: Data) -> None:
        """One of its messages."""
        if frame.epoch != self.epoch:
            self.epoch, self.digest, self.tell_at = frame.epoch, None, 0
            self.holes.clear()
            self.untold.clear()
            self.begun = self._first = self._last = frame.seq
            self._came = 0
        self._came += 1
        if distance(frame.seq, self._last, SEQ_BITS) > 0:
            self._last = frame.seq
        self._entries = frame.record.count

    def judge(self) -> None:
        """From time to time: whether its digests are wanted; unless too little was sent."""
        sent = distance(self._last, self._first, SEQ_BITS)
        if sent < _SENT_MIN:
            return
        share = min(1.0, self._came / sent)
        before = self._share
        self._share = share if before is None else before + _SMOOTHING * (share - before)
        self._first, self._came = self._last, 0
        told = 1 - (1 - self._share) ** self._entries
        self._low_times = self._low_times + 1 if told < _LOW else 0
        if self._low_times >= _LOW_TIMES or (before is None and told < _LOW):
            self.is_wanted = True
        elif told > _HIGH:
            self.is_wanted = False

    def on_digest(self, digest: Digest, wait_ns: Duration, now: Instant) -> None:
        """Notes the number, and those that it shows to be missing: to be asked for after a wait."""
        number = digest.number
        self.holes.discard(number)
        for back in range(digest.count if self.untold else 0):
            self.untold.discard((digest.seq - back) & _SEQ_MASK)
        if self.digest is None:
            self.digest = number
            return
        ahead = distance(number, self.digest, SEQ_BITS)
        if ahead > 0:
            lost = range(number - min(ahead, _DIGESTS_MAX) + 1, number)
            self.holes.add(lost, now + wait_ns)
            self.digest = number

    def want_before(self, first: Digest, now: Instant) -> None:
        """What left before the first digest, and after the first message that came."""
        oldest = first.seq - first.count + 1
        before = distance(oldest & _SEQ_MASK, self.begun, SEQ_BITS)
        if before > 1:
            self.untold.add(range(oldest - min(before, _UNTOLD_MAX) + 1, oldest), now)
