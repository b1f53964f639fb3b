"""The segments of one head, put together from the pages of its configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from penstock.bloomcast.filters.packet_filter import NO_LINKS
from penstock.wire.frames.cast.plan import HeadConfig, SegmentFilter


@dataclass(frozen=True, slots=True)
class HeadSegment:
    """One segment: its filters, and the links to each end."""

    filter: SegmentFilter
    paths: dict[int, int]


@dataclass(frozen=True, slots=True)
class HeadPlan:
    """All segments of a head, by number."""

    version: int
    levels: int
    segments: dict[int, HeadSegment]
    # Who wants the object and is not reached; the publisher alone is told.
    left_out: tuple[int, ...] = ()

    def is_empty(self) -> bool:
        """Whether the node is no head any more."""
        return not self.segments


class PlanPages:
    """Gathers the pages of the latest configuration."""

    def __init__(self) -> None:
        self._controller = 0
        self._version = -1
        self._pages: Final[dict[int, HeadConfig]] = {}

    def add(self, config: HeadConfig) -> HeadPlan | None:
        """Returns the plan when its last page has come; pages of an older one are ignored."""
        if config.controller != self._controller:
            # Another controller plans now; that one has no plan for this head is nothing to it.
            if self._version >= 0 and config.pages == 1 and not config.segments + config.ends:
                return None
            self._controller, self._version = config.controller, -1
        if config.version < self._version:
            return None
        if config.version > self._version:
            self._version = config.version
            self._pages.clear()
        elif not self._pages:
            # Complete before: this page is a copy.
            return None
        self._pages[config.page] = config
        if len(self._pages) < config.pages:
            return None
        plan = _merge(self._pages)
        self._pages.clear()
        return plan


def _merge(pages: dict[int, HeadConfig]) -> HeadPlan:
    ordered = [pages[page] for page in sorted(pages)]
    segments = {
        each.segment: HeadSegment(each, {}) for config in ordered for each in config.segments
    }
    left_out = []
    for config in ordered:
        for end in config.ends:
            if end.path == NO_LINKS:
                left_out.append(end.node)
            elif end.segment in segments:
                segments[end.segment].paths[end.node] = end.path
    return HeadPlan(ordered[0].version, ordered[0].levels, segments, tuple(left_out))
