"""The pubends of other brokers: what parents announce, and what they have announced before.

A pubend that was announced is remembered on disk, with its stream: subscriptions to it can be taken
up while all parents are away. It is forgotten when all parents are there and none announces it: its
stream was deleted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from hashlib import blake2b
from typing import Final

import msgspec

from penstock.guaranteed.disk import Disk
from penstock.guaranteed.wildcard_addresses import as_passed_on, as_seen_here
from penstock.kernel.machine import Port
from penstock.wire.frames.guaranteed.base import PUBENDS_MAX
from penstock.wire.frames.guaranteed.hello import Announcement, Hello, Role

# More brokers than that between here and a pubend are a loop.
DISTANCE_MAX: Final = 16
KEY: Final = "announced/"
# Beyond that, those that no parent announces now are forgotten, the oldest first.
REMEMBERED_MAX: Final = 4 * PUBENDS_MAX


class Remembered(msgspec.Struct, frozen=True, array_like=True):
    """What is kept of a pubend; add fields at the end."""

    stream: str
    # Where clients reach the broker that stores it; "" if it has not said.
    address: str


class Announcements:
    """Of all parents of one broker."""

    def __init__(self, disk: Disk, saved: Mapping[str, bytes], *, parents: int) -> None:
        self._disk: Final = disk
        # How many parents it was told to connect to.
        self._parents: Final = parents
        # With addresses as children are told.
        self._announced: Final[dict[Port, dict[int, Announcement]]] = {}
        # Where those parents were reached.
        self._addresses: Final[dict[Port, str]] = {}
        # The names of those parents.
        self._names: Final[dict[Port, str]] = {}
        # Parents that do not know yet what their own parents serve.
        self._partial: Final[dict[Port, None]] = {}
        self._remembered: Final[dict[int, Remembered]] = {
            int(key.removeprefix(KEY), 16): msgspec.msgpack.decode(value, type=Remembered)
            for key, value in saved.items()
            if key.startswith(KEY)
        }

    @property
    def remembered(self) -> Mapping[int, Remembered]:
        """All pubends of other brokers that are known, whether parents are there or not."""
        return self._remembered

    @property
    def are_complete(self) -> bool:
        """Whether all parents are there: what none of them announces does not exist."""
        return len(self._announced) - len(self._partial) >= self._parents

    @property
    def has_any(self) -> bool:
        """Whether any parent is there."""
        return bool(self._announced)

    @property
    def parents(self) -> Collection[str]:
        """The names of the parents that are there."""
        return self._names.values()

    @property
    def away(self) -> int:
        """How many parents are not there."""
        return max(0, self._parents - len(self._announced))

    def name_of(self, port: Port | None) -> str | None:
        """The name of the parent at a port, if it is there."""
        return None if port is None else self._names.get(port)

    def is_served_by(self, pubend: int, port: Port | None) -> bool:
        """Whether this parent announces a pubend."""
        return port is not None and pubend in self._announced.get(port, ())

    def best_parent(self, pubend: int) -> Port | None:
        """The parent that a pubend is taken from: the same one for all brokers with these parents.

        By rendezvous hashing: pubends are spread over parents, and when one of them is lost only
        its own pubends move.
        """
        ports = [port for port, announced in self._announced.items() if pubend in announced]
        return max(ports, key=lambda port: _weight(pubend, self._names[port]), default=None)

    def parent_up(self, port: Port, address: str) -> None:
        """A parent was reached there."""
        self._addresses[port] = address

    def take(self, port: Port, hello: Hello) -> list[Announcement]:
        """A parent says what it serves, which replaces all that it said before; returns that.

        Addresses in it are those that clients of this broker can use.
        """
        announced = [each for each in hello.pubends if each.distance <= DISTANCE_MAX]
        parent = self._addresses.get(port, "")
        self._announced[port] = {
            each.pubend: _at(each, as_passed_on(each.address, each.distance, parent))
            for each in announced
        }
        self._names[port] = hello.broker
        if hello.roles & Role.PARTIAL:
            self._partial[port] = None
        else:
            self._partial.pop(port, None)
        return [_at(each, as_seen_here(each.address, each.distance, parent)) for each in announced]

    def remember(self, announcement: Announcement) -> None:
        """Keeps the stream of a pubend beyond restarts."""
        remembered = Remembered(announcement.stream, announcement.address)
        if self._remembered.get(announcement.pubend) != remembered:
            self._remembered[announcement.pubend] = remembered
            value = msgspec.msgpack.encode(remembered)
            self._disk.save(f"{KEY}{announcement.pubend:016x}", value)

    def forget_deleted(self) -> list[int]:
        """Forgets the pubends that are gone; returns them."""
        announced = {pubend for each in self._announced.values() for pubend in each}
        gone = [pubend for pubend in self._remembered if pubend not in announced]
        if not self.are_complete:
            gone = gone[: max(0, len(self._remembered) - REMEMBERED_MAX)]
        for pubend in gone:
            del self._remembered[pubend]
            self._disk.save(f"{KEY}{pubend:016x}", None)
        return gone

    def parent_lost(self, port: Port) -> None:
        """A parent is away: it may know more by the time it is back."""
        self._announced.pop(port, None)
        self._addresses.pop(port, None)
        self._names.pop(port, None)
        self._partial.pop(port, None)

    def passed_on(self) -> Iterator[Announcement]:
        """What children may be told, one broker further away: perhaps too far."""
        known: dict[int, list[Announcement]] = {}
        for announced in self._announced.values():
            for pubend, each in announced.items():
                known.setdefault(pubend, []).append(each)
        for own in known.values():
            nearest = min(own, key=lambda each: each.distance)
            # The one that knows of the last life.
            newest = max(own, key=lambda each: (each.dead_ranges[-1:], each.lease))
            passed_on = _at(newest, nearest.address)
            yield msgspec.structs.replace(passed_on, distance=nearest.distance + 1)


def _at(announcement: Announcement, address: str) -> Announcement:
    if address == announcement.address:
        return announcement
    return msgspec.structs.replace(announcement, address=address)


def _weight(pubend: int, parent: str) -> bytes:
    return blake2b(parent.encode(), digest_size=8, key=pubend.to_bytes(8, "big")).digest()
