"""The chain in SimPy, as its documentation would have it.

A process for each link takes from a store and waits out the transmission; the
propagation is a bare event, not a process, which is the quicker way. Like our
own links it builds no packet of any protocol, and it must carry the same ones.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from bench.sim.chain import INTERVAL_NS, PLAIN, SIZE_BYTES, phases, specs
from penstock.kernel.instant import SECOND, Duration
from penstock.sim.link_spec import LinkSpec


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
