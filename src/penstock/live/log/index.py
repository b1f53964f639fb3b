"""From ticks to places in the log, in memory.

An entry of 32 bytes stands for a run of blocks of at least 64 KB: small enough to read for a count,
and few enough for a log of any size, of which each GB takes half a MB of memory. Runs between two
ticks are a subtraction; only the two runs in which the ticks lie need to be read.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from threading import Lock
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from penstock.live.log.segment import Segment

RUN_BYTES_MIN: Final = 64 << 10


class SegmentIndex:
    """Entries of one segment, as columns: offset, first tick, last tick, messages before it."""

    ENTRY_BYTES: Final = 32

    __slots__ = ("first_messages", "first_ticks", "is_run_closed", "last_ticks", "offsets")

    def __init__(self) -> None:
        self.offsets = array("Q")
        self.first_ticks = array("Q")
        self.last_ticks = array("Q")
        self.first_messages = array("Q")
        # Whether the next block begins a run.
        self.is_run_closed = True

    def __len__(self) -> int:
        return len(self.offsets)

    def add(self, offset: int, first_tick: int, last_tick: int, first_message: int) -> None:
        """A block at this place; ticks never fall."""
        if not self.is_run_closed and offset - self.offsets[-1] < RUN_BYTES_MIN:
            self.last_ticks[-1] = last_tick
            if self.first_messages[-1] == first_message:
                # Only snapshots until here.
                self.first_ticks[-1] = first_tick
            return
        self.offsets.append(offset)
        self.first_ticks.append(first_tick)
        self.last_ticks.append(last_tick)
        self.first_messages.append(first_message)
        self.is_run_closed = False

    def add_damage(self, offset: int, first_tick: int, last_tick: int, first_message: int) -> None:
        """A damaged place is a run of its own: readers who start behind it do not see it."""
        self.is_run_closed = True
        self.add(offset, first_tick, last_tick, first_message)
        self.is_run_closed = True

    def to_bytes(self) -> bytes:
        """All columns, one behind the other."""
        columns = (self.offsets, self.first_ticks, self.last_ticks, self.first_messages)
        return b"".join(column.tobytes() for column in columns)

    @classmethod
    def from_bytes(cls, data: bytes) -> SegmentIndex:
        """The reverse of `to_bytes`."""
        index = cls()
        column_bytes = len(data) // 4
        columns = (index.offsets, index.first_ticks, index.last_ticks, index.first_messages)
        for number, column in enumerate(columns):
            column.frombytes(data[number * column_bytes : (number + 1) * column_bytes])
        return index


class Run(NamedTuple):
    """Where blocks lie that must be read; `messages` and `tick` are those before it."""

    segment: Segment
    offset: int
    stop: int
    messages: int
    tick: int


class View(NamedTuple):
    """What a reader sees, whatever is written meanwhile: segments, and where the last one ends."""

    segments: list[Segment]
    end: int
    messages: int
    last_tick: int


class LogIndex:
    """All segments of a log, oldest first; the writer, readers and the trimmer share it."""

    def __init__(self, segments: list[Segment]) -> None:
        self.lock: Final = Lock()
        self.segments: Final = segments

    def view(self) -> View:
        """What is synced now."""
        with self.lock:
            if not self.segments:
                return View([], 0, 0, 0)
            last = self.segments[-1]
            return View(list(self.segments), last.end, last.stop_message, self.last_tick)

    @property
    def last_tick(self) -> int:
        """The tick of the last record; 0 if there is none."""
        return self.segments[-1].last_tick if self.segments else 0

    @property
    def first_tick(self) -> int | None:
        """The tick of the oldest record that is left."""
        with self.lock:
            for segment in self.segments:
                if segment.stop_message > segment.first_message:
                    index = segment.index
                    place = bisect_right(index.first_messages, segment.first_message) - 1
                    return index.first_ticks[place]
        return None

    def run_of(self, tick: int) -> Run | None:
        """The first run that may have messages at or behind a tick; None if there is none."""
        with self.lock:
            segments = self.segments
            place = bisect_left(segments, tick, key=_last_tick)
            while place < len(segments):
                segment = segments[place]
                index = segment.index
                entry = bisect_left(index.last_ticks, tick)
                if entry < len(index):
                    return self._run(place, entry)
                place += 1
            return None

    def messages_upto(self, tick: int) -> int | Run:
        """How many messages have ticks up to and including this; a run if it must be read."""
        with self.lock:
            segments = self.segments
            place = bisect_right(segments, tick, key=_last_tick)
            if place == len(segments):
                return segments[-1].stop_message if segments else 0
            index = segments[place].index
            entry = bisect_right(index.last_ticks, tick)
            if entry == len(index) or index.first_ticks[entry] > tick:
                return (
                    index.first_messages[entry]
                    if entry < len(index)
                    else segments[place].stop_message
                )
            return self._run(place, entry)

    def _run(self, place: int, entry: int) -> Run:
        segment = self.segments[place]
        index = segment.index
        if entry:
            tick = index.last_ticks[entry - 1]
        else:
            tick = self.segments[place - 1].last_tick if place else 0
        stop = index.offsets[entry + 1] if entry + 1 < len(index) else segment.end
        return Run(segment, index.offsets[entry], stop, index.first_messages[entry], tick)


def _last_tick(segment: Segment) -> int:
    return segment.last_tick
