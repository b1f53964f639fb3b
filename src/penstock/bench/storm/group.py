"""Members that share a loss, and others that do not, on a network that all hear.

Every member runs the real machines that ask and answer. Nothing that they say is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush, heapreplace
from itertools import count
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.content.message import Message
from penstock.content.tags import Encoder
from penstock.kernel.instant import MICROSECOND, MILLISECOND, SECOND, Duration, Instant
from penstock.kernel.seeds import Seeds
from penstock.transport.recovery import settings as recovery
from penstock.transport.recovery.cache import RepairCache
from penstock.transport.recovery.peer_distance import PeerDistances
from penstock.transport.recovery.repairer import Repairer
from penstock.transport.recovery.requester import Requester
from penstock.transport.recovery.settings import RecoverySettings
from penstock.wire.frames.data import Data, MessageId
from penstock.wire.frames.repair import Repair
from penstock.wire.frames.request import Request
from penstock.wire.quantise import delta_ns, quantise_rate, stamp_us

# Digests have no part in it: here everyone finds out by itself.
DEFAULT: Final = replace(recovery.DEFAULT, digests=False)
# [003 §4] Its publishers do not answer; where ours shall, it is one more member to them.
LITERAL: Final = recovery.LITERAL
SOURCE_TOO: Final = replace(LITERAL, publisher_answers=True)

_ROUTERS: Final = 100
_NEAR_NS: Final = 5 * MILLISECOND
_FAR_NS: Final = 200 * MILLISECOND
_ALIKE_NS: Final = 100 * MILLISECOND
_BETWEEN_NS: Final = 5 * SECOND
# By then what comes after a lost message has come, and told of it.
_FOUND_OUT_NS: Final = 50 * MILLISECOND
_PUBLISHER: Final = 0
# Among ten thousand, so many frames take about a second.
_TELL_EVERY: Final = 20
_ENCODER: Final = Encoder(b"storm")
_MESSAGE: Final = Message({"topic": "storm"})
_BITS: Final = _ENCODER.message_bits(_MESSAGE)


class Outcome(NamedTuple):
    """What one loss led to; the time until the last was repaired, and how many never were."""

    requests: int
    repairs: int
    spent_ns: Duration
    given_up: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One case: `size` share each loss, half as many others could answer."""

    size: int
    settings: RecoverySettings = DEFAULT
    publisher_answers: bool = True
    is_star: bool = False

    @property
    def holders(self) -> int:
        """Who get the message, beside the publisher."""
        return max(1, self.size // 2)

    @property
    def name(self) -> str:
        """As it is printed."""
        timers = "default" if self.settings is DEFAULT else "literal"
        publisher = "publisher answers" if self.publisher_answers else "publisher is gone"
        return f"{self.size:,}{' on a star' if self.is_star else ''}, {timers}, {publisher}"


class Delays:
    """Between members: of a tree whose routers they hang on, or all alike."""

    def __init__(self, members: int, seeds: Seeds, *, is_star: bool) -> None:
        rng = seeds.generator("tree")
        routers = 1 if is_star else _ROUTERS
        core = np.zeros((routers, routers))
        for new in range(1, routers):
            core[new, :new] = core[rng.integers(new)][:new] + rng.uniform(0.2, 1)
            core[:new, new] = core[new, :new]
        near_ns = _ALIKE_NS if is_star else _NEAR_NS
        self._core: Final[NDArray[np.float64]] = core * ((_FAR_NS - near_ns) / (core.max() or 1))
        self._at: Final = rng.integers(routers, size=members)
        self._near_ns: Final = near_ns

    def in_order(self, sender: int) -> tuple[list[int], list[Duration]]:
        """Everybody else, the closest first, and how far away they are."""
        delays = (self._core[self._at[sender]][self._at] + self._near_ns).astype(np.int64)
        order = np.argsort(delays, kind="stable")
        order = order[order != sender]
        return order.tolist(), delays[order].tolist()


class Member:
    """One endpoint's machines, and what `recovery.Recovery` does between them."""

    def __init__(self, me: int, group: Group, settings: RecoverySettings, seeds: Seeds) -> None:
        self.me: Final = me
        self._group: Final = group
        self._has: Final[set[MessageId]] = set()
        self.armed_at: Instant | None = None
        draw = seeds.rng("member", str(me)).random
        self._distances: Final = PeerDistances(settings.distance_ns)
        self._cache: Final = RepairCache(settings.cache)
        self._requester: Final = Requester(
            me,
            settings,
            self._distances,
            bloom_bytes=_ENCODER.params.m + 7 >> 3,
            draw=draw,
            send=self._send,
            give_up=self._give_up,
        )
        self._repairer: Final = Repairer(
            me,
            settings,
            lambda _pub: self._cache,
            self._distances,
            draw=draw,
            send=self._send,
        )

    def came(self, frame: Data, now: Instant) -> None:
        """Keeps what it gets, or publishes."""
        self._has.add(frame.id)
        self._cache.put(frame, now=now)

    def lost(self, frame: Data, due_ns: Instant, now: Instant) -> None:
        """What came after it tells that it was sent, and will not come."""
        self._distances.on_hint(frame.pub, due_ns - frame.send_ts_us * MICROSECOND)
        self._requester.request(frame.id, _BITS, due_ns, now)

    def on_request(self, request: Request, now: Instant) -> None:
        """Somebody lost something."""
        self._distances.on_peer(request.requester)
        self._requester.on_request(request, now)
        if request.id in self._has:
            self._repairer.on_request(request, now)

    def on_repair(self, repair: Repair, now: Instant) -> None:
        """Somebody had it."""
        original = repair.original
        if repair.requester == self.me:
            hold_ns = delta_ns(repair.hold_100us)
            self._distances.on_echo(repair.repairer, repair.echo_ts_us, hold_ns, now=now)
            self._requester.on_repair(original.pub, repair.repairer)
        self._repairer.on_repair(repair, now)
        if self._end(original.id, now, is_repaired=True):
            self._requester.on_arrival(original.id, now)
            self._cache.put(original, now=now)

    def wake(self, now: Instant) -> None:
        """Asks and answers what is due."""
        for id_ in self._requester.timers.due(now):
            self._requester.on_timer(id_, now)
        for id_ in self._repairer.timers.due(now):
            self._repairer.on_timer(id_, now)

    def next_wakeup(self) -> Instant | None:
        """When something is."""
        asks, answers = self._requester.timers.next_wakeup(), self._repairer.timers.next_wakeup()
        if asks is None or answers is None:
            return answers if asks is None else asks
        return min(asks, answers)

    def _send(self, frame: Request | Repair, now: Instant) -> bool:
        self._group.carry(self.me, frame, now)
        return True

    def _give_up(self, id_: MessageId, now: Instant) -> None:
        self._end(id_, now, is_repaired=False)

    def _end(self, id_: MessageId, now: Instant, *, is_repaired: bool) -> bool:
        if id_ in self._has:
            return False
        self._has.add(id_)
        self._group.on_end(now, is_repaired=is_repaired)
        return True


class _Journey:
    """A frame on its way to one after another."""

    __slots__ = ("at", "delays", "frame", "is_lost", "order", "sent_ns")

    def __init__(
        self,
        frame: Data | Request | Repair,
        order: Sequence[int],
        delays: Sequence[Duration],
        sent_ns: Instant,
        *,
        is_lost: bool = False,
    ) -> None:
        self.frame: Final = frame
        self.order: Final = order
        self.delays: Final = delays
        self.sent_ns: Final = sent_ns
        # Whether, instead of the frame, the news comes that it is lost.
        self.is_lost: Final = is_lost
        self.at = 0


class Group:
    """All members and one clock; `lose` is one message that half of them never get."""

    def __init__(
        self, scene: Scene, seeds: Seeds, *, tell: Callable[[str], None] = lambda _said: None
    ) -> None:
        self._scene: Final = scene
        self._tell: Final = tell
        members = 1 + scene.size + scene.holders
        self._delays: Final = Delays(members, seeds, is_star=scene.is_star)
        self._members: Final = [Member(me, self, scene.settings, seeds) for me in range(members)]
        self._now: Instant = SECOND
        self._seq = 0
        self._serial: Final = count()
        # What happens next: a frame that reaches another member, or one that is to be woken.
        self._events: Final[list[tuple[Instant, int, _Journey | Member]]] = []
        self._requests = self._repairs = self._given_up = 0
        self._repaired_ns: Instant = 0

    def losses(self, number: int) -> Iterator[Outcome]:
        """One after another."""
        for _ in range(number):
            yield self.lose()
            self._now += _BETWEEN_NS

    def lose(self) -> Outcome:
        """Publishes a message that only the holders get, and lets all have their say."""
        sent_ns = self._now
        frame = _data(self._seq, sent_ns)
        self._seq += 1
        self._requests = self._repairs = self._given_up = 0
        self._repaired_ns = sent_ns
        order, delays = self._delays.in_order(_PUBLISHER)
        if self._scene.publisher_answers:
            self._members[_PUBLISHER].came(frame, sent_ns)
        first_holder = 1 + self._scene.size
        for is_lost in (False, True):
            reached = [i for i, me in enumerate(order) if (me < first_holder) == is_lost]
            journey = _Journey(
                frame,
                [order[i] for i in reached],
                [delays[i] for i in reached],
                sent_ns + is_lost * _FOUND_OUT_NS,
                is_lost=is_lost,
            )
            self._start(journey)
        self._run()
        spent_ns = self._repaired_ns - sent_ns
        return Outcome(self._requests, self._repairs, spent_ns, self._given_up)

    # What members do.

    def carry(self, sender: int, frame: Data | Request | Repair, now: Instant) -> None:
        """To all; a repair for one goes there alone."""
        order, delays = self._delays.in_order(sender)
        if isinstance(frame, Request):
            self._requests += 1
        elif isinstance(frame, Repair):
            self._repairs += 1
            if frame.to is not None:
                at = order.index(frame.to)
                order, delays = order[at : at + 1], delays[at : at + 1]
        self._start(_Journey(frame, order, delays, now))
        if (self._requests + self._repairs) % _TELL_EVERY == 0:
            seq, asked, answered = self._seq, self._requests, self._repairs
            self._tell(f"loss {seq}: {asked} requests and {answered} repairs so far")

    def on_end(self, now: Instant, *, is_repaired: bool) -> None:
        """One of the group waits no longer."""
        if is_repaired:
            self._repaired_ns = now
        else:
            self._given_up += 1

    # Time.

    def _run(self) -> None:
        """Until nobody waits for anything."""
        events = self._events
        while events:
            self._now, _, what = events[0]
            if isinstance(what, Member):
                heappop(events)
                if what.armed_at == self._now:
                    what.armed_at = None
                    what.wake(self._now)
                    self._arm(what)
                continue
            member = self._members[what.order[what.at]]
            what.at += 1
            if what.at < len(what.order):
                at = what.sent_ns + what.delays[what.at]
                heapreplace(events, (at, next(self._serial), what))
            else:
                heappop(events)
            self._reach(member, what)

    def _reach(self, member: Member, journey: _Journey) -> None:
        frame, now = journey.frame, self._now
        if member.me == _PUBLISHER and not (
            self._scene.publisher_answers and type(frame) is Request
        ):
            # It asks for none of its own messages, so no repair comes to it.
            return
        if isinstance(frame, Request):
            member.on_request(frame, now)
        elif isinstance(frame, Repair):
            member.on_repair(frame, now)
        elif journey.is_lost:
            member.lost(frame, now - _FOUND_OUT_NS, now)
        else:
            member.came(frame, now)
        self._arm(member)

    def _arm(self, member: Member) -> None:
        at = member.next_wakeup()
        if at is not None and (member.armed_at is None or at < member.armed_at):
            member.armed_at = at
            heappush(self._events, (at, next(self._serial), member))

    def _start(self, journey: _Journey) -> None:
        if journey.order:
            at = journey.sent_ns + journey.delays[0]
            heappush(self._events, (at, next(self._serial), journey))


def _data(seq: int, now: Instant) -> Data:
    return Data(
        pub=_PUBLISHER,
        epoch=0,
        seq=seq,
        send_ts_us=stamp_us(now),
        since_previous_100us=0,
        send_rate_mps=quantise_rate(1),
        max_round_trip_code=0,
        feedback_round=0,
        message=_MESSAGE,
    )
