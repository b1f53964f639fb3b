"""Parts of a node without the others."""

from __future__ import annotations

from penstock.bloomcast.discovery.ports import Ports
from penstock.bloomcast.outbox import Outbox
from penstock.kernel.machine import Send
from penstock.wire.frames.cast.base import CastFrame
from penstock.wire.frames.cast.topology import PortKind

DOMAIN = bytes(8)


def ports_of(*names: str, lan: str | None = None) -> Ports:
    ports = Ports()
    for name in names:
        kind = PortKind.LAN if name == lan else PortKind.POINT_TO_POINT
        ports.add(name, kind, name.encode().ljust(16), 1)
    return ports


def sent(out: Outbox) -> list[tuple[str, CastFrame]]:
    """What was sent since the last call, by port."""
    found = []
    while (output := out.poll()) is not None:
        if isinstance(output, Send):
            found.append((output.port, output.frame))
    return found
