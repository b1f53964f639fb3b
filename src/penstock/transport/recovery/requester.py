"""Asks for what was lost: late enough that another may ask first, and again if nothing comes.

1. A loss is wanted. After a wait of SRM's (`timers`) a request goes out, routed by the
   lost message's own Bloom set to all who could have it.
2. Who hears the same request from another waits anew, twice as long [R6].
3. Whatever brings the message ends it. After the last round, or when it has taken
   too long, it is given up.

A request names who is to answer at once: a peer that has answered nearly always and is
closer than the publisher, else the publisher. Who was named for a message, by us or by
another, is not named for it again: all who have the message answer by their timers.
Where those who named a publisher had to ask again twice in a row, it is not named until
it answers, or has restarted.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from dataclasses import replace
from math import log
from typing import Final

from penstock.kernel.instant import MILLISECOND, Duration, Instant
from penstock.kernel.timers import Timers
from penstock.transport.recovery.admission import Budget
from penstock.transport.recovery.peer_distance import Distances
from penstock.transport.recovery.request_timers import Adaptive, Asking, is_much_farther
from penstock.transport.recovery.settings import RecoverySettings
from penstock.wire.frames.data import MessageId
from penstock.wire.frames.request import Request
from penstock.wire.quantise import delta_100us, stamp_us

_PUBLISHERS_MAX: Final = 4_096
# Of the last repairs that one peer sent so many of, it is asked first, if it is that much closer.
_REPAIRS_SEEN: Final = 8
_REPAIRS_OFTEN: Final = 6
_CLOSER: Final = 0.7
_SILENT: Final = 2
# C2 where the publisher has said how many there are, and so is there to answer: times their log.
_WIDTH_OF_LOG: Final = 1.0
# Of fewer, most did not lose the same message: they need not draw as if all had.
_MANY: Final = 4_096
# Of one message's requests so many are remembered.
_HEARD_MAX: Final = 1_000
# What there is no budget for is tried again then.
_POSTPONED: Final = 50 * MILLISECOND


class Wanted:
    """One lost message."""

    __slots__ = (
        "asked",
        "asking",
        "bits",
        "due_ns",
        "first_ns",
        "heard",
        "id",
        "is_for_all",
        "is_named",
        "is_silent",
        "namers",
        "since_ns",
    )

    def __init__(self, id_: MessageId, bits: int, due_ns: Instant, now: Instant) -> None:
        self.id: Final = id_
        # By what it is routed; and when the message would have come.
        self.bits: Final = bits
        self.due_ns: Final = due_ns
        self.since_ns: Final = now
        # How often we asked, whom we heard ask and how far away they are; when the first did.
        self.asked = 0
        self.heard: Final[list[int]] = []
        self.first_ns: Instant | None = None
        # Whether all were asked, or anyone was to answer at once; who named the publisher, and
        # whether in vain.
        self.is_for_all = False
        self.is_named = False
        self.namers: Final[set[int]] = set()
        self.is_silent = False
        self.asking: Asking


class Source:
    """What is known of getting one publisher's messages again."""

    __slots__ = ("adaptive", "epoch", "has_answered", "repairers", "sharers", "unanswered")

    def __init__(self, adaptive: Adaptive) -> None:
        self.adaptive = adaptive
        self.repairers: Final[deque[int]] = deque(maxlen=_REPAIRS_SEEN)
        # For how many messages in a row the publisher was named, and did not answer.
        self.unanswered = 0
        self.has_answered = False
        self.epoch: int | None = None
        # How many there are who could lose the same, if the publisher has told.
        self.sharers: int | None = None


