"""A broker on a UDP socket.

Any host that sends HELLO is a client, until it falls silent. Neighbours must be configured at both
ends; frames of other brokers are ignored.
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
    """A broker that runs in this process; created by `serve`."""

    def __init__(self, sock: socket.socket, pump: Pump[Broker]) -> None:
        self._family: Final = sock.family
        self._pump: Final = pump
        # The address for clients and neighbours; has the real port if port 0 was requested.
        self.address: Final = address.port_of(sock.getsockname())

    @property
    def machine(self) -> Broker:
        """The broker itself, for inspection."""
        return self._pump.machine

    @property
    def neighbours(self) -> Mapping[str, bool]:
        """Whether the link to each neighbour is up in both directions, by address."""
        return self.machine.links

    @property
    def counters(self) -> Mapping[str, Mapping[str, int]]:
        """Counters of the broker (`docs/overlay.md`) and of its socket (`docs/live.md`)."""
        return {"broker": dict(self.machine.counters), "socket": dict(self._pump.counters)}

    async def add_neighbour(self, where: str) -> None:
        """Adds a link to the broker at this address, which must add this one too."""
        _, sockaddr = await address.resolve(address.parse(where), family=self._family)
        port = address.port_of(sockaddr)
        if port == self.address:
            raise UsageError(f"a broker is no neighbour of itself: leave {where} out")
        self._pump.call(lambda broker, now: broker.link_up(port, _LINK_COST, now=now))

    async def wait(self) -> None:
        """Waits until the broker has stopped; raises the error that stopped it."""
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
    """Runs a broker at `listen`, where port 0 stands for any free port.

    Frames that are sent while more than the share `mark_above` of the send queue is in use carry
    the congestion mark, for endpoints with congestion control; None disables marking.
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
