"""A run before it begins: everything in place, and nothing has happened yet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from penstock.kernel.errors import UsageError
from penstock.kernel.instant import Instant
from penstock.lab.toml_document import TomlDocument
from penstock.sim.world import World


@dataclass(frozen=True, slots=True)
class Scenario:
    """Everything in place, at time 0."""

    world: World[Any]
    # Says that the run is over, so that whoever holds something back gives it.
    close: Callable[[], None]
    # When the experiment's own clock begins, and when the run ends.
    origin: Instant
    stop: Instant
    # The clients of each group.
    members: dict[str, list[str]]


@contextmanager
def errors_at_key(document: TomlDocument, *path: str | int) -> Iterator[None]:
    """Says of the key at `path` what a value of the simulator says of itself."""
    try:
        yield
    except UsageError as error:
        raise document.error(path, str(error)) from None
