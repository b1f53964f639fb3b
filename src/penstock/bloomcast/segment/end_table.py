"""What is known of each end of a head: where it is, its round trip, its loss, how it waits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from penstock.bloomcast.settings import HeadSettings
from penstock.kernel.instant import Duration, Instant
from penstock.wire.frames.cast.report import Report

# As in TCP.
_MEAN_SHARE: Final = 8
_DEVIATION_SHARE: Final = 4


@dataclass(slots=True)
class End:
    """A subscriber, or a relay with subscribers below it."""

    node: int
    segment: int
    # The links that lead to it.
    path: int
    loss: int = 0
    # What it waits itself; None before its first report.
    hold_ns: Duration | None = None
    round_trip_ns: Duration | None = None
    deviation_ns: Duration = 0
    # Subscribers below it that were given up.
    failed: tuple[int, ...] = ()
    # Since when it has let ENDs pass.
    silent_since: Instant | None = None
    # It was given up though it answers, as nothing that it is sent arrives.
    is_stuck: bool = False
    # Of a stream, the block that it takes part from, unless it has done so before.
    begins: int = 0
    # And the first one that somebody at or below it may lack still.
    lacks_from: int = 0

    def measure(self, sample_ns: Duration) -> None:
        """A round trip, without the time that the end waited."""
        sample_ns = max(0, sample_ns)
        if self.round_trip_ns is None:
            self.round_trip_ns, self.deviation_ns = sample_ns, sample_ns // 2
            return
        error_ns = sample_ns - self.round_trip_ns
        self.deviation_ns += (abs(error_ns) - self.deviation_ns) // _DEVIATION_SHARE
        self.round_trip_ns += error_ns // _MEAN_SHARE

    def note(self, report: Report, hold_ns: Duration) -> None:
        """What it said of itself."""
        self.loss, self.hold_ns, self.failed = report.loss, hold_ns, report.failed
        self.silent_since = None


class Changes(NamedTuple):
    """Ends that are new, those that went, and those that are reached by other links."""

    came: list[int]
    went: list[int]
    moved: list[int]


class EndTable:
    """All ends of a head."""

    def __init__(self, settings: HeadSettings) -> None:
        self._settings: Final = settings
        self._ends: Final[dict[int, End]] = {}
        # Given up; one that speaks again is taken back.
        self.failed: Final[dict[int, End]] = {}
        # Those that had said that they are done.
        self._gone: Final[dict[int, End]] = {}

    def __iter__(self) -> Iterator[End]:
        return iter(self._ends.values())

    def __len__(self) -> int:
        return len(self._ends)

    def get(self, node: int) -> End | None:
        """The end, if it is one."""
        return self._ends.get(node)

    def ever(self, node: int) -> End | None:
        """The end, even if it was given up."""
        return self._ends.get(node) or self.failed.get(node) or self._gone.get(node)

    def replace(self, wanted: dict[int, tuple[int, int]], *, begins: int = 0) -> Changes:
        """Takes ends as {node: (segment, path)}; new ones begin with this block of a stream."""
        went = [node for node in [*self._ends, *self.failed, *self._gone] if node not in wanted]
        for node in went:
            self._ends.pop(node, None)
            self.failed.pop(node, None)
            self._gone.pop(node, None)
        came, moved = [], []
        for node, (segment, path) in wanted.items():
            end = self._ends.get(node) or self._gone.get(node)
            if end is None:
                self._ends[node] = End(node, segment, path, begins=begins)
                self.failed.pop(node, None)
                came.append(node)
            elif (end.segment, end.path) != (segment, path):
                end.segment, end.path, end.silent_since = segment, path, None
                moved.append(node)
        return Changes(came, went, moved)

    def begin_epoch(self) -> None:
        """Everything begins anew."""
        for end in self.counted():
            end.silent_since, end.lacks_from = None, 0

    def give_up(self, node: int, *, has_all: bool) -> None:
        """An end does not answer any more."""
        end = self._ends.pop(node, None)
        if end is not None:
            (self._gone if has_all else self.failed)[node] = end

    def take_back(self, node: int) -> End | None:
        """An end that was given up is there again."""
        end = self.failed.pop(node, None) or self._gone.pop(node, None)
        if end is not None:
            end.is_stuck = False
            self._ends[node] = end
        return self._ends.get(node)

    def round_trip_ns(self) -> Duration:
        """The longest round trip to an end."""
        known = [end.round_trip_ns for end in self if end.round_trip_ns is not None]
        return max(known) if known else self._settings.round_trip_ns

    def hold_ns(self, levels: int) -> Duration:
        """How long to wait for all of them; before the first report, by the levels below."""
        settings = self._settings
        longest = 0
        for end in self:
            below_ns = end.hold_ns
            if below_ns is None:
                below_ns = max(0, levels - 1) * settings.hold_level_ns
            trip_ns = end.round_trip_ns
            if trip_ns is None:
                trip_ns = settings.round_trip_ns
            longest = max(longest, trip_ns + 4 * end.deviation_ns + below_ns)
        return min(
            max(longest + settings.hold_margin_ns, settings.hold_min_ns), settings.hold_max_ns
        )

    def counted(self) -> list[End]:
        """All but those that were given up without having said that they are done."""
        return [*self, *self._gone.values()]

    def all_failed(self) -> list[int]:
        """Everyone who was given up, here or below."""
        found = dict.fromkeys(self.failed)
        for end in self:
            found.update(dict.fromkeys(end.failed))
        return list(found)
