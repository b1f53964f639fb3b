"""Which child of a relay each host is behind: its answers go there and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Final

from penstock.guaranteed.run import Run
from penstock.kernel.machine import Port
from penstock.wire.frames.guaranteed.base import BrokerFrame


class HostPorts:
    """Of one pubend. A host is where it has last asked from."""

    def __init__(
        self, children: Container[Port], *, send: Callable[[Port, BrokerFrame | Run], None]
    ) -> None:
        self._children: Final = children
        self._send: Final = send
        self._ports: Final[dict[str, Port]] = {}

    def __len__(self) -> int:
        return len(self._ports)

    def learn(self, host: str, port: Port) -> None:
        """A host has asked for something by this port."""
        self._ports[host] = port

    def port_of(self, host: str) -> Port | None:
        """By which port answers to a host leave."""
        return self._ports.get(host)

    def behind(self, port: Port) -> set[str]:
        """The hosts there."""
        return {host for host, at in self._ports.items() if at == port}

    def send(self, host: str, frame: BrokerFrame | Run) -> None:
        """Sends an answer to a host, if the child that it is behind is still there."""
        port = self.port_of(host)
        if port is not None and port in self._children:
            self._send(port, frame)
