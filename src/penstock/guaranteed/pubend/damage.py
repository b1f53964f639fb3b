"""Messages that damage of the disk has taken out of a log: where, and how many at the most.

A full segment is not read at a start, so damage in it is found when somebody reads there. What was
found once is stored: counts leave it out from then on.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from penstock.guaranteed.disk import Disk
from penstock.guaranteed.log_record import LogGap, LogRecord
from penstock.wire.frames.guaranteed.base import GapReason

# Of one log; what is beyond that is told to readers all the same.
_PLACES_MAX: Final = 1_000


class DamagedTicks(NamedTuple):
    """Between these ticks messages are lost, so many at the most; `stop` is exclusive."""

    start: int
    stop: int
    messages: int


class Change(NamedTuple):
    """So many more messages are lost, or fewer, up to this tick."""

    last_tick: int
    messages: int


class Damage:
    """Of one pubend; `key` is where it is saved."""

    def __init__(self, key: str, disk: Disk, saved: bytes | None, *, trimmed_upto: int) -> None:
        self._key: Final = key
        self._disk: Final = disk
        stored = [] if saved is None else msgspec.msgpack.decode(saved, type=list[DamagedTicks])
        # By rising ticks; none of them overlap.
        self._places = [place for place in stored if place.stop > trimmed_upto + 1]

    def __iter__(self) -> Iterator[DamagedTicks]:
        return iter(self._places)

    @property
    def messages(self) -> int:
        """How many are lost."""
        return sum(place.messages for place in self._places)

    def in_words(self, stream: str) -> str:
        """One line for an operator."""
        lost = "1 message is" if self.messages == 1 else f"{self.messages:,} messages are"
        return f"stream {stream!r} is damaged, at most {lost} lost: see 'penstock stream check DIR'"

    def behind(self, tick: int) -> int:
        """How many of them were behind a tick."""
        return sum(place.messages for place in self._places if place.start > tick)

    def read(self, gaps: Iterable[LogGap], records: Sequence[LogRecord] = ()) -> list[Change]:
        """What the log has found: damage, maybe again and maybe in part, or what was mended."""
        changes: list[Change] = []
        places = self._places
        for place in [each for each in places if _has_record(each, records)]:
            places = [each for each in places if each is not place]
            changes.append(Change(place.stop - 1, -place.messages))
        for gap in gaps:
            if gap.reason is not GapReason.DAMAGED:
                continue
            same = [each for each in places if each.start < gap.stop and gap.start < each.stop]
            known = sum(each.messages for each in same)
            merged = DamagedTicks(
                min([gap.start, *(each.start for each in same)]),
                max([gap.stop, *(each.stop for each in same)]),
                max(gap.messages, known),
            )
            if same == [merged] or len(places) >= _PLACES_MAX:
                continue
            places = sorted([*(each for each in places if each not in same), merged])
            if merged.messages > known:
                changes.append(Change(merged.stop - 1, merged.messages - known))
        if places != self._places:
            self._places = places
            self._save()
        return changes

    def trim(self, upto: int) -> None:
        """The log is given up to this tick."""
        left = [place for place in self._places if place.stop > upto + 1]
        if left != self._places:
            self._places = left
            self._save()

    def delete_saved(self) -> None:
        """The stream is deleted."""
        self._disk.save(self._key, None)

    def _save(self) -> None:
        self._disk.save(self._key, msgspec.msgpack.encode(self._places))


def _has_record(place: DamagedTicks, records: Sequence[LogRecord]) -> bool:
    at = bisect_left(records, place.start, key=lambda record: record.tick)
    return at < len(records) and records[at].tick < place.stop
