"""The ports of a node: their numbers, their secrets, and the tags that follow from these."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from penstock.bloomcast.filters.link_tags import tags
from penstock.kernel.machine import Port
from penstock.wire.frames.cast.topology import PortKind


@dataclass(slots=True, kw_only=True)
class PortInfo:
    """One port."""

    port: Port
    number: int
    kind: PortKind
    secret: bytes
    cost: int
    # Candidate tags of the epoch.
    tags: tuple[int, ...]


class Ports:
    """All ports of a node; numbers are never used again."""

    def __init__(self, *, tag_epoch: int = 0) -> None:
        self._ports: Final[dict[Port, PortInfo]] = {}
        self._next_number = 0
        self._tag_epoch = tag_epoch

    def add(self, port: Port, kind: PortKind, secret: bytes, cost: int) -> PortInfo:
        """A link is up."""
        assert port not in self._ports, port
        info = PortInfo(
            port=port,
            number=self._next_number,
            kind=kind,
            secret=secret,
            cost=cost,
            tags=tags(secret, self._tag_epoch),
        )
        self._next_number += 1
        self._ports[port] = info
        return info

    def remove(self, port: Port) -> None:
        """A link is down."""
        self._ports.pop(port, None)

    def __iter__(self) -> Iterator[PortInfo]:
        return iter(self._ports.values())

    def __contains__(self, port: Port) -> bool:
        return port in self._ports

    def __getitem__(self, port: Port) -> PortInfo:
        return self._ports[port]
