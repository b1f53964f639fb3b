"""A durable subscription: a name, what it reads, and how far it has read each pubend.

Knows how it is stored. A cursor is the last tick that needs no reading any more: all before it was
acknowledged, or was silence.
"""

from __future__ import annotations

from typing import Final

import msgspec

from penstock.content.filter import Predicate
from penstock.guaranteed.disk import Disk, OnSaved
from penstock.kernel.instant import Instant
from penstock.wire.codec.filter import read_predicate, write_predicate
from penstock.wire.codec.reader import Reader as BytesReader

KEY: Final = "durable/"


class _Stored(msgspec.Struct, array_like=True):
    """What is on disk; add at the end."""

    streams: tuple[str, ...]
    predicate: bytes
    cursors: dict[int, int]
    attempts_max: int
    parks: bool
    expire_s: int
    is_marked: bool
    attempts: dict[int, tuple[int, int]]
    reserved: dict[int, int] = {}
    unread_since_ns: int = 0
    again: dict[int, int] = {}
    was_moved: bool = False


class Durable:
    """One name."""

    def __init__(
        self,
        name: str,
        *,
        streams: tuple[str, ...],
        predicate: Predicate,
        cursors: dict[int, int] | None = None,
    ) -> None:
        self.name: Final = name
        self.streams: Final = streams
        self.predicate = predicate
        self.cursors: Final = cursors or {}
        # As on disk: parents are told no more than this.
        self.saved_cursors: dict[int, int] = dict(self.cursors)
        self.attempts_max = 5
        self.parks = False
        self.expire_s = 0
        # Set while a client reads: still there after a crash, so messages may come again.
        self.is_marked = False
        # By pubend: a tick, and how often the message there was handed out.
        self.attempts: dict[int, tuple[int, int]] = {}
        # By pubend: no message at or above this tick was handed out; and the same as on disk.
        self.reserved: dict[int, int] = {}
        self.saved_reserved: dict[int, int] = {}
        # By pubend: a message before this tick may have been handed out in an earlier life of its
        # reader. Reconnecting changes nothing about that, so it is kept.
        self.again: dict[int, int] = {}
        # Since when nobody reads it, in Unix nanoseconds; 0 while somebody does.
        self.unread_since_ns = 0
        # Why its reading was ended, for people; "" if it was not.
        self.stopped = ""
        # Its cursor was moved, and no client has come without positions of its own since.
        self.was_moved = False
        # While it is moved, cursors do not follow what is read.
        self.is_moving = False
        # Whether all its pubends have been held: then `start` counts no more.
        self.is_placed = bool(self.cursors)
        self._is_deleted = False
        self._is_saving = False
        self._waiting: list[OnSaved] = []
        self._is_dirty = False

    @classmethod
    def restore(cls, name: str, value: bytes) -> Durable:
        """From what was saved."""
        stored = msgspec.msgpack.decode(value, type=_Stored, strict=False)
        durable = cls(
            name,
            streams=stored.streams,
            predicate=read_predicate(BytesReader(stored.predicate, 0)),
            cursors=stored.cursors,
        )
        durable.attempts_max = stored.attempts_max
        durable.parks = stored.parks
        durable.expire_s = stored.expire_s
        durable.is_marked = stored.is_marked
        durable.attempts = stored.attempts
        durable.reserved = stored.reserved
        durable.saved_reserved = dict(stored.reserved)
        durable.again = stored.again
        durable.was_moved = stored.was_moved
        durable.unread_since_ns = stored.unread_since_ns
        return durable

    def move(self, pubend: int, tick: int) -> None:
        """Somebody has moved its cursor: nothing that was handed out counts any more."""
        self.forget_pubend(pubend)
        self.cursors[pubend] = tick
        self.stopped = ""

    def forget_pubend(self, pubend: int) -> None:
        """What was read of a pubend counts no more."""
        for table in (self.cursors, self.reserved, self.again, self.attempts):
            table.pop(pubend, None)

    def delete(self, disk: Disk, then: OnSaved) -> None:
        """Takes it off the disk; it is never saved again, and who waits for that waits in vain."""
        self._is_deleted = True
        self._waiting.clear()
        disk.save(KEY + self.name, None, then)

    def save(self, disk: Disk, then: OnSaved | None = None) -> None:
        """Stores it; what comes while a save is under way goes into the next one."""
        if self._is_deleted:
            return
        if then is not None:
            self._waiting.append(then)
        self._is_dirty = True
        self._save_next(disk)

    def _save_next(self, disk: Disk) -> None:
        if self._is_saving or not self._is_dirty or self._is_deleted:
            return
        self._is_saving, self._is_dirty = True, False
        waiting, self._waiting = self._waiting, []
        cursors = dict(self.cursors)
        reserved = dict(self.reserved)

        def saved(now: Instant) -> None:
            self._is_saving = False
            self.saved_cursors = cursors
            self.saved_reserved = reserved
            for then in waiting:
                then(now)
            self._save_next(disk)

        stored = _Stored(
            streams=self.streams,
            predicate=write_predicate(self.predicate),
            cursors=cursors,
            attempts_max=self.attempts_max,
            parks=self.parks,
            expire_s=self.expire_s,
            is_marked=self.is_marked,
            attempts=self.attempts,
            reserved=reserved,
            unread_since_ns=self.unread_since_ns,
            again=self.again,
            was_moved=self.was_moved,
        )
        disk.save(KEY + self.name, msgspec.msgpack.encode(stored), saved)
