"""A broker on a UDP socket.

Clients need no introduction: whoever says HELLO is one, until it falls silent.
Neighbours are named at both ends; a broker that nobody named is not listened to.
"""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Final

from penstock.kernel.errors import UsageError
from penstock.live.epoch import new_epoch
from penstock.live.net import address
from penstock.live.net.pump import Pump
from penstock.live.network_config import DEFAULT_NETWORK, Agreement
from penstock.overlay.broker import Broker

_LINK_COST: Final = 1


class RunningBroker:
    """One that runs; `serve` makes it."""

    def __init__(self, sock: socket.socket, pump: Pump[Broker]) -> None:
        self._family: Final = sock.family
        self._pump: Final = pump
        # Where others find it; the port is the real one where any was asked for.
        self.address: Final = address.port_of(sock.getsockname())

    @property
    def machine(self) -> Broker:
        """To look into."""
        return self._pump.machine

    @property
    def neighbours(self) -> Mapping[str, bool]:
        """By address, whether each answers and hears us."""
        return self.machine.links

    @property
    def counters(self) -> Mapping[str, Mapping[str, int]]:
        """Of the broker (`docs/overlay.md`) and of its socket (`docs/live.md`)."""
        return {"broker": dict(self.machine.counters), "socket": dict(self._pump.counters)}

    async def add_neighbour(self, where: str) -> None:
        """There is a link to the broker at this address, which must name this one too."""
        _, sockaddr = await address.resolve(address.parse(where), family=self._family)
        port = address.port_of(sockaddr)
        if port == self.address:
            raise UsageError(f"a broker is no neighbour of itself: leave {where} out")
        self._pump.call(lambda broker, now: broker.link_up(port, _LINK_COST, now=now))

    async def wait(self) -> None:
        """Until it ends; raises what it died of."""
        await self._pump.wait()


@asynccontextmanager
async def serve(
    listen: str,
    *,
    number: int = 1,
    neighbours: Iterable[str] = (),
    agreement: Agreement = DEFAULT_NETWORK,
    mark_above: float | None = None,
) -> AsyncIterator[RunningBroker]:
    """Runs a broker at `listen`, where port 0 stands for any that is free.

    What leaves while more than a share `mark_above` of its send queue is taken bears the
    congestion mark, for endpoints with congestion control; without, nothing does.
    """
    if mark_above is not None and not 0 <= mark_above <= 1:
        raise UsageError(f"mark_above is a share of the send queue, 0 to 1, not {mark_above}")
    broker = Broker(
        number,
        new_epoch(),
        agreement.encoder(),
        network=agreement.network,
        settings=agreement.overlay,
    )
    sock = await _listen(address.parse(listen, port_min=0))
    pump = Pump(sock, broker, mark_above=mark_above)
    try:
        running = RunningBroker(sock, pump)
        for neighbour in neighbours:
            await running.add_neighbour(neighbour)
        yield running
    finally:
        pump.close()


async def _listen(host_port: address.HostPort) -> socket.socket:
    family, sockaddr = await address.resolve(host_port)
    sock = socket.socket(family, socket.SOCK_DGRAM)
    try:
        sock.bind(sockaddr)
    except OSError as error:
        sock.close()
        why = (error.strerror or str(error)).lower()
        raise UsageError(
            f"cannot listen at {host_port}: {why}: choose an address of this machine,"
            " and a port that is free (0 for any)"
        ) from None
    return sock
