"""A subscription of a client, across connections: how far it has come, and what the host knows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from penstock.content.filter import Predicate
from penstock.guaranteed.client.facts import Received
from penstock.wire.frames.guaranteed.base import Start
from penstock.wire.frames.guaranteed.subscription import (
    Attach,
    AttachFlags,
    Fail,
    GapNotice,
    HandOut,
    Position,
)


class SubscriptionOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What to read, and how."""

    streams: tuple[str, ...]
    predicate: Predicate
    durable: str = ""
    start: Start
    flags: AttachFlags = AttachFlags.NONE
    attempts_max: int = 5
    expire_s: int = 0
    # Where to go on, as a checkpoint of the application says.
    positions: tuple[Position, ...] = ()
    window_messages: int = 1_000
    window_bytes: int = 4_000_000


class ClientSubscription:
    """One subscription; knows nothing of connections but what has to be said on the next one."""

    def __init__(self, number: int, options: SubscriptionOptions) -> None:
        self.number: Final = number
        self.options: Final = options
        # The last tick that was handed over, by pubend.
        self.positions: Final[dict[int, int]] = dict(options.positions)
        self.was_open = False
        # ATTACH has been sent and not answered: an ATTACHED without it says where reading goes on.
        self.is_attaching = False
        # By pubend: a message that failed. All that comes before the host has heard of it is old.
        self.failed: Final[dict[int, Fail]] = {}
        # A checkpoint of the application says what it has dealt with.
        self._acknowledged: Final[dict[int, int]] = dict(options.positions)
        # Parked messages that came once more, below the position.
        self.retried: Final[dict[Position, None]] = {}
        # What the application has not taken yet; what it has taken since the last CREDIT.
        self._untaken_messages = 0
        self._untaken_bytes = 0
        self._taken_messages = 0
        self._taken_bytes = 0

    # What is said on a connection

    def attach(self) -> Attach:
        """What to say first on a connection."""
        options = self.options
        self.is_attaching = True
        # Whoever was here before on its behalf is an older connection of this client.
        flags = options.flags | AttachFlags.TAKEOVER if self.was_open else options.flags
        return Attach(
            subscription=self.number,
            durable=options.durable,
            streams=options.streams,
            predicate=options.predicate,
            start=options.start,
            flags=flags,
            attempts_max=options.attempts_max,
            expire_s=options.expire_s,
            positions=_positions(self.positions),
        )

    def whole_credit(self) -> tuple[int, int]:
        """How many messages and bytes there is room for: what to grant on a new connection."""
        self._taken_messages = self._taken_bytes = 0
        options = self.options
        return (
            max(0, options.window_messages - self._untaken_messages),
            max(0, options.window_bytes - self._untaken_bytes),
        )

    def acknowledgements(self) -> tuple[Position, ...]:
        """All that was dealt with: the last connection may not have said it."""
        return _positions(self._acknowledged)

    # What the application does

    def acknowledge(self, positions: Sequence[Position]) -> tuple[Position, ...]:
        """Everything up to these positions has been dealt with; returns those that count.

        A message that was parked is dealt with by itself.
        """
        counted: list[Position] = []
        for position in positions:
            if position in self.retried:
                del self.retried[position]
            else:
                pubend, tick = position
                if tick > self.positions.get(pubend, -1):
                    # It came before the cursor was moved back.
                    continue
                self._acknowledged[pubend] = max(tick, self._acknowledged.get(pubend, 0))
            counted.append(position)
        return tuple(counted)

    def take(self, messages: int, size_bytes: int) -> tuple[int, int] | None:
        """The application has taken so much; returns what may be granted anew, if it is due."""
        self._untaken_messages -= messages
        self._untaken_bytes -= size_bytes
        self._taken_messages += messages
        self._taken_bytes += size_bytes
        if (
            2 * self._taken_messages < self.options.window_messages
            and 2 * self._taken_bytes < self.options.window_bytes
        ):
            return None
        due = self._taken_messages, self._taken_bytes
        self._taken_messages = self._taken_bytes = 0
        return due

    def fail(self, position: Position, reason: str) -> Fail:
        """A message cannot be dealt with; returns what the host has to hear."""
        pubend, tick = position
        failure = Fail(subscription=self.number, pubend=pubend, tick=tick, reason=reason)
        if position in self.retried:
            del self.retried[position]
        else:
            # Repeated on the next connection, until the host says where it goes on. Of several the
            # first says all: those behind it come again anyway.
            earlier = self.failed.get(pubend)
            if earlier is None or tick < earlier.tick:
                self.failed[pubend] = failure
        return failure

    # What the host says

    def admit(self, frame: HandOut) -> list[Received]:
        """The messages that are new to the application."""
        self._untaken_messages += len(frame.bodies)
        self._untaken_bytes += sum(map(len, frame.bodies))
        pubend, ticks, attempt = frame.pubend, frame.ticks, frame.attempt
        if self.failed and pubend in self.failed:
            return []
        position = self.positions.get(pubend, -1)
        number = self.number
        if ticks[-1] > position:
            self.positions[pubend] = ticks[-1]
        messages = [
            Received(number, pubend, tick, published_ns, attempt, body)
            for tick, published_ns, body in zip(
                ticks, frame.published_ns, frame.bodies, strict=True
            )
        ]
        if ticks[0] > position:
            return messages
        if attempt == 1:
            return [message for message in messages if message.tick > position]
        for tick in ticks:
            if tick <= position:
                self.retried[Position(pubend, tick)] = None
        return messages

    def admits_gap(self, frame: GapNotice) -> int | None:
        """The first tick of a gap that is new to the application; None for one that is not."""
        position = self.positions.get(frame.pubend, -1)
        if frame.pubend in self.failed or frame.stop - 1 <= position:
            return None
        self.positions[frame.pubend] = frame.stop - 1
        return max(frame.start, position + 1)

    def opened_at(self, positions: Iterable[Position]) -> None:
        """The host has attached it; where the client was already wins."""
        self.is_attaching = False
        self.was_open = True
        for pubend, tick in positions:
            self.positions.setdefault(pubend, tick)

    def went_back_to(self, positions: Iterable[Position]) -> None:
        """The host has heard that a message has failed: reading goes on before it."""
        if self.failed:
            del self.failed[next(iter(self.failed))]
        self.positions.update(positions)

    def begin_anew(self) -> None:
        """Somebody has moved the cursor: nothing that was handed over counts any more."""
        for table in (self.positions, self._acknowledged, self.failed, self.retried):
            table.clear()
        self._untaken_messages = self._untaken_bytes = 0


def _positions(ticks: dict[int, int]) -> tuple[Position, ...]:
    return tuple(Position(*each) for each in ticks.items())
