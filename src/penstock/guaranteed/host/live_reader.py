"""Reader 0 of a pubend: it follows the link, and is what pubend and parents hear of this host.

Puts together whether it recovers, how fast it is, what it asks for and in whose name, and whether
its link is to carry new messages. Each of these is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from penstock.content.filter import Predicate
from penstock.guaranteed.host.congestion_answers import Standing, congestion_answers
from penstock.guaranteed.host.filtered_repair import FilteredRepair
from penstock.guaranteed.host.live_switch import LiveSwitch
from penstock.guaranteed.host.reader import Decided, Reader
from penstock.guaranteed.host.reader_numbers import ReaderNumbers
from penstock.guaranteed.host.recovery_state import RecoveryState
from penstock.guaranteed.host.throughput import Throughput
from penstock.guaranteed.run import Run
from penstock.guaranteed.settings import CongestionSettings, HostSettings
from penstock.guaranteed.tick import TICKS_PER_MS, duration_ticks
from penstock.kernel.instant import Instant, earliest
from penstock.wire.frames.guaranteed.base import BrokerFrame
from penstock.wire.frames.guaranteed.congestion import CongestionQuery, Live
from penstock.wire.frames.guaranteed.knowledge import Gap, Horizon
from penstock.wire.frames.guaranteed.requests import Nack


class _Query(NamedTuple):
    """What was asked, whether anybody reads, and when it came."""

    query: CongestionQuery
    is_attached: bool
    at: Instant


class LiveReader:
    """Of one pubend at one host; `wanted` is what all that read here want together."""

    def __init__(
        self,
        pubend: int,
        host: str,
        begins_at: int,
        *,
        settings: HostSettings,
        congestion: CongestionSettings,
        numbers: ReaderNumbers,
        ask: Callable[[BrokerFrame], None],
        wanted: Callable[[], Predicate],
        now: Instant,
    ) -> None:
        self.reader: Final = Reader(0, begins_at, settings=settings, congestion=congestion)
        self.repair: Final = FilteredRepair(pubend, host, numbers=numbers, ask=ask)
        self._pubend: Final = pubend
        self._congestion: Final = congestion
        self._ask: Final = ask
        self._wanted: Final = wanted
        window = duration_ticks(settings.receive_window_ns)
        self._recovery: Final = RecoveryState(window)
        self._switch: Final = LiveSwitch(window)
        self._throughput: Final = Throughput(begins_at, now=now)
        self._answers: Final = congestion_answers(congestion, host)
        self._answers.begin(self._upto, now=now)
        # A query that is not answered yet.
        self._query: _Query | None = None
        # The last tick that the pubend has decided, as far as it has told hosts.
        self._newest = -1
        # Whether the link has said anything since it came up.
        self._is_linked = True
        # No later tick was asked for in everybody's name.
        self._shared_to = 0

    # What others may know

    @property
    def doubt(self) -> int:
        """The first tick in doubt."""
        return self.reader.doubt

    @property
    def is_recovering(self) -> bool:
        """Whether it is too far behind to keep what is new."""
        return self._recovery.is_recovering

    @property
    def is_live_on(self) -> bool:
        """Whether its link is to carry new messages."""
        return self._switch.is_on

    @property
    def is_linked(self) -> bool:
        """Whether the link has said anything since it came up."""
        return self._is_linked

    @property
    def rate(self) -> float:
        """How fast its doubt horizon moves: stream time by time, smoothed."""
        return self._throughput.rate

    @property
    def window_ms(self) -> int:
        """How far ahead of its doubt horizon it asks for repairs, in stream time."""
        return self.reader.requests.window.size // TICKS_PER_MS

    @property
    def is_idle(self) -> bool:
        """Whether nothing is in doubt, and nothing left of a recovery."""
        reader = self.reader
        return (
            reader.requests.is_idle
            and not reader.in_doubt()
            and not self.is_recovering
            and self.is_live_on
            and not self.repair.is_registered
        )

    @property
    def _upto(self) -> int:
        """Up to which tick all is known."""
        return max(0, self.doubt - 1)

    # What the link says

    def learn(self, said: Run | Gap | Horizon, *, now: Instant) -> Sequence[Decided]:
        """Takes what the link says; returns what has thereby come out of doubt, in order."""
        reader = self.reader
        self._throughput.observe(reader.doubt, now=now)
        evidence, ignored = reader.evidence, reader.ignored
        decided = reader.learn(said)
        if not isinstance(said, Horizon) and said.reader is not None:
            self.repair.answered(said.stop)
        if not self._is_linked and reader.evidence > evidence:
            self._linked(now)
        if reader.ignored > ignored:
            self._begin_recovery()
            self._recovery.ignored(now=now)
        if self.is_recovering or self._recovery.is_beyond(reader.doubt, reader.evidence):
            self._review(now)
        if self._query is not None:
            self._answer_query(now)
        return decided

    def on_query(self, query: CongestionQuery, *, is_attached: bool, now: Instant) -> None:
        """DCQ: how far the pubend is; what lies between is no gap, it may be on its way."""
        self._throughput.observe(self.doubt, now=now)
        # Not the largest: a log that was restored is behind what it has said before.
        self._newest = query.newest
        if self.is_recovering:
            self._review(now)
        self._query = _Query(query, is_attached, now)
        self._answer_query(now)

    def _answer_query(self, now: Instant) -> None:
        """Answers once it has all that the query speaks of, or has waited long enough for it."""
        asked = self._query
        if asked is None:
            return
        waits = self._upto < asked.query.newest and not self.is_recovering
        if waits and now < asked.at + self._answers.wait_ns:
            return
        self._query = None
        standing = Standing(
            upto=self._upto,
            is_recovering=self.is_recovering,
            rate=self.rate,
            is_attached=asked.is_attached,
            is_linked=self._is_linked,
            waited_ns=now - asked.at,
        )
        answer = self._answers.answer(asked.query, standing, now=now)
        if answer is not None:
            self._ask(answer)

    def link_lost(self) -> None:
        """Requests are lost, and LIVE is on again at both ends; what is known stays known."""
        self.reader.requests.clear()
        if self._congestion.rate_law != "literal":
            # The paper knows no links: to it, one that is down is a slow one.
            self._throughput.pause()
        self._is_linked = False
        self._query = None
        if self._switch.reset():
            # The relay of this broker is still there.
            self._tell_live()

    def _linked(self, now: Instant) -> None:
        self._is_linked = True
        if self._congestion.rate_law != "literal":
            self._throughput.resume(self.doubt, now=now)
        self._answers.begin(self._upto, now=now)

    # Who reads here

    def widen(self, *, now: Instant) -> None:
        """Somebody else reads here: answers that are under way leave out what it wants."""
        if self.repair.is_registered and self.repair.widen(self._wanted()):
            self.reader.requests.clear()
            self.request(now=now)

    def close(self) -> None:
        """Nobody reads, and everything is forgotten."""
        self.repair.close()
        if self._switch.reset():
            self._tell_live()

    # The recovery

    def _review(self, now: Instant) -> None:
        """Begins or ends a recovery, and turns LIVE."""
        doubt, evidence = self.reader.doubt, self.reader.evidence
        newest = max(self._newest + 1, evidence)
        if self._recovery.is_beyond(doubt, evidence):
            self._begin_recovery()
        was_recovering = self.is_recovering
        self._recovery.review(doubt, newest, now=now)
        if was_recovering and not self.is_recovering:
            self.reader.requests.end_recovery()
            self.repair.end()
            self._close_repair()
        # Before a link has spoken it may be down; what is said now would be lost.
        may_turn = self._congestion.live and self._is_linked
        if may_turn and self._switch.turn(newest - doubt, is_recovering=self.is_recovering):
            self._tell_live()

    def _begin_recovery(self) -> None:
        if self.is_recovering:
            return
        self._recovery.begin()
        self.reader.requests.begin_recovery()
        if self._congestion.rate_law == "corrected":
            # Else it would complain for what it was before it could recover.
            rate = self._congestion.rate
            self._throughput.restart(1 + rate.recovery_gain if rate.recovers_afresh else 1)
        if self._congestion.filtered_repair:
            self.repair.begin(self._wanted())

    def _tell_live(self) -> None:
        self._ask(Live(pubend=self._pubend, is_on=self._switch.is_on))

    # What is asked for

    def request(self, *, now: Instant) -> None:
        """Asks for what is in doubt, within the window."""
        ranges = self.reader.to_ask(now=now)
        name = self.repair.reader
        # What was asked for in everybody's name stays so: relays wait for the answer.
        shared = tuple(r for r in ranges if name is None or r.start < self._shared_to)
        if shared:
            self._shared_to = max(self._shared_to, shared[-1].stop)
            self._ask(Nack(pubend=self._pubend, ranges=shared))
        if len(shared) < len(ranges):
            own = ranges[len(shared) :]
            self._ask(Nack(pubend=self._pubend, ranges=own, reader=name))
        self._close_repair()

    def _close_repair(self) -> None:
        """Its name goes once nothing is asked for in it."""
        if self.repair.is_ending and self.reader.requests.is_idle:
            self.repair.close()

    def forgotten(self, *, now: Instant) -> None:
        """The pubend does not know the name that repairs were asked for in."""
        self.repair.register_again()
        self.reader.requests.clear()
        self.request(now=now)

    def wake(self, *, now: Instant) -> None:
        """Ends a recovery, and asks again for what has not come."""
        ends_at, asks_at = self._recovery.ends_at, self.reader.requests.next_wakeup()
        if ends_at is not None and ends_at <= now:
            self._review(now)
        if asks_at is not None and asks_at <= now:
            self.request(now=now)
        self._answer_query(now)

    def next_wakeup(self) -> Instant | None:
        """The next request to repeat, the end of a recovery, or an answer that has waited."""
        first = self.reader.requests.next_wakeup()
        ends_at = self._recovery.ends_at
        if ends_at is not None and (first is None or ends_at < first):
            first = ends_at
        if self._query is not None:
            first = earliest(first, self._query.at + self._answers.wait_ns)
        return first
