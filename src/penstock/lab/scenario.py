"""A simulation that is ready to run, as the builders return it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from penstock.kernel.errors import UsageError
from penstock.kernel.instant import Instant
from penstock.lab.toml_document import TomlDocument
from penstock.sim.events import EventQueue
from penstock.trace.records import Host


@dataclass(frozen=True, slots=True)
class Scenario:
    """All brokers and clients at time 0, and what will happen to them."""

    events: EventQueue
    # Called at the end of the run: endpoints deliver what is still in their reorder buffers.
    close: Callable[[], None]
    # Start of the experiment's clock (after the warm-up), and end of the run.
    origin: Instant
    stop: Instant
    hosts: list[Host]


@contextmanager
def errors_at_key(document: TomlDocument, *path: str | int) -> Iterator[None]:
    """Re-raises a UsageError of the simulator as an error at the key `path` of the file."""
    try:
        yield
    except UsageError as error:
        raise document.error(path, str(error)) from None
