"""Notices that the log of a pubend was restored from a backup, by what HELLO says of it.

Between two lives of a pubend lies a *dead range*, of which nothing was ever said. A host that has
read into one that it hears of for the first time has it from a life that the log no longer knows:
what was published there is gone, for everybody who has not read it. A host that has read beyond
the lease cannot go on at all, because its ticks will be given to other messages.

What was heard is on disk before any cursor moves on: else silence that was read in a dead range
would look like a rollback after a restart.

Of several parents one may know less than another: only what tells of a life that is new here says
anything of a lease.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from penstock.guaranteed.disk import Disk
from penstock.guaranteed.facts import Alarm
from penstock.guaranteed.host.roster import Roster
from penstock.kernel.instant import Instant
from penstock.wire.frames.guaranteed.base import DEAD_RANGES_MAX, GapReason, TickRange
from penstock.wire.frames.guaranteed.hello import Announcement
from penstock.wire.frames.guaranteed.knowledge import Gap

KEY: Final = "heard/"


class _Heard(msgspec.Struct, array_like=True):
    """Of one pubend; add fields at the end."""

    dead_ranges: list[tuple[int, int]]
    # Those of them in which messages were lost.
    lost: list[tuple[int, int]]
    # The lease with which the last life began, and the names that had read beyond it then.
    limit: int = 0
    stopped: list[str] = []


class Rollbacks:
    """What a host has heard of all pubends."""

    def __init__(
        self,
        roster: Roster,
        *,
        disk: Disk,
        stored: Mapping[str, bytes],
        tell: Callable[[Alarm], None],
    ) -> None:
        self._roster: Final = roster
        self._disk: Final = disk
        self._tell: Final = tell
        self._heard: Final[dict[int, _Heard]] = {
            int(key.removeprefix(KEY), 16): msgspec.msgpack.decode(value, type=_Heard)
            for key, value in stored.items()
            if key.startswith(KEY)
        }
        # Pubends that nothing is taken from, by why; and the last tick that each can have said.
        self.stopped: Final[dict[int, str]] = {}
        self._limits: Final[dict[int, int]] = {}

    def gaps(self, pubend: int) -> list[Gap]:
        """What every reader of a pubend has to be told of."""
        heard = self._heard.get(pubend)
        return [] if heard is None else [_gap(pubend, lost) for lost in heard.lost]

    def has_got_to(self, pubend: int, tick: int) -> bool:
        """Whether the pubend is known here to have said as much."""
        evidence = self._roster.readings[pubend].evidence
        return tick <= max(self._limits.get(pubend, -1), evidence - 1)

    def gap_behind(self, pubend: int, tick: int) -> Gap | None:
        """What is lost for a client that has read into a dead range: its log had another life."""
        heard = self._heard.get(pubend)
        for start, stop in [] if heard is None else heard.dead_ranges:
            # One that ends with the range was told of it, or begins behind it.
            if start <= tick < stop - 1:
                return _gap(pubend, (tick + 1, stop))
        return None

    def announced(self, frame: Announcement, *, now: Instant) -> None:
        """Compares what HELLO says with what was heard and read before."""
        pubend = frame.pubend
        ranges = [(start, stop) for start, stop in frame.dead_ranges]
        heard = self._heard.get(pubend)
        if heard is None:
            heard = self._heard[pubend] = _Heard([], [])
        new = [each for each in ranges if each not in heard.dead_ranges]
        limit = max(frame.lease, *(stop - 1 for _, stop in ranges), 0)
        read = self._read(pubend)
        lost = [(start, stop) for start, stop in new if any(start <= at < stop for at in read)]
        if new:
            heard.dead_ranges = sorted({*heard.dead_ranges, *new})[-DEAD_RANGES_MAX:]
            heard.lost = [each for each in heard.lost if each in heard.dead_ranges] + lost
            heard.limit = limit
            heard.stopped = self._names_above(pubend, limit)
            self._disk.save(f"{KEY}{pubend:016x}", msgspec.msgpack.encode(heard))
        for each in lost:
            text = (
                f"stream {frame.stream!r} was restored from a backup: messages up to tick"
                f" {each[1] - 1} that this broker knew of are lost"
            )
            self._tell(Alarm("rolled_back", text))
            self._roster.readings[pubend].give_up(_gap(pubend, each), now=now)
        self._limits[pubend] = limit if new else max(limit, self._limits.get(pubend, 0))
        is_above = bool(new) and any(at > limit for at in read)
        if is_above or self._stopped_names(pubend):
            self._stop(pubend, frame.stream, now)

    def recheck(self, pubend: int) -> None:
        """A cursor was moved or forgotten: takes a pubend again that nothing was taken from."""
        if pubend in self.stopped and not self._stopped_names(pubend):
            del self.stopped[pubend]

    def forget(self, pubend: int) -> None:
        """The pubend is gone."""
        if self._heard.pop(pubend, None) is not None:
            self._disk.save(f"{KEY}{pubend:016x}", None)
        self.stopped.pop(pubend, None)
        self._limits.pop(pubend, None)

    def _read(self, pubend: int) -> list[int]:
        """The last tick that each name and each reader knows of."""
        roster = self._roster
        reading = roster.readings[pubend]
        return [
            *(d.cursors[pubend] for d in roster.durables.values() if pubend in d.cursors),
            *(feed.position - 1 for feed in reading.feeds),
            *(doubt - 1 for doubt in reading.doubts().values()),
        ]

    def _names_above(self, pubend: int, limit: int) -> list[str]:
        durables = self._roster.durables.values()
        return sorted(d.name for d in durables if d.cursors.get(pubend, -1) > limit)

    def _stopped_names(self, pubend: int) -> list[str]:
        """Names that had read beyond the lease, and have not been moved or forgotten since."""
        heard = self._heard.get(pubend)
        if heard is None or not heard.stopped:
            return []
        return [name for name in self._names_above(pubend, heard.limit) if name in heard.stopped]

    def _stop(self, pubend: int, stream: str, now: Instant) -> None:
        """Stops where ticks that were read would be given again."""
        names = self._stopped_names(pubend)
        text = f"stream {stream!r} is older than what was read of it: it was restored from a backup"
        if names:
            text += f": seek or delete {', '.join(map(repr, names[:3]))}"
        if self.stopped.get(pubend) != text:
            self._tell(Alarm("above_lease", text))
        for subscription in list(self._roster.subscriptions.values()):
            if pubend in subscription.pubends:
                subscription.refuse("rolled_back", text)
                self._roster.end(subscription, is_clean=True, now=now)
        self._roster.readings[pubend].reset()
        if names:
            self.stopped[pubend] = text


def _gap(pubend: int, lost: tuple[int, int]) -> Gap:
    """How many messages were lost, nobody knows."""
    start, stop = TickRange(*lost)
    return Gap(pubend=pubend, start=start, stop=stop, reason=GapReason.ROLLED_BACK, messages=0)
