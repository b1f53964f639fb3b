"""What can be seen of an endpoint between events: what it counts, and how much it remembers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from penstock.sim.checkers import repairs
from penstock.sim.checkers.endpoint_history import Life

_COUNTED: Final = (
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


def objections(life: Life) -> Iterator[tuple[str, str]]:
    """To what is wrong: the check, and why."""
    machine = life.machine
    for counter in _COUNTED:
        counted = machine.counters.get(counter, 0)
        if counted != life.counted[counter]:
            yield "counts", f"counts {counted} {counter}, not {life.counted[counter]}"
    if list(machine.publishers) != list(life.publishers.all):
        yield "bounds", f"remembers {list(machine.publishers)}"
    timers = 0
    for arrivals in machine._images.values():
        for number, stream in arrivals.streams.items():
            asked = life.asked[number]
            assumed = sum(missing.is_possible for missing in stream._blocking)
            timers += len(stream.missing) + assumed
            for size, most, what in (
                (len(stream._buffer.messages), asked.held_max, "held"),
                (len(stream.missing), asked.missing_max, "missing"),
                (assumed, asked.missing_max, "assumed"),
                (len(stream._given_up), asked.missing_max, "given up"),
            ):
                if size > most:
                    yield "bounds", f"{size} messages {what}, not {most}"
    if len(machine._timers) != timers:
        yield "bounds", f"{len(machine._timers)} timers, not {timers}"
    yield from repairs.objections(life)
