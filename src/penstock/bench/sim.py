"""How many packets a second the simulator carries over a hop.

A chain of 8 routers, 50 flows of 1000 packets a second, 284 bytes each, and
drop-tail queues; the last link is too narrow, so that the queue is full and
drops. The same chain in SimPy is written as its documentation would: a process
for each link that takes from a store and waits out the transmission; the
propagation is a bare event, not a process, which is the quicker way. Both must
deliver and drop the same packets. Neither builds packets of any protocol.

Three ways over our own links: bare functions that forward, the same with jitter
and loss on each link, and hosts that each drive a machine.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from importlib import import_module
from time import perf_counter
from typing import Any, Final

from penstock.bench.result import Case, Note, Result
from penstock.kernel.instant import MILLISECOND, SECOND, Duration, Instant
from penstock.kernel.machine import Output, Port, Send
from penstock.kernel.seeds import Seeds
from penstock.sim.events import EventQueue
from penstock.sim.host import Framing
from penstock.sim.link import Link
from penstock.sim.loss import Bernoulli
from penstock.sim.spec import LinkSpec
from penstock.sim.topology import line
from penstock.sim.world import World

ROUTERS: Final = 8
FLOWS: Final = 50
INTERVAL_NS: Final = MILLISECOND
SIZE_BYTES: Final = 284
WIDE_BPS: Final = 120_000_000
NARROW_BPS: Final = 110_000_000
DELAY_NS: Final = MILLISECOND
QUEUE_BYTES: Final = 15_000
SPAN_NS: Final = SECOND
ROUNDS: Final = 3


def run(note: Note) -> Result:
    """Measures each way in turn, several times, and keeps the quickest: noise only adds time."""
    result = Result("sim", [])
    try:
        import_module("simpy")
    except ImportError:
        ways = OURS
        note("SimPy is not installed: its case is left out")
    else:
        ways = {**OURS, "SimPy": in_simpy}
    best: dict[str, float] = {}
    found: dict[str, tuple[int, int]] = {}
    for number in range(ROUNDS):
        for name, way in ways.items():
            note(f"{name}: round {number + 1} of {ROUNDS}")
            start = perf_counter()
            found[name] = way(SPAN_NS)
            best[name] = max(best.get(name, 0), found[name][0] / (perf_counter() - start))
    del found["links with jitter and loss"]
    assert len(set(found.values())) == 1, f"the same chain gave different results: {found}"
    for name, rate in best.items():
        goal = ">= 500000" if name == "bare links" else ""
        result.cases.append(Case(name, "speed", rate, "packet-hops/s", goal))
    if "SimPy" in best:
        result.ratios["bare links/SimPy"] = best["bare links"] / best["SimPy"]
        result.ratio_goals["bare links/SimPy"] = ">= 6"
    return result


def phases() -> list[Duration]:
    """When in the first interval each flow starts."""
    rng = Seeds(1).rng("bench", "sim", "phases")
    return [rng.randrange(INTERVAL_NS) for _ in range(FLOWS)]


def specs(spec: LinkSpec) -> list[LinkSpec]:
    """`spec` for each link of the chain, the last one narrower."""
    narrow = LinkSpec(
        rate_bps=NARROW_BPS,
        delay_ns=spec.delay_ns,
        jitter_ns=spec.jitter_ns,
        loss=spec.loss,
        queue_bytes_max=spec.queue_bytes_max,
    )
    return [spec] * (ROUTERS - 2) + [narrow]


PLAIN: Final = LinkSpec(rate_bps=WIDE_BPS, delay_ns=DELAY_NS, queue_bytes_max=QUEUE_BYTES)
CHANCY: Final = LinkSpec(
    rate_bps=WIDE_BPS,
    delay_ns=DELAY_NS,
    jitter_ns=DELAY_NS // 10,
    loss=Bernoulli(0.001),
    queue_bytes_max=QUEUE_BYTES,
)


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


def in_simpy(span_ns: Duration) -> tuple[int, int]:
    """The same chain, a process for each link and each flow."""
    simpy: Any = import_module("simpy")
    env = simpy.Environment()
    hops = arrived = 0

    class SimPyLink:
        def __init__(self, spec: LinkSpec, receive: Callable[[int], None]) -> None:
            assert spec.rate_bps is not None
            self.transmit_ns = SIZE_BYTES * 8 * SECOND // spec.rate_bps
            self.room_ns = spec.queue_bytes_max * 8 * SECOND // spec.rate_bps
            self.delay_ns = spec.delay_ns
            self.receive = receive
            self.store = simpy.Store(env)
            self.free_at = 0
            env.process(self.transmit())

        def send(self, packet: int) -> None:
            nonlocal hops
            free_at = max(self.free_at, env.now) + self.transmit_ns
            if free_at - env.now <= self.room_ns:
                hops += 1
                self.free_at = free_at
                self.store.put(packet)

        def transmit(self) -> Any:
            while True:
                packet = yield self.store.get()
                yield env.timeout(self.transmit_ns)
                flight = env.timeout(self.delay_ns, packet)
                flight.callbacks.append(self.arrive)

        def arrive(self, flight: Any) -> None:
            self.receive(flight.value)

    def take(_packet: int) -> None:
        nonlocal arrived
        arrived += 1

    def publish(flow: int, phase_ns: Duration, send: Callable[[int], None]) -> Any:
        yield env.timeout(phase_ns)
        while True:
            send(flow)
            yield env.timeout(INTERVAL_NS)

    receive: Callable[[int], None] = take
    for spec in reversed(specs(PLAIN)):
        receive = SimPyLink(spec, receive).send
    for flow, phase_ns in enumerate(phases()):
        env.process(publish(flow, phase_ns, receive))
    # SimPy stops before what is due at the very end.
    env.run(span_ns + 1)
    return hops, arrived


OURS: Final[dict[str, Callable[[Duration], tuple[int, int]]]] = {
    "bare links": lambda span_ns: over_links(PLAIN, span_ns),
    "links with jitter and loss": lambda span_ns: over_links(CHANCY, span_ns),
    "hosts with machines": over_hosts,
}
