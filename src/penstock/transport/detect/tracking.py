"""Which filters publishers are told, and by which flows they number them: the subscriber's part.

Each publisher that is heard is told our filters (TRACK), as many at a time as a frame
has room for, and says by which flows it numbers what they match (TRACKED). From time to
time it is told, without the filters, that they still hold. One that has restarted, or
has forgotten, is told them again. What the numbers tell is the business of `holes`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Final, NamedTuple

from penstock.content.filter import Filter, Predicate
from penstock.kernel.instant import MILLISECOND, SECOND, Instant
from penstock.kernel.timers import Timers
from penstock.transport.detect.flow_gaps import Holes
from penstock.transport.detect.flow_numbers import LEASE_NS, tracked_of
from penstock.wire.codec.filter import write_predicate
from penstock.wire.frames.data import Data
from penstock.wire.frames.digest import Digest
from penstock.wire.frames.track_reply import Tracked
from penstock.wire.frames.track_request import Track
from penstock.wire.quantise import ECHO_STAMP_BITS, stamp_us
from penstock.wire.serial import EPOCH_BITS, newer

_SOURCES_MAX: Final = 4_096
_TELL_NS: Final = LEASE_NS // 3
# Sooner for the first time: by then it is known how many share it, for all begin at once.
_SETTLED_NS: Final = 2 * SECOND
# Until a publisher answers it is told again after this, twice as long each time up to that.
_TELL_FIRST_NS: Final = 500 * MILLISECOND
_TELL_LAST_NS: Final = 16 * SECOND
_TELLS_MAX: Final = 10
_SILENCE_NS: Final = 60 * SECOND
# What is left of a frame for filters.
_FILTERS_BYTES_MAX: Final = 1_200
_TOKEN_MASK: Final = (1 << 16) - 1


class Part(NamedTuple):
    """As many filters of a wish as one frame has room for."""

    wish: int
    predicate: Predicate


class _Told(NamedTuple):
    """When a publisher is to be told a part, or that it still holds."""

    pub: int
    token: int


@dataclass(slots=True)
class _Source:
    epoch: int
    # Of each part: how often it was told without an answer.
    unanswered: dict[int, int] = field(default_factory=dict)
    # Since when it is told nothing any more, for it has never answered.
    silent_since: Instant | None = None
    # Those whose filters are all numbered, and how many share them.
    accepted: dict[int, int] = field(default_factory=dict)


class Tracking:
    """One endpoint's; `wants` says which predicates are to be tracked."""

    def __init__(
        self,
        me: int,
        holes: Holes,
        *,
        draw: Callable[[], float],
        send: Callable[[Track, Instant], bool],
        wants: Callable[[Predicate], bool] = lambda _predicate: True,
    ) -> None:
        self._me: Final = me
        self._holes: Final = holes
        self._send: Final = send
        self._wants: Final = wants
        # Not those of an endpoint of the same name that was here before.
        self._tokens: Final = count(int(draw() * _TOKEN_MASK))
        self._parts: Final[dict[int, Part]] = {}
        # Wishes of which not all is tracked: it need not be, or no frame has room for it.
        self._untracked: Final[set[int]] = set()
        self._sources: Final[OrderedDict[int, _Source]] = OrderedDict()
        # How often a publisher had to be told again: it may know nothing of this.
        self.unanswered = 0
        self._timers: Final[Timers[_Told]] = Timers()

    def is_tracked(self, pub: int) -> bool:
        """Whether every loss of this publisher leaves a hole."""
        source = self._sources.get(pub)
        if source is None or self._untracked:
            return False
        return len(source.accepted) == len(self._parts) > 0

    @property
    def is_needed(self) -> bool:
        """Whether anything is to be tracked."""
        return bool(self._parts)

    def next_wakeup(self) -> Instant | None:
        """When `wake` must next be called."""
        return self._timers.next_wakeup()

    # What is wanted.

    def subscribed(self, wish: int, predicate: Predicate, now: Instant) -> None:
        """One more predicate, which all publishers heard are told, if it is to be tracked."""
        if not self._wants(predicate):
            self._untracked.add(wish)
            return
        for part in _parts(predicate):
            if part is None:
                self._untracked.add(wish)
                continue
            token = 0
            # Nothing is called 0: that stands for digests.
            while not token or token in self._parts:
                token = next(self._tokens) & _TOKEN_MASK
            self._parts[token] = Part(wish, part)
            for pub in self._sources:
                self._tell_at(pub, token, now)

    def unsubscribed(self, wish: int, now: Instant) -> None:
        """Its numbers mean nothing any more."""
        self._untracked.discard(wish)
        for token in [token for token, part in self._parts.items() if part.wish == wish]:
            del self._parts[token]
            for pub, source in self._sources.items():
                self._timers.cancel(_Told(pub, token))
                source.accepted.pop(token, None)
                source.unanswered.pop(token, None)
                self._send(self._track(pub, token, now, is_end=True), now)
        self._holes.close_wish(wish)

    # What comes.

    def heard(self, frame: Data, now: Instant) -> None:
        """A message for us."""
        source = self._sources.get(frame.pub)
        if source is None or source.epoch != frame.epoch:
            self._begin(frame.pub, frame.epoch, now)
        self._sources.move_to_end(frame.pub)
        source = self._sources[frame.pub]
        if source.silent_since is not None and now - source.silent_since >= _SILENCE_NS:
            source.silent_since = None
            for token in source.unanswered:
                self._tell_at(frame.pub, token, now)
        if frame.flows:
            self._holes.came(frame.pub, frame.epoch, tracked_of(frame), now)

    def told_last(self, digest: Digest, now: Instant) -> None:
        """The last numbers of its flows."""
        self._holes.told_last(digest.pub, digest.epoch, digest.flows, now)

    def on_tracked(self, tracked: Tracked, now: Instant) -> None:
        """A publisher says how it numbers a part, or that it must be told it again."""
        pub, token = tracked.pub, tracked.token
        source, part = self._sources.get(pub), self._parts.get(token)
        if source is None or part is None:
            return
        if tracked.epoch != source.epoch:
            if newer(tracked.epoch, source.epoch, EPOCH_BITS):
                self._begin(pub, tracked.epoch, now)
            return
        if not tracked.is_known:
            source.accepted.pop(token, None)
            self._tell_at(pub, token, now)
            return
        again_ns = _TELL_NS
        if token in source.unanswered and tracked.flows:
            again_ns = _SETTLED_NS
            if len(tracked.flows) != len(part.predicate.filters):
                return
            del source.unanswered[token]
            if None not in tracked.flows:
                source.accepted[token] = tracked.sharers
            for given in tracked.flows:
                if given is not None:
                    self._holes.open(pub, *given, part.wish, now)
        if token in source.accepted:
            source.accepted[token] = tracked.sharers
            self._holes.set_sharers(pub, max(source.accepted.values()))
        if token not in source.unanswered:
            self._timers.set(_Told(pub, token), now + again_ns)

    # What is due.

    def wake(self, now: Instant) -> None:
        """Tells who is to be told."""
        for key in self._timers.due(now):
            source = self._sources[key.pub]
            tries = source.unanswered.get(key.token)
            if tries is None:
                self._send(self._track(key.pub, key.token, now), now)
                # Should no answer come, it is asked what it knows.
                self._timers.set(key, now + _TELL_LAST_NS)
                continue
            if tries >= _TELLS_MAX:
                # It knows nothing of this, or is not there: until it is heard again, later.
                source.silent_since = now
                continue
            self.unanswered += tries > 0
            predicate = self._parts[key.token].predicate
            self._send(self._track(key.pub, key.token, now, predicate=predicate), now)
            source.unanswered[key.token] = tries + 1
            self._timers.set(key, now + min(_TELL_FIRST_NS << min(tries, 8), _TELL_LAST_NS))

    def _begin(self, pub: int, epoch: int, now: Instant) -> None:
        """A publisher is new, or has restarted and knows nothing of us."""
        self._holes.close(pub, now)
        if pub not in self._sources and len(self._sources) >= _SOURCES_MAX:
            forgotten, _ = self._sources.popitem(last=False)
            self._holes.close(forgotten, now)
            for token in self._parts:
                self._timers.cancel(_Told(forgotten, token))
        self._sources[pub] = _Source(epoch)
        self._holes.begin(pub, epoch)
        for token in self._parts:
            self._tell_at(pub, token, now)

    def _tell_at(self, pub: int, token: int, now: Instant) -> None:
        self._sources[pub].unanswered[token] = 0
        self._timers.set(_Told(pub, token), now)

    def _track(
        self,
        pub: int,
        token: int,
        now: Instant,
        *,
        predicate: Predicate | None = None,
        is_end: bool = False,
    ) -> Track:
        return Track(
            subscriber=self._me,
            pub=pub,
            token=token,
            send_ts_us=stamp_us(now, ECHO_STAMP_BITS),
            is_end=is_end,
            predicate=predicate,
        )


def _parts(predicate: Predicate) -> Iterator[Predicate | None]:
    """Its filters, as many at a time as a frame has room for; None for one with too many bytes."""
    part: list[Filter] = []
    used_bytes = 0
    for filter_ in predicate.filters:
        size_bytes = len(write_predicate(Predicate([filter_])))
        if size_bytes > _FILTERS_BYTES_MAX:
            yield None
            continue
        if used_bytes + size_bytes > _FILTERS_BYTES_MAX:
            yield Predicate(part)
            part, used_bytes = [], 0
        part.append(filter_)
        used_bytes += size_bytes
    if part:
        yield Predicate(part)
