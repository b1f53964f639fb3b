"""Checks that every frame is accounted for: sent = arrived + dropped + in flight.

For links this holds frame by frame: each frame that arrives was sent on that link before, and
no frame is in flight for longer than a link can hold it. Only frames that a fault duplicates
arrive twice. For hosts it holds for counts: arrived = processed + dropped + queued or in
service.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import Any

from penstock.kernel.instant import Instant, to_seconds
from penstock.sim.checkers.base import Checker
from penstock.sim.link import Link
from penstock.sim.observer import DropReason


class Conservation(Checker):
    """Counts the frames of every link and host."""

    name = "conservation"

    def __init__(self) -> None:
        # By link and frame: one send time for each copy in flight. Holding the frame keeps its `id`
        # unique.
        self._in_flight: dict[tuple[str, int], tuple[Any, deque[Instant]]] = {}
        self._sent: Counter[str] = Counter()
        self._arrived: Counter[str] = Counter()
        self._dropped: Counter[tuple[str, str]] = Counter()
        # All frames sent on links that duplicate: a copy is the same object as the original.
        self._duplicable: dict[tuple[str, int], Any] = {}
        self._links: dict[str, Link[Any]] = {}
        self._receiver_by_link: dict[str, str] = {}

    def begin(self, runner: Any) -> None:
        """Indexes the links by name."""
        super().begin(runner)
        for (_, receiver), link in self.runner.network.world.links.items():
            self._links[link.name] = link
            self._receiver_by_link[link.name] = receiver

    def on_send(self, link: Link[Any], frame: Any, size_bytes: int, *, now: Instant) -> None:  # noqa: ARG002
        """Adds a frame in flight."""
        self._sent[link.name] += 1
        if link.name in self.runner.guarantees.duplicating_links:
            self._duplicable[link.name, id(frame)] = frame
        self._in_flight.setdefault((link.name, id(frame)), (frame, deque()))[1].append(now)

    def on_arrive(self, link: Link[Any], frame: Any, *, now: Instant) -> None:  # noqa: ARG002
        """Removes a frame in flight."""
        self._arrived[self._receiver_by_link[link.name]] += 1
        if self._remove(link.name, frame) or self.runner.guarantees.corrupts_frames:
            return
        if (link.name, id(frame)) not in self._duplicable:
            self.report_violation(link.name, f"hands over what was not sent: {frame}")

    def on_drop(self, place: str, frame: Any, reason: DropReason, *, now: Instant) -> None:  # noqa: ARG002
        """Removes a dropped frame."""
        self._dropped[place, reason] += 1
        is_link = place in self._links
        if not is_link or self._remove(place, frame) or self.runner.guarantees.corrupts_frames:
            return
        if (place, id(frame)) not in self._duplicable:
            self.report_violation(place, f"drops what was not sent: {frame}")

    def finish(self, *, now: Instant) -> None:
        """Finds frames that vanished, and compares counts with the counters."""
        for name, link in self._links.items():
            self._check_drops(name, link.dropped)
            refused = link.dropped["queue_full"] + link.dropped["down"]
            if not self._sent[name] - refused <= link.sent_frames <= self._sent[name]:
                self.report_violation(
                    name, f"was offered {self._sent[name]}, counts {link.sent_frames} sent"
                )
        for name, host in self.runner.network.world.hosts.items():
            self._check_drops(name, host.dropped)
            rest = self._arrived[name] - host.received_frames - sum(host.dropped.values())
            workers = host._workers.count if host._workers else 0
            if not 0 <= rest <= host.sample().queue_frames + workers:
                self.report_violation(name, f"{rest} frames are neither processed nor dropped")
        if not self.runner.guarantees.corrupts_frames:
            self._check_overdue(now)

    def _remove(self, place: str, frame: Any) -> bool:
        """Removes one copy of a frame in flight; returns whether there was one."""
        key = (place, id(frame))
        entry = self._in_flight.get(key)
        if entry is None:
            return False
        entry[1].popleft()
        if not entry[1]:
            del self._in_flight[key]
        return True

    def _check_drops(self, place: str, counters: dict[DropReason, int]) -> None:
        for reason, count in counters.items():
            observed = self._dropped[place, reason]
            if observed != count:
                self.report_violation(place, f"counts {count} drops ({reason}), told of {observed}")

    def _check_overdue(self, now: Instant) -> None:
        for (name, _), (frame, times) in self._in_flight.items():
            if now - times[0] > self.runner.guarantees.hop_ns:
                since = f"{to_seconds(times[0]):.6f} s"
                self.report_violation(
                    name, f"{frame}, sent at {since}, neither arrived nor was dropped"
                )
