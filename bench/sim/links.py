"""The chain over our own links: routers that are bare functions, and routers that are machines.

No packet of any protocol is built: a packet is a number and a size.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from bench.sim.chain import INTERVAL_NS, PLAIN, ROUTERS, SIZE_BYTES, phases, specs
from penstock.kernel.instant import Duration, Instant
from penstock.kernel.machine import Output, Port, Send
from penstock.kernel.seeds import Seeds
from penstock.sim.events import EventQueue
from penstock.sim.host import Framing
from penstock.sim.link import Link
from penstock.sim.link_spec import LinkSpec
from penstock.sim.topology import line
from penstock.sim.world import World


def over_links(spec: LinkSpec, span_ns: Duration) -> tuple[int, int]:
    """Routers are functions; returns packet-hops and packets that came through."""
    events, seeds = EventQueue(), Seeds(1)
    arrived: deque[int] = deque()
    receive: Callable[[int], object] = arrived.append
    links: list[Link[int]] = []
    for number, one in reversed(list(enumerate(specs(spec), start=1))):
        link = Link[int](f"B{number}-B{number + 1}", one, receive, events=events, seeds=seeds)
        links.append(link)
        receive = _forwarder(link)

    def publish(flow: int) -> None:
        receive(flow)
        events.schedule(events.now + INTERVAL_NS, publish, flow)

    for flow, phase_ns in enumerate(phases()):
        events.schedule(phase_ns, publish, flow)
    events.run(span_ns)
    return sum(link.sent_frames for link in links), len(arrived)


def _forwarder(link: Link[int]) -> Callable[[int], None]:
    send = link.send

    def forward(packet: int) -> None:
        send(packet, SIZE_BYTES)

    return forward


class Router:
    """Forwards all it receives, as a machine."""

    def __init__(self, next_port: Port | None) -> None:
        self.received = 0
        self._next_port = next_port
        self._out: deque[Output[int]] = deque()

    def begin(self, _now: Instant) -> Router:
        """For a host that never crashes the one router is enough."""
        return self

    def receive(self, frame: int, *, via: Port, now: Instant) -> None:  # noqa: ARG002
        """On to the next."""
        self.received += 1
        if self._next_port is not None:
            self._out.append(Send(self._next_port, frame))

    def wake(self, *, now: Instant) -> None:
        """Nothing is ever due."""

    def next_wakeup(self) -> Instant | None:
        """Never."""
        return None

    def poll(self) -> Output[int] | None:
        """What is to be forwarded."""
        return self._out.popleft() if self._out else None


def over_hosts(span_ns: Duration) -> tuple[int, int]:
    """Routers are machines, driven by hosts without workers."""
    world = World(Seeds(1), Framing[int](size_of=lambda _frame: SIZE_BYTES))
    names = line(ROUTERS).nodes
    routers = [Router(port) for port in (*names[1:], None)]
    for name, router in zip(names, routers, strict=True):
        world.add_host(name, router.begin)
    for one, other, spec in zip(names, names[1:], specs(PLAIN), strict=False):
        world.connect(one, other, spec)
    first = world.host(names[0])

    def publish(flow: int) -> None:
        first.arrive("flows", flow)
        world.events.schedule(world.now + INTERVAL_NS, publish, flow)

    for flow, phase_ns in enumerate(phases()):
        world.events.schedule(phase_ns, publish, flow)
    world.run(span_ns)
    return sum(link.sent_frames for link in world.links.values()), routers[-1].received
