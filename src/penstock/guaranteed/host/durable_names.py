"""What is done with durable names: they are moved, forgotten, and expire."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from penstock.guaranteed.disk import Disk
from penstock.guaranteed.host.durable import Durable
from penstock.guaranteed.host.forgetting import Forgetting
from penstock.guaranteed.host.holds import Holds
from penstock.guaranteed.host.parking import Parking
from penstock.guaranteed.host.roster import Roster
from penstock.kernel.instant import SECOND, Instant
from penstock.kernel.machine import Port
from penstock.wire.frames.guaranteed.base import Start
from penstock.wire.frames.guaranteed.rows import Held
from penstock.wire.frames.guaranteed.subscription import Position

# The word of a refusal: the client comes again, without positions of its own.
MOVED: Final = "moved"


class _Move(msgspec.Struct, eq=False):
    """A cursor that is being moved: the pubends that have not answered, and what others said."""

    durable: Durable
    left: dict[int, None]
    then: Callable[[bool], None]
    ticks: dict[int, int] = {}


class DurableNames:
    """The durable names of one host."""

    def __init__(
        self,
        roster: Roster,
        holds: Holds,
        forgetting: Forgetting,
        parking: Parking,
        *,
        disk: Disk,
        pubends_of: Callable[[str], list[int]],
        on_moved: Callable[..., None],
        name_of: Callable[[Port], str],
        wall_ns: Callable[[Instant], int],
    ) -> None:
        self._roster: Final = roster
        self._holds: Final = holds
        self._forgetting: Final = forgetting
        self._parking: Final = parking
        self._disk: Final = disk
        self._pubends_of: Final = pubends_of
        self._on_moved: Final = on_moved
        self._moves: Final[list[_Move]] = []
        self._name_of: Final = name_of
        self._wall_ns: Final = wall_ns

    def reader_of(self, durable: str) -> tuple[str, int] | None:
        """Who reads a name, and since when in Unix nanoseconds."""
        reader = self._roster.reader_of.get(durable)
        return None if reader is None else (self._name_of(reader.port), reader.since_ns)

    def forget(self, name: str, *, now: Instant) -> bool:
        """Deletes a durable name, which frees its messages; False if there is none."""
        durable = self._roster.durables.get(name)
        if durable is None:
            return False
        reader = self._roster.reader_of.get(name)
        if reader is not None:
            text = f"durable {name!r} has been deleted: subscribe again to begin anew"
            reader.refuse("forgotten", text)
            self._roster.end(reader, is_clean=True, now=now)
        self.drop(durable)
        return True

    def drop(self, durable: Durable) -> None:
        """Takes a name that nobody reads off the disk, here and at the pubends."""
        self._roster.durables.pop(durable.name, None)
        for move in [move for move in self._moves if move.durable is durable]:
            self._moves.remove(move)
            move.then(False)
        held = dict.fromkeys([*durable.cursors, *self._holds.cancel(durable.name)])
        pubends = [pubend for pubend in held if pubend in self._roster.readings]
        release = self._forgetting.note(durable.name, pubends)
        self._parking.forget(durable.name)
        durable.delete(self._disk, release)

    def forget_expired(self, *, now: Instant) -> None:
        """Forgets the names that nobody has read for as long as they were to be kept."""
        for name, durable in list(self._roster.durables.items()):
            if not durable.expire_s or name in self._roster.reader_of:
                continue
            if not durable.unread_since_ns:
                # Its reader was there when this broker crashed.
                durable.unread_since_ns = self._wall_ns(now)
                durable.save(self._disk)
            elif self._wall_ns(now) - durable.unread_since_ns >= durable.expire_s * SECOND:
                self.forget(name, now=now)

    def is_moving(self, name: str) -> bool:
        """Whether its cursor is just being moved: nobody can attach until it is."""
        durable = self._roster.durables.get(name)
        return durable is not None and durable.is_moving

    def seek(self, name: str, start: Start, *, then: Callable[[bool], None], now: Instant) -> None:
        """Moves a cursor; `then` is told when that is on disk, or that there is no such name.

        Where a client believes to be counts no more: one that reads is sent away, and one that
        comes with positions of its own too. Both come again without, and go on where the cursor is.
        """
        durable = self._roster.durables.get(name)
        if durable is None:
            then(False)
            return
        pubends = [p for stream in durable.streams for p in self._pubends_of(stream)]
        move = _Move(durable, dict.fromkeys(pubends), then)
        self._moves.append(move)
        for pubend in pubends:
            self._holds.ask(
                pubend,
                name,
                start,
                keep=True,
                then=lambda frame, _now: self._on_held(move, frame),
                now=now,
            )
        self._finish_if_held(move)

    def pubend_gone(self, pubend: int) -> None:
        """Nobody will answer for a pubend any more."""
        for move in list(self._moves):
            if move.left.pop(pubend, self) is not self:
                self._finish_if_held(move)

    def _on_held(self, move: _Move, frame: Held) -> None:
        if move not in self._moves:
            return
        move.left.pop(frame.pubend, None)
        move.ticks[frame.pubend] = frame.tick
        # From now on the pubend keeps what lies behind this: no cursor may say otherwise.
        move.durable.is_moving = True
        move.durable.cursors[frame.pubend] = frame.tick
        self._finish_if_held(move)

    def _finish_if_held(self, move: _Move) -> None:
        if move.left:
            return
        durable = move.durable
        if self._roster.durables.get(durable.name) is not durable:
            self._moves.remove(move)
            move.then(False)
            return
        durable.is_moving = durable.was_moved = True
        durable.save(self._disk, lambda at: self._moved(move, at))

    def _moved(self, move: _Move, now: Instant) -> None:
        """The new cursors are on disk, unless the name was forgotten meanwhile."""
        if move not in self._moves:
            return
        self._moves.remove(move)
        durable = move.durable
        reader = self._roster.reader_of.get(durable.name)
        if reader is not None:
            reader.refuse(MOVED, f"durable {durable.name!r} was moved: read on from there")
            self._roster.end(reader, is_clean=True, now=now)
        for pubend, tick in move.ticks.items():
            durable.move(pubend, tick)
        durable.is_moving = any(other.durable is durable for other in self._moves)
        durable.save(self._disk)
        move.then(True)
        self._on_moved(now=now)

    def retry_parked(self, name: str, position: Position) -> str | None:
        """Hands a parked message to the reader once more; returns why not, as one word."""
        reader, parked = self._roster.reader_of.get(name), self._parking.find(name, position)
        if parked is None:
            return "unknown"
        if reader is None:
            return "unread"
        if position not in reader.retried and parked not in reader.retries:
            reader.retries.append(parked)
            reader.retry_parked()
        return None
