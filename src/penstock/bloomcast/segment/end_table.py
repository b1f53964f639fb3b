"""What is known of each end of a head: its round trip, its loss, who below it is done."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

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
    # Subscribers at and below it.
    done: int = 0
    total: int = 1
    failed: tuple[int, ...] = ()
    # The latest round that it has reported for.
    round: int = -1
    # ENDs in a row that it did not answer, and since when.
    silent_ends: int = 0
    silent_since: Instant | None = None

    @property
    def is_satisfied(self) -> bool:
        """Whether it is a subscriber that has all: it waits for nobody, so nobody joins below."""
        return self.done == self.total and self.hold_ns == 0

    def measure(self, sample_ns: Duration) -> None:
        """A round trip, without the time that the end waited."""
        sample_ns = max(0, sample_ns)
        if self.round_trip_ns is None:
            self.round_trip_ns, self.deviation_ns = sample_ns, sample_ns // 2
            return
        error_ns = sample_ns - self.round_trip_ns
        self.deviation_ns += (abs(error_ns) - self.deviation_ns) // _DEVIATION_SHARE
        self.round_trip_ns += error_ns // _MEAN_SHARE

    def note(self, report: Report, round_: int, hold_ns: Duration) -> None:
        """What it said of itself; a late report of an earlier round says nothing new."""
        if round_ < self.round:
            return
        self.round = round_
        self.loss, self.hold_ns = report.loss, hold_ns
        self.done, self.total, self.failed = report.done, report.total, report.failed
        self.silent_ends, self.silent_since = 0, None


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

    def replace(self, wanted: dict[int, tuple[int, int]]) -> tuple[list[int], list[int]]:
        """Takes ends as {node: (segment, path)}; returns those that came and those that went."""
        went = [node for node in [*self._ends, *self.failed, *self._gone] if node not in wanted]
        for node in went:
            self._ends.pop(node, None)
            self.failed.pop(node, None)
            self._gone.pop(node, None)
        came = []
        for node, (segment, path) in wanted.items():
            end = self._ends.get(node) or self._gone.get(node)
            if end is None:
                self._ends[node] = End(node, segment, path)
                self.failed.pop(node, None)
                came.append(node)
            elif (end.segment, end.path) != (segment, path):
                # It may have been silent because it was not reached.
                end.segment, end.path = segment, path
                end.silent_ends, end.silent_since = 0, None
        return came, went

    def forget_rounds(self) -> None:
        """Everything begins anew: what they have said before counts no more."""
        for end in [*self, *self._gone.values()]:
            end.round, end.done = -1, 0
            end.silent_ends, end.silent_since = 0, None

    def give_up(self, node: int) -> None:
        """An end does not answer any more."""
        end = self._ends.pop(node, None)
        if end is not None:
            (self._gone if end.done == end.total else self.failed)[node] = end

    def take_back(self, node: int) -> End | None:
        """An end that was given up is there again."""
        end = self.failed.pop(node, None) or self._gone.pop(node, None)
        if end is not None:
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

    def patience_ns(self, levels: int) -> Duration:
        """As `hold_ns`, and longer while an end is silent: its reports may all have been lost."""
        settings = self._settings
        silent_ends = max((end.silent_ends for end in self), default=0)
        doublings = min(silent_ends, settings.hold_doublings_max)
        return min(self.hold_ns(levels) << doublings, settings.hold_max_ns)

    def is_lost(self, end: End, now: Instant) -> bool:
        """Whether an end has been silent for so long that others are not kept waiting."""
        settings = self._settings
        return (
            end.silent_ends > settings.silent_ends_max
            and end.silent_since is not None
            and now - end.silent_since >= settings.silence_ns
        )

    def is_nearly_lost(self, node: int) -> bool:
        """Whether an end is given up if it does not answer the next END either."""
        end = self._ends.get(node)
        return end is not None and end.silent_ends >= self._settings.silent_ends_max

    def counts(self) -> tuple[int, int]:
        """Subscribers that are done, and all; those that were given up are not counted."""
        ends = [*self, *self._gone.values()]
        return sum(end.done for end in ends), sum(end.total for end in ends)

    def all_failed(self) -> list[int]:
        """Everyone who was given up, here or below."""
        found = dict.fromkeys(self.failed)
        for end in self:
            found.update(dict.fromkeys(end.failed))
        return list(found)
