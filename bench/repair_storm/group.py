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
LITERAL_WITH_PUBLISHER: Final = replace(LITERAL, publisher_answers=True)

_ROUTERS: Final = 100
_NEAR_NS: Final = 5 * MILLISECOND
_FAR_NS: Final = 200 * MILLISECOND
_STAR_NS: Final = 100 * MILLISECOND
_BETWEEN_NS: Final = 5 * SECOND
# By then what comes after a lost message has come, and told of it.
_DETECTED_AFTER_NS: Final = 50 * MILLISECOND
_PUBLISHER: Final = 0
# Among ten thousand, so many frames take about a second.
_PROGRESS_EVERY: Final = 20
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
class StormCase:
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
        near_ns = _STAR_NS if is_star else _NEAR_NS
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

    def __init__(
        self, endpoint_id: int, group: StormGroup, settings: RecoverySettings, seeds: Seeds
    ) -> None:
        self.endpoint_id: Final = endpoint_id
        self._group: Final = group
        self._message_ids: Final[set[MessageId]] = set()
        self.armed_at: Instant | None = None
        draw = seeds.rng("member", str(endpoint_id)).random
        self._distances: Final = PeerDistances(settings.distance_ns)
        self._cache: Final = RepairCache(settings.cache)
        self._requester: Final = Requester(
            endpoint_id,
            settings,
            self._distances,
            bloom_bytes=_ENCODER.params.m + 7 >> 3,
            draw=draw,
            send=self._send,
            give_up=self._give_up,
        )
        self._repairer: Final = Repairer(
            endpoint_id,
            settings,
            lambda _pub: self._cache,
            self._distances,
            draw=draw,
            send=self._send,
        )

    def on_data(self, frame: Data, now: Instant) -> None:
        """Keeps what it gets, or publishes."""
        self._message_ids.add(frame.id)
        self._cache.put(frame, now=now)

    def on_lost(self, frame: Data, expected_ns: Instant, now: Instant) -> None:
        """What came after it tells that it was sent, and will not come."""
        self._distances.on_hint(frame.pub, expected_ns - frame.send_ts_us * MICROSECOND)
        self._requester.request(frame.id, _BITS, expected_ns, now)

    def on_request(self, request: Request, now: Instant) -> None:
        """Somebody lost something."""
        self._distances.on_peer(request.requester)
        self._requester.on_request(request, now)
        if request.id in self._message_ids:
            self._repairer.on_request(request, now)

    def on_repair(self, repair: Repair, now: Instant) -> None:
        """Somebody had it."""
        original = repair.original
        if repair.requester == self.endpoint_id:
            hold_ns = delta_ns(repair.hold_100us)
            self._distances.on_echo(repair.repairer, repair.echo_ts_us, hold_ns, now=now)
            self._requester.on_repair(original.pub, repair.repairer)
        self._repairer.on_repair(repair, now)
        if self._resolve(original.id, now, is_repaired=True):
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
        request_at, repair_at = (
            self._requester.timers.next_wakeup(),
            self._repairer.timers.next_wakeup(),
        )
        if request_at is None or repair_at is None:
            return repair_at if request_at is None else request_at
        return min(request_at, repair_at)

    def _send(self, frame: Request | Repair, now: Instant) -> bool:
        self._group.carry(self.endpoint_id, frame, now)
        return True

    def _give_up(self, id_: MessageId, now: Instant) -> None:
        self._resolve(id_, now, is_repaired=False)

    def _resolve(self, id_: MessageId, now: Instant, *, is_repaired: bool) -> bool:
        if id_ in self._message_ids:
            return False
        self._message_ids.add(id_)
        self._group.on_resolved(now, is_repaired=is_repaired)
        return True


class _FrameInFlight:
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


class StormGroup:
    """All members and one clock; `lose` is one message that half of them never get."""

    def __init__(
        self,
        case: StormCase,
        seeds: Seeds,
        *,
        on_progress: Callable[[str], None] = lambda _said: None,
    ) -> None:
        self._case: Final = case
        self._on_progress: Final = on_progress
        members = 1 + case.size + case.holders
        self._delays: Final = Delays(members, seeds, is_star=case.is_star)
        self._members: Final = [
            Member(endpoint_id, self, case.settings, seeds) for endpoint_id in range(members)
        ]
        self._now: Instant = SECOND
        self._seq = 0
        self._serial: Final = count()
        # What happens next: a frame that reaches another member, or one that is to be woken.
        self._events: Final[list[tuple[Instant, int, _FrameInFlight | Member]]] = []
        self._requests = self._repairs = self._given_up = 0
        self._repaired_ns: Instant = 0

    def losses(self, count: int) -> Iterator[Outcome]:
        """One after another."""
        for _ in range(count):
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
        if self._case.publisher_answers:
            self._members[_PUBLISHER].on_data(frame, sent_ns)
        first_holder = 1 + self._case.size
        for is_lost in (False, True):
            reached = [
                i for i, endpoint_id in enumerate(order) if (endpoint_id < first_holder) == is_lost
            ]
            flight = _FrameInFlight(
                frame,
                [order[i] for i in reached],
                [delays[i] for i in reached],
                sent_ns + is_lost * _DETECTED_AFTER_NS,
                is_lost=is_lost,
            )
            self._send(flight)
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
        self._send(_FrameInFlight(frame, order, delays, now))
        if (self._requests + self._repairs) % _PROGRESS_EVERY == 0:
            seq, requests, repairs = self._seq, self._requests, self._repairs
            self._on_progress(f"loss {seq}: {requests} requests and {repairs} repairs so far")

    def on_resolved(self, now: Instant, *, is_repaired: bool) -> None:
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
            self._now, _, event = events[0]
            if isinstance(event, Member):
                heappop(events)
                if event.armed_at == self._now:
                    event.armed_at = None
                    event.wake(self._now)
                    self._arm(event)
                continue
            member = self._members[event.order[event.at]]
            event.at += 1
            if event.at < len(event.order):
                at = event.sent_ns + event.delays[event.at]
                heapreplace(events, (at, next(self._serial), event))
            else:
                heappop(events)
            self._reach(member, event)

    def _reach(self, member: Member, flight: _FrameInFlight) -> None:
        frame, now = flight.frame, self._now
        if member.endpoint_id == _PUBLISHER and not (
            self._case.publisher_answers and type(frame) is Request
        ):
            # It asks for none of its own messages, so no repair comes to it.
            return
        if isinstance(frame, Request):
            member.on_request(frame, now)
        elif isinstance(frame, Repair):
            member.on_repair(frame, now)
        elif flight.is_lost:
            member.on_lost(frame, now - _DETECTED_AFTER_NS, now)
        else:
            member.on_data(frame, now)
        self._arm(member)

    def _arm(self, member: Member) -> None:
        at = member.next_wakeup()
        if at is not None and (member.armed_at is None or at < member.armed_at):
            member.armed_at = at
            heappush(self._events, (at, next(self._serial), member))

    def _send(self, flight: _FrameInFlight) -> None:
        if flight.order:
            at = flight.sent_ns + flight.delays[0]
            heappush(self._events, (at, next(self._serial), flight))


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
