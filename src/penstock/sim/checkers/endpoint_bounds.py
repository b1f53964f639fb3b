"""Checks of an endpoint between events: its counters, and the sizes of its tables and buffers.

Compares the endpoint's statistics with its history. Recovery and congestion control are checked
in `repairs` and `control`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from penstock.sim.checkers import control, repairs
from penstock.sim.checkers.endpoint_history import EndpointHistory

_CHECKED_COUNTERS: Final = (
    "duplicate",
    "too_old",
    "old_epoch",
    "unmatched",
    "not_data",
    "after_end",
    "repaired",
    "repair_unwanted",
    "repair_unmatched",
)


def violations(history: EndpointHistory) -> Iterator[tuple[str, str]]:
    """Yields the name of each violated check, and the reason."""
    machine = history.machine
    for counter in _CHECKED_COUNTERS:
        counted = machine.counters.get(counter, 0)
        if counted != history.expected_counters[counter]:
            yield "counts", f"counts {counted} {counter}, not {history.expected_counters[counter]}"
    if list(machine.publishers) != list(history.receiver.images):
        yield "bounds", f"remembers {list(machine.publishers)}"
    statistics = machine.statistics()
    timers = 0
    for publisher in statistics.publishers:
        for stream in publisher.streams:
            subscription = history.subscriptions[stream.subscription_id]
            timers += len(stream.missing) + stream.possible
            for size, size_max, what in (
                (stream.buffered, subscription.held_max, "held"),
                (len(stream.missing), subscription.missing_max, "missing"),
                (stream.possible, subscription.missing_max, "assumed"),
                (stream.given_up, subscription.missing_max, "given up"),
            ):
                if size > size_max:
                    yield "bounds", f"{size} messages {what}, not {size_max}"
    if statistics.timers != timers:
        yield "bounds", f"{statistics.timers} timers, not {timers}"
    yield from repairs.violations(history, statistics)
    yield from control.violations(history, statistics)
