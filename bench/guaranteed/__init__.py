"""Guaranteed streams: beside other systems that keep messages on disk, and part by part.

Messages a second and CPU for each, from one publisher through one broker to one durable
subscriber, beside JetStream and RabbitMQ where they are installed; and the log alone, beside
sqlite. Everything is started here, on this machine's loopback, and ended again.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from bench.result import Note, Result


def run(note: Note) -> Result:
    """All parts, one after another; about ten minutes."""
    # Here, since every process of a run loads this file.
    from bench.guaranteed import comparison, log_alone, log_large, memory

    with _ended_by_sigterm():
        parts = [comparison.measure(note)]
        note("the log alone, beside sqlite")
        parts.append(log_alone.measure())
        parts.append(log_large.measure(note=note))
        parts.append(memory.measure(note))
    return joined(parts)


def joined(parts: list[Result]) -> Result:
    """One result of several."""
    return Result(
        "guaranteed",
        [case for part in parts for case in part.cases],
        {name: ratio for part in parts for name, ratio in part.ratios.items()},
        {name: goal for part in parts for name, goal in part.ratio_goals.items()},
        [line for part in parts for line in part.notes],
    )


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """Unwinds at SIGTERM, so that no server is left behind."""

    def end(number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