class Requester:
    """All that one endpoint wants; `send` gets requests, `give_up` what nobody could repair."""

    def __init__(
        self,
        me: int,
        settings: RecoverySettings,
        distances: Distances,
        *,
        bloom_bytes: int,
        draw: Callable[[], float],
        send: Callable[[Request, Instant], bool],
        give_up: Callable[[MessageId, Instant], None],
    ) -> None:
        self._me: Final = me
        self._settings: Final = settings
        self._distances: Final = distances
        self._bloom_bytes: Final = bloom_bytes
        self._draw: Final = draw
        self._send: Final = send
        self._give_up: Final = give_up
        self._budget: Final = Budget(settings.requests_mps)
        self._wanted: Final[dict[MessageId, Wanted]] = {}
        self._sources: Final[OrderedDict[int, Source]] = OrderedDict()
        self.timers: Final[Timers[MessageId]] = Timers()
        self.overflow = 0

    def __contains__(self, id_: MessageId) -> bool:
        return id_ in self._wanted

    def __len__(self) -> int:
        return len(self._wanted)

    def bits_of(self, id_: MessageId) -> int | None:
        """By what a message is asked for; None if it is not."""
        wanted = self._wanted.get(id_)
        return None if wanted is None else wanted.bits

    def group(self, pub: int) -> int:
        """How many there may be who lost the same of a publisher."""
        source = self._sources.get(pub)
        told = None if source is None else source.sharers
        return max(self._settings.group_min if told is None else told, self._distances.count)

    # What happens.

    def want(
        self, id_: MessageId, bits: int, due_ns: Instant, now: Instant, *, later_ns: Duration = 0
    ) -> None:
        """It is lost; `later_ns` is how much later than else it is asked for."""
        if id_ in self._wanted:
            return
        if len(self._wanted) >= self._settings.wanted_max:
            self.overflow += 1
            self._give_up(id_, now)
            return
        source = self._source(id_.pub)
        if source.epoch != id_.epoch:
            source.epoch, source.unanswered, source.has_answered = id_.epoch, 0, False
        wanted = Wanted(id_, bits, due_ns, now)
        wanted.asking = Asking(
            source.adaptive,
            self._distances.of(id_.pub),
            group=self.group(id_.pub),
            draw=self._draw(),
            now=now,
        )
        self._wanted[id_] = wanted
        self.timers.set(id_, wanted.asking.due_at + later_ns)

    def on_sharers(self, pub: int, sharers: int) -> None:
        """A publisher says how many listen for its losses: few need not wait as long as many."""
        source = self._source(pub)
        timers = self._settings.timers
        if timers.law == "exponential" and not _is_about(sharers, source.sharers):
            # What was adapted to was another crowd.
            source.sharers = sharers
            width = max(timers.width_min, _WIDTH_OF_LOG * log(max(1, sharers)))
            source.adaptive = Adaptive(replace(timers, width_min=width, ask_width=width))
            source.adaptive.crowd = sharers * min(1.0, sharers / _MANY)

    def on_request(self, request: Request, now: Instant) -> None:
        """Somebody else asks."""
        wanted = self._wanted.get(request.id)
        if wanted is None or request.requester == self._me:
            return
        if len(wanted.heard) < _HEARD_MAX:
            wanted.heard.append(self._distances.of(request.requester))
        wanted.first_ns = now if wanted.first_ns is None else wanted.first_ns
        self._note(wanted, request.requester, request.first)
        if wanted.asking.on_asked(
            by_other=True,
            group=self.group(request.pub),
            draw=self._draw(),
            now=now,
            round_=request.round,
            is_named=request.first is not None,
        ):
            self.timers.set(request.id, wanted.asking.due_at)

    def on_came(self, id_: MessageId, now: Instant) -> None:
        """The message is here, whoever sent it."""
        del now
        wanted = self._wanted.pop(id_, None)
        if wanted is not None:
            self.timers.cancel(id_)
            self._adapt(wanted)
            if wanted.namers and not wanted.is_for_all:
                # Others' requests may tell, too, that it does answer.
                self._source(id_.pub).unanswered = 0

    def on_repair(self, pub: int, repairer: int) -> None:
        """Somebody sent us what we asked for."""
        source = self._source(pub)
        source.repairers.append(repairer)
        if repairer == pub:
            source.has_answered = True
            source.unanswered = 0

    def forget(self, id_: MessageId) -> None:
        """Nobody here wants it any more."""
        if self._wanted.pop(id_, None) is not None:
            self.timers.cancel(id_)

    def ring(self, id_: MessageId, now: Instant) -> None:
        """Its time has come."""
        wanted = self._wanted[id_]
        asking = wanted.asking
        if asking.is_over or now - wanted.since_ns >= self._settings.give_up_ns:
            del self._wanted[id_]
            self._adapt(wanted)
            self._give_up(id_, now)
            return
        request = self._request(wanted, now)
        if not self._budget.take(now) or not self._send(request, now):
            self.timers.set(id_, now + _POSTPONED)
        else:
            self._on_sent(wanted, request.first, now)

    # What comes of it.

    def _on_sent(self, wanted: Wanted, first: int | None, now: Instant) -> None:
        self._note(wanted, self._me, first)
        group = self.group(wanted.id.pub)
        if not wanted.asked and not wanted.heard:
            self._source(wanted.id.pub).adaptive.on_sent_first(group=group)
        wanted.asked += 1
        wanted.first_ns = now if wanted.first_ns is None else wanted.first_ns
        wanted.asking.on_asked(
            by_other=False, group=group, draw=self._draw(), now=now, is_named=first is not None
        )
        self.timers.set(wanted.id, wanted.asking.due_at)

    def _request(self, wanted: Wanted, now: Instant) -> Request:
        id_ = wanted.id
        source = self._source(id_.pub)
        distance_ns, group = self._distances.of(id_.pub), self.group(id_.pub)
        return Request(
            pub=id_.pub,
            epoch=id_.epoch,
            seq=id_.seq,
            requester=self._me,
            send_ts_us=stamp_us(now),
            age_100us=delta_100us(now - wanted.due_ns),
            delay_100us=delta_100us(source.adaptive.mean_wait_ns(distance_ns, group=group)),
            round=wanted.asking.round_,
            is_unicast=self._settings.reply == "unicast",
            bloom=wanted.bits,
            bloom_bytes=self._bloom_bytes,
            first=self._first(wanted, source),
        )

    def _first(self, wanted: Wanted, source: Source) -> int | None:
        """Who is to answer at once; nobody if who could be named was, or is known to be silent."""
        if not self._settings.names_first:
            return None
        pub = wanted.id.pub
        if not wanted.is_named and source.repairers:
            peer, count = Counter(source.repairers).most_common(1)[0]
            closer_ns = _CLOSER * self._distances.of(pub)
            if count >= _REPAIRS_OFTEN and peer != pub and self._distances.of(peer) < closer_ns:
                return peer
        if source.unanswered >= _SILENT:
            return None
        # Of one that has answered before, request or repair may have been lost.
        may_repeat = source.has_answered and wanted.asking.round_ == 1
        return pub if not wanted.namers or may_repeat else None

    def _note(self, wanted: Wanted, requester: int, first: int | None) -> None:
        """We ask, or another does, and that one is to answer at once; or all are, by their timers.

        Who has to ask again was not answered, not even alone. Whoever is close to the
        publisher would ask again and again while all wait: they may be far away.
        """
        if requester in wanted.namers and not wanted.is_silent:
            wanted.is_silent = True
            self._source(wanted.id.pub).unanswered += 1
        if first is not None:
            wanted.is_named = True
            if first == wanted.id.pub and len(wanted.namers) < _HEARD_MAX:
                wanted.namers.add(requester)
            return
        wanted.is_for_all = True
        if self._settings.names_first:
            wanted.asking.is_far(self._settings.distance_ns)

    def _adapt(self, wanted: Wanted) -> None:
        """[SRM] Others' requests beside the first are duplicates; repeats of our own are not."""
        if wanted.first_ns is None:
            return
        distance_ns = self._distances.of(wanted.id.pub)
        duplicates = len(wanted.heard) - (0 if wanted.asked else 1)
        is_closest = bool(wanted.asked) and any(
            is_much_farther(other_ns, distance_ns) for other_ns in wanted.heard
        )
        self._source(wanted.id.pub).adaptive.on_cycle(
            duplicates,
            (wanted.first_ns - wanted.since_ns) / max(1, 2 * distance_ns),
            is_closest=is_closest,
            group=self.group(wanted.id.pub),
        )

    def _source(self, pub: int) -> Source:
        source = self._sources.get(pub)
        if source is None:
            if len(self._sources) >= _PUBLISHERS_MAX:
                self._sources.popitem(last=False)
            source = self._sources[pub] = Source(Adaptive(self._settings.timers))
        else:
            self._sources.move_to_end(pub)
        return source


def _is_about(number: int, before: int | None) -> bool:
    """Whether two sizes of a crowd are nearly the same."""
    return before is not None and before <= 2 * number and number <= 1.3 * before
