"""What a host has told a program to be stored as acknowledged never comes to it again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from penstock.sim.guaranteed.application import ReadingProgram


def came_again(readers: Iterable[ReadingProgram]) -> Iterator[str]:
    """All violations, one line each."""
    for reader in readers:
        for message in reader.again:
            yield f"{reader.client.name}: {message.tick} came again after it was stored"
