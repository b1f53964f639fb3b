"""The transport endpoints among the hosts of a world."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.sim.host import Host
from penstock.sim.world import World
from penstock.transport.endpoint import Endpoint


def endpoints_in(world: World[Any]) -> Iterator[tuple[Host[Any, Any], Endpoint[Any]]]:
    """Each host that runs an endpoint, and the endpoint."""
    for host in world.hosts.values():
        if isinstance(host.machine, Endpoint):
            yield host, host.machine
