"""Asks for what was lost: late enough that another may ask first, and again if nothing comes.

1. A loss is wanted. After a wait of SRM's (`timers`) a request goes out, routed by the
   lost message's own Bloom set to all who could have it.
2. Who hears the same request from another waits anew, twice as long [R6].
3. Whatever brings the message ends it. After the last round, or when it has taken
   too long, it is given up.

A request names who is to answer at once: a peer that has answered nearly always and is
closer than the publisher, else the publisher. If nothing comes it names nobody, and
all who have the message answer by their timers. Where two such requests in a row
stayed without an answer, nobody is named until something is heard from there.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from typing import Final

from penstock.kernel.instant import MILLISECOND, Instant
from penstock.kernel.timers import Timers
from penstock.transport.recovery.budget import Budget
from penstock.transport.recovery.distances import Distances
from penstock.transport.recovery.settings import RecoverySettings
from penstock.transport.recovery.timers import Adaptive, Asking, is_much_farther
from penstock.wire.frames.data import MessageId
from penstock.wire.frames.request import Request
from penstock.wire.quantise import delta_100us, stamp_us

_PUBLISHERS_MAX: Final = 4_096
# Of the last repairs that one peer sent so many of, it is asked first, if it is that much closer.
_REPAIRS_SEEN: Final = 8
_REPAIRS_OFTEN: Final = 6
_CLOSER: Final = 0.7
_SILENT: Final = 2
# What there is no budget for is tried again then.
_POSTPONED: Final = 50 * MILLISECOND


class Wanted:
    """One lost message."""

    __slots__ = ("asked", "asking", "bits", "due_ns", "first_ns", "heard", "id", "since_ns")

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
        self.asking: Asking


class Source:
    """What is known of getting one publisher's messages again."""

    __slots__ = ("adaptive", "repairers", "unanswered")

    def __init__(self, adaptive: Adaptive) -> None:
        self.adaptive: Final = adaptive
        self.repairers: Final[deque[int]] = deque(maxlen=_REPAIRS_SEEN)
        # How many requests in a row brought nothing from who was named.
        self.unanswered = 0


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

    @property
    def group(self) -> int:
        """How many there may be who lost the same."""
        return max(self._settings.group_min, self._distances.count)

    # What happens.

    def want(self, id_: MessageId, bits: int, due_ns: Instant, now: Instant) -> None:
        """It is lost."""
        if id_ in self._wanted:
            return
        if len(self._wanted) >= self._settings.wanted_max:
            self.overflow += 1
            self._give_up(id_, now)
            return
        wanted = Wanted(id_, bits, due_ns, now)
        wanted.asking = Asking(
            self._source(id_.pub).adaptive,
            self._distances.of(id_.pub),
            group=self.group,
            draw=self._draw(),
            now=now,
        )
        self._wanted[id_] = wanted
        self.timers.set(id_, wanted.asking.due_at)

    def on_request(self, request: Request, now: Instant) -> None:
        """Somebody else asks."""
        wanted = self._wanted.get(request.id)
        if wanted is None or request.requester == self._me:
            return
        wanted.heard.append(self._distances.of(request.requester))
        wanted.first_ns = now if wanted.first_ns is None else wanted.first_ns
        if wanted.asking.on_asked(by_other=True, group=self.group, draw=self._draw(), now=now):
            self.timers.set(request.id, wanted.asking.due_at)

    def on_came(self, id_: MessageId, now: Instant) -> None:
        """The message is here, whoever sent it."""
        wanted = self._wanted.pop(id_, None)
        if wanted is not None:
            self.timers.cancel(id_)
            self._adapt(wanted, now)

    def on_repair(self, pub: int, repairer: int) -> None:
        """Somebody sent us what we asked for."""
        source = self._source(pub)
        source.repairers.append(repairer)
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
            self._adapt(wanted, now)
            self._give_up(id_, now)
        elif not self._budget.take(now) or not self._send(self._request(wanted, now), now):
            self.timers.set(id_, now + _POSTPONED)
        else:
            self._on_sent(wanted, now)

    # What comes of it.

    def _on_sent(self, wanted: Wanted, now: Instant) -> None:
        source = self._source(wanted.id.pub)
        if wanted.asked:
            source.unanswered += 1
        elif not wanted.heard:
            source.adaptive.on_sent_first(group=self.group)
        wanted.asked += 1
        wanted.first_ns = now if wanted.first_ns is None else wanted.first_ns
        wanted.asking.on_asked(by_other=False, group=self.group, draw=self._draw(), now=now)
        self.timers.set(wanted.id, wanted.asking.due_at)

    def _request(self, wanted: Wanted, now: Instant) -> Request:
        id_ = wanted.id
        source = self._source(id_.pub)
        distance_ns = self._distances.of(id_.pub)
        return Request(
            pub=id_.pub,
            epoch=id_.epoch,
            seq=id_.seq,
            requester=self._me,
            send_ts_us=stamp_us(now),
            age_100us=delta_100us(now - wanted.due_ns),
            delay_100us=delta_100us(source.adaptive.mean_wait_ns(distance_ns, group=self.group)),
            round=wanted.asking.round_,
            is_unicast=self._settings.reply == "unicast",
            bloom=wanted.bits,
            bloom_bytes=self._bloom_bytes,
            first=self._first(wanted, source),
        )

    def _first(self, wanted: Wanted, source: Source) -> int | None:
        """Who is to answer at once; who was named last time and did not is not named again."""
        if not self._settings.names_first or source.unanswered >= _SILENT or wanted.asked > 1:
            return None
        pub = wanted.id.pub
        if not wanted.asked and source.repairers:
            peer, count = Counter(source.repairers).most_common(1)[0]
            closer_ns = _CLOSER * self._distances.of(pub)
            if count >= _REPAIRS_OFTEN and peer != pub and self._distances.of(peer) < closer_ns:
                return peer
        return pub if not wanted.asked or source.repairers else None

    def _adapt(self, wanted: Wanted, now: Instant) -> None:
        """[SRM] Others' requests beside the first are duplicates; repeats of our own are not."""
        if wanted.first_ns is None:
            return
        distance_ns = self._distances.of(wanted.id.pub)
        duplicates = len(wanted.heard) - (0 if wanted.asked else 1)
        is_closest = bool(wanted.asked) and any(
            is_much_farther(other_ns, distance_ns) for other_ns in wanted.heard
        )
        del now
        self._source(wanted.id.pub).adaptive.on_cycle(
            duplicates,
            (wanted.first_ns - wanted.since_ns) / max(1, 2 * distance_ns),
            is_closest=is_closest,
            group=self.group,
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
