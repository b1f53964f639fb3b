"""Whose digests are wanted: of publishers whose losses their records would mostly not tell of.

A record of k entries tells of a loss if one of the k messages after it comes here:
with the probability 1 − (1 − ρ)^k, where ρ is the share of the publisher's messages
that come. If that is below .9 digests are asked for: at once when a publisher is new,
else when it is so twice in a row; above .97 no longer.

Digests are numbered: a hole is asked for at the publisher, a few times.
"""

from __future__ import annotations

from collections.abc import Iterator
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
_HOLES_MAX: Final = 32
_SEQ_MASK: Final = (1 << SEQ_BITS) - 1


class Watched:
    """One publisher."""

    __slots__ = (
        "_came",
        "_entries",
        "_first",
        "_last",
        "_low_times",
        "_share",
        "digest",
        "epoch",
        "holes",
        "is_wanted",
        "subscription",
        "told_at",
    )

    def __init__(self, frame: Data) -> None:
        self.epoch = frame.epoch
        self._first = self._last = frame.seq
        self._came = 0
        self._entries = frame.record.count
        self._share: float | None = None
        self._low_times = 0
        # Whether digests of what it sends are.
        self.is_wanted = False
        # Of the network, for its digests; None while none are wanted.
        self.subscription: int | None = None
        # When the publisher was last told that they are.
        self.told_at: Instant | None = None
        # The newest digest, and those before it that did not come: how often asked for, and
        # when again.
        self.digest: int | None = None
        self.holes: Final[dict[int, tuple[int, Instant]]] = {}

    def came(self, frame: Data) -> None:
        """One of its messages."""
        if frame.epoch != self.epoch:
            self.epoch, self.digest = frame.epoch, None
            self.holes.clear()
            self._first = self._last = frame.seq
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
        self.holes.pop(number, None)
        if self.digest is None:
            self.digest = number
            return
        ahead = distance(number, self.digest, SEQ_BITS)
        if ahead > 0:
            for back in range(1, min(ahead, _HOLES_MAX)):
                self.holes[(number - back) & _SEQ_MASK] = 0, now + wait_ns
            while len(self.holes) > _HOLES_MAX:
                del self.holes[next(iter(self.holes))]
            self.digest = number

    def due_holes(self, retry_ns: Duration, now: Instant) -> Iterator[int]:
        """Digests to be asked for now."""
        for number, (tries, at) in list(self.holes.items()):
            if now < at:
                continue
            if tries >= _TRIES_MAX:
                del self.holes[number]
                continue
            self.holes[number] = tries + 1, now + (retry_ns << tries)
            yield number

    def next_hole_at(self) -> Instant | None:
        """When the next one is to be asked for."""
        return min((at for _, at in self.holes.values()), default=None)
