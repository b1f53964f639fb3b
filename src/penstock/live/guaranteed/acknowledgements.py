"""What a program has in hand, what it has dealt with, and what the host has stored of that.

Within a pubend the last position says all: one frame acknowledges everything that was taken since
the program last let others run. A parked message that came once more is acknowledged by itself.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from penstock.api.errors import ClosedError, UnreachableError
from penstock.live.guaranteed.client_link import ClientLink
from penstock.wire.frames.guaranteed.subscription import Position


class _Waiting(NamedTuple):
    """Somebody waits until a position is stored; of a parked message exactly that one."""

    position: Position
    is_exact: bool
    future: asyncio.Future[None]


class Acknowledgements:
    """Of one subscription; with `acks_next`, asking for the next acknowledges what is in hand."""

    def __init__(self, link: ClientLink, subscription: int, *, acks_next: bool) -> None:
        # How many messages have been dealt with.
        self.acknowledged = 0
        self._link: Final = link
        self._subscription: Final = subscription
        self._acks_next: Final = acks_next
        # By pubend: the ticks that were handed over and are not acknowledged, rising.
        self._in_hand: Final[dict[int, deque[int]]] = {}
        self._retried: Final[dict[Position, None]] = {}
        self._has_in_hand = False
        # To be said when the program lets others run.
        self._unsaid: Final[dict[int, int]] = {}
        self._unsaid_retried: Final[list[Position]] = []
        self._is_scheduled = False
        self._said: Final[dict[int, int]] = {}
        self._stored: Final[dict[int, int]] = {}
        self._waiting: list[_Waiting] = []

    @property
    def has_unacknowledged(self) -> bool:
        """Whether the program has something that it has not dealt with."""
        return bool(self._retried) or any(self._in_hand.values())

    # What the program gets and asks for

    def handed_over(self, pubend: int, tick: int) -> None:
        """A message is in the hands of the program, or the end of a gap."""
        ticks = self._in_hand.get(pubend)
        if ticks is None:
            ticks = self._in_hand[pubend] = deque()
        ticks.append(tick)
        self._has_in_hand = True

    def handed_over_again(self, pubend: int, tick: int) -> None:
        """A parked message is in the hands of the program."""
        self._retried[Position(pubend, tick)] = None
        self._has_in_hand = True

    def next_is_asked_for(self) -> None:
        """What is in hand has been dealt with, unless that is to be said by hand."""
        if not self._has_in_hand or not self._acks_next:
            return
        self._has_in_hand = False
        for pubend, ticks in self._in_hand.items():
            if ticks:
                self._unsaid[pubend] = ticks[-1]
                self.acknowledged += len(ticks)
                ticks.clear()
        if self._retried:
            self._unsaid_retried.extend(self._retried)
            self.acknowledged += len(self._retried)
            self._retried.clear()
        if not self._is_scheduled:
            self._is_scheduled = True
            self._link.call_soon(self.send)

    async def acknowledge(self, position: Position) -> None:
        """This message and all before it have been dealt with; returns when that is stored."""
        pubend, tick = position
        is_exact = self._link.is_retried(self._subscription, pubend, tick)
        if is_exact:
            self._retried.pop(position, None)
            self.acknowledged += 1
        else:
            self._forget_up_to(pubend, tick)
            self._said[pubend] = max(tick, self._said.get(pubend, tick))
        # One that was handed over before somebody moved the cursor does not count.
        if self._link.acknowledge(self._subscription, [position]):
            await self._wait_for(position, is_exact=is_exact)

    def forget_behind(self, positions: Mapping[int, int]) -> None:
        """What was handed over behind these positions comes again: it is not dealt with."""
        for said in (self._unsaid, self._said):
            for pubend, tick in said.items():
                said[pubend] = min(tick, positions.get(pubend, tick))
        for pubend, ticks in self._in_hand.items():
            while ticks and ticks[-1] > positions.get(pubend, ticks[-1]):
                ticks.pop()

    def begin_anew(self) -> None:
        """Somebody has moved the cursor: nothing that was handed over counts any more."""
        for table in (self._in_hand, self._retried, self._unsaid, self._said, self._stored):
            table.clear()
        self._unsaid_retried.clear()
        for waiting in self._waiting:
            if not waiting.future.done():
                waiting.future.set_result(None)
        self._waiting.clear()

    def forget(self, position: Position) -> None:
        """A parked message has failed once more: it stays parked."""
        self._retried.pop(position, None)

    # What is said and stored

    def send(self) -> None:
        """Says what has been dealt with."""
        self._is_scheduled = False
        if self._unsaid or self._unsaid_retried:
            self._said.update(self._unsaid)
            positions = [Position(*each) for each in self._unsaid.items()] + self._unsaid_retried
            self._unsaid.clear()
            self._unsaid_retried.clear()
            self._link.acknowledge(self._subscription, positions, is_awaited=False)

    def on_stored(self, positions: Iterable[Position]) -> None:
        """The host has stored these positions."""
        exactly = set(positions)
        for pubend, tick in exactly:
            self._stored[pubend] = max(tick, self._stored.get(pubend, tick))
        left: list[_Waiting] = []
        for waiting in self._waiting:
            pubend, tick = waiting.position
            is_stored = (
                waiting.position in exactly
                if waiting.is_exact
                else tick <= self._stored.get(pubend, -1)
            )
            if not is_stored:
                left.append(waiting)
            elif not waiting.future.done():
                waiting.future.set_result(None)
        self._waiting = left

    def on_disconnected(self) -> None:
        """Positions are said again on the next connection; of parked messages nobody knows."""
        for waiting in self._waiting:
            if waiting.is_exact and not waiting.future.done():
                waiting.future.set_exception(
                    UnreachableError(
                        "the connection was lost before this acknowledgement was stored:"
                        " see whether parked() still has the message"
                    )
                )

    async def finish(self) -> None:
        """A normal end: acknowledges what is in hand, and waits until all that is stored."""
        self.next_is_asked_for()
        self.send()
        for pubend, tick in list(self._said.items()):
            if tick > self._stored.get(pubend, -1) and self._link.is_connected:
                # It was said, but nobody waited for it then.
                await self.acknowledge(Position(pubend, tick))

    def end(self) -> None:
        """Nothing more is stored."""
        for waiting in self._waiting:
            if not waiting.future.done():
                waiting.future.set_exception(
                    ClosedError("the subscription has ended before this was stored")
                )
        self._waiting.clear()

    # How it does it

    def _forget_up_to(self, pubend: int, tick: int) -> None:
        ticks = self._in_hand.get(pubend)
        while ticks and ticks[0] <= tick:
            ticks.popleft()
            self.acknowledged += 1

    async def _wait_for(self, position: Position, *, is_exact: bool) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(position, is_exact, future))
        await future
