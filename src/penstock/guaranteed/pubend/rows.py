"""How far each host has read a pubend: one row per host, which keeps the log from being trimmed.

A HOLD creates or lowers a row, an ACK raises it. An ACK that was sent before the host's last HOLD
says nothing about what that one holds, so it is ignored: its serial is older.
"""

from __future__ import annotations

from typing import Final

import msgspec

from penstock.guaranteed.disk import Disk, OnSaved
from penstock.kernel.instant import Instant
from penstock.wire.frames.guaranteed.base import WITHDRAWN, Serial
from penstock.wire.frames.guaranteed.rows import HostAck

_NEVER: Final = Serial(0, 0)


class Row(msgspec.Struct):
    """One host has read everything up to and including `tick`."""

    tick: int
    # Of its last HOLD.
    serial: Serial
    # When the row moved last, in Unix nanoseconds.
    since_ns: int
    # As on disk; the log is trimmed by this.
    saved_tick: int = 0


class Rows:
    """The rows of one pubend, and which host each durable name belongs to."""

    def __init__(self, key: str, disk: Disk) -> None:
        self.by_host: Final[dict[str, Row]] = {}
        self.host_of: Final[dict[str, str]] = {}
        # The last HOLD of each name.
        self._held_by: Final[dict[str, Serial]] = {}
        # What hosts without a row have said last: acknowledgements of before mean nothing.
        self._withdrawn: Final[dict[str, Serial]] = {}
        self._key: Final = key
        self._disk: Final = disk
        self._unsaved: Final[dict[str, None]] = {}

    def restore(self, stored: dict[str, bytes]) -> None:
        """Takes up what was saved, by key behind that of these rows."""
        for key, value in stored.items():
            kind, _, name = key.partition("/")
            if kind == "row":
                tick, serial, since_ns = msgspec.msgpack.decode(
                    value, type=tuple[int, tuple[int, int], int]
                )
                self.by_host[name] = Row(tick, Serial(*serial), since_ns, saved_tick=tick)
            elif kind == "owner":
                host, serial = msgspec.msgpack.decode(value, type=tuple[str, tuple[int, int]])
                self.host_of[name], self._held_by[name] = host, Serial(*serial)

    def lowest(self) -> tuple[str, Row] | None:
        """The host that is furthest behind."""
        return min(self.by_host.items(), key=lambda item: item[1].tick, default=None)

    def trim_limit(self) -> int | None:
        """The tick up to which nobody needs anything, as far as the disk knows; None: no rows."""
        return min((row.saved_tick for row in self.by_host.values()), default=None)

    def hold(
        self, host: str, serial: Serial, durable: str, tick: int, *, wall_ns: int, then: OnSaved
    ) -> None:
        """Keeps everything above `tick` for a host; `then` is called when that is on disk."""
        row = self.by_host.get(host)
        if row is None:
            row = self.by_host[host] = Row(tick, serial, wall_ns, saved_tick=tick)
        elif tick < row.tick:
            row.tick, row.since_ns = tick, wall_ns
        row.saved_tick = min(row.saved_tick, row.tick)
        row.serial = max(row.serial, serial)
        if durable and serial > self._held_by.get(durable, _NEVER):
            self.host_of[durable], self._held_by[durable] = host, serial
            self._save_owner(durable, None)
        self._save(host, row, then)

    def acknowledge(self, entry: HostAck, *, wall_ns: int) -> None:
        """Raises or takes away a row; what is overtaken is ignored.

        A host that was forgotten by mistake is heard of again: from there on it is kept for.
        """
        row = self.by_host.get(entry.host)
        if row is None:
            is_overtaken = entry.serial < self._withdrawn.get(entry.host, _NEVER)
            if entry.tick != WITHDRAWN and not is_overtaken:
                self.by_host[entry.host] = Row(entry.tick, entry.serial, wall_ns, entry.tick)
                self._unsaved[entry.host] = None
            return
        if entry.serial < row.serial:
            return
        if entry.tick == WITHDRAWN:
            self._withdrawn[entry.host] = entry.serial
            self.forget(entry.host)
        elif entry.tick > row.tick:
            row.tick, row.since_ns = entry.tick, wall_ns
            self._unsaved[entry.host] = None

    def release(self, durable: str, host: str, serial: Serial, *, then: OnSaved) -> None:
        """The host has forgotten a durable name: another may have it.

        With its last name the row goes. `then` is called when that is on disk. If the host has held
        that name since, it is a repetition, and changes nothing.
        """
        if self.host_of.get(durable) == host and serial > self._held_by[durable]:
            self._disown(durable)
            if host not in self.host_of.values():
                self._withdrawn[host] = serial
                self.forget(host)
        # Deletes nothing, or once more: who waits hears of it behind all that was saved before.
        self._save_owner(durable, then)

    def _disown(self, durable: str) -> None:
        del self.host_of[durable], self._held_by[durable]
        self._save_owner(durable, None)

    def _save_owner(self, durable: str, then: OnSaved | None) -> None:
        host = self.host_of.get(durable)
        stored = None
        if host is not None:
            stored = msgspec.msgpack.encode((host, tuple(self._held_by[durable])))
        self._disk.save(f"{self._key}/owner/{durable}", stored, then)

    def forget(self, host: str) -> None:
        """Takes the row of a host away, with its durable names."""
        if self.by_host.pop(host, None) is not None:
            self._unsaved.pop(host, None)
            self._disk.save(f"{self._key}/row/{host}", None)
        for durable in [name for name, owner in self.host_of.items() if owner == host]:
            self._disown(durable)

    def delete_all(self) -> None:
        """Takes away all rows and names."""
        for host in [*self.by_host]:
            self.forget(host)
        for durable in [*self.host_of]:
            self._disown(durable)

    def save_raised(self) -> None:
        """Saves the rows that ACKs have raised."""
        for host in list(self._unsaved):
            row = self.by_host[host]
            self._save(host, row, None)
        self._unsaved.clear()

    def _save(self, host: str, row: Row, then: OnSaved | None) -> None:
        tick = row.tick

        def saved(now: Instant) -> None:
            # A lower tick may have been saved behind this one, but never before it.
            if row.tick >= tick:
                row.saved_tick = max(row.saved_tick, tick)
            if then is not None:
                then(now)

        value = msgspec.msgpack.encode((row.tick, tuple(row.serial), row.since_ns))
        self._disk.save(f"{self._key}/row/{host}", value, saved)
