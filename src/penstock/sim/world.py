"""A world: hosts by name, the links between their ports, one clock and one seed.

Built by hand or from a topology. Knows no protocol and no workload; a workload calls machines
through `call_at`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, Generic, TypeVar

from penstock.kernel.errors import PeerError, UsageError
from penstock.kernel.instant import Duration, Instant
from penstock.kernel.machine import Machine, Port
from penstock.kernel.seeds import Seeds
from penstock.sim.clock import Clock
from penstock.sim.events import EventQueue
from penstock.sim.host import Framing, Host, Marking, Outlets, Workers
from penstock.sim.link import Garble, Link
from penstock.sim.link_spec import LinkSpec
from penstock.sim.observer import HostSample, LinkSample, Observer, Observers
from penstock.sim.topology import Topology

Frame = TypeVar("Frame")
M = TypeVar("M", bound=Machine[Any])


class World(Generic[Frame]):
    """The hosts, links and events of one run."""

    def __init__(self, seeds: Seeds, framing: Framing[Frame]) -> None:
        self.seeds: Final = seeds
        self.events: Final = EventQueue()
        self.hosts: Final[dict[str, Host[Frame, Any]]] = {}
        # By the names of the sending and the receiving host.
        self.links: Final[dict[tuple[str, str], Link[Frame]]] = {}
        self._framing: Final = framing
        self._observers: Observers | None = None

    @property
    def now(self) -> Instant:
        """Global time, which no host sees."""
        return self.events.now

    def add_host(
        self,
        name: str,
        make: Callable[[Instant], M],
        *,
        workers: Workers | None = None,
        clock: Clock | None = None,
        outlets: Outlets | None = None,
        marking: Marking[Frame] | None = None,
    ) -> Host[Frame, M]:
        """Adds a host that runs the machine `make(local time)` returns."""
        if name in self.hosts:
            raise UsageError(f"there is a host {name!r} already: give each its own name")
        host = Host[Frame, M](
            name,
            make,
            framing=self._framing,
            events=self.events,
            seeds=self.seeds,
            workers=workers,
            clock=clock,
            outlets=outlets,
            marking=marking,
        )
        host.observer = self._observers
        self.hosts[name] = host
        return host

    def connect(
        self,
        one: str,
        other: str,
        spec: LinkSpec,
        *,
        back: LinkSpec | None = None,
        ports: tuple[Port, Port] | None = None,
    ) -> None:
        """Adds a link in each direction; `back` is the spec from `other`, by default `spec`.

        Each port is named after the host at the far end unless `ports` names both.
        """
        port_at_one, port_at_other = ports or (other, one)
        self._link(one, port_at_one, other, port_at_other, spec)
        self._link(other, port_at_other, one, port_at_one, back or spec)

    def connect_all(self, topology: Topology, default: LinkSpec) -> None:
        """Adds links for every edge; `default` describes edges without a spec."""
        for edge in topology.edges:
            self.connect(edge.one, edge.other, edge.spec or default)

    def _link(
        self, sender: str, out_port: Port, receiver: str, in_port: Port, spec: LinkSpec
    ) -> None:
        for name in (sender, receiver):
            if name not in self.hosts:
                raise UsageError(f"there is no host {name!r}: add it before connecting it")
        if sender == receiver or (sender, receiver) in self.links:
            raise UsageError(
                f"{sender} and {receiver} cannot be connected: "
                "a link joins two different hosts, once"
            )
        if out_port in self.hosts[sender].links:
            raise UsageError(f"port {out_port!r} of {sender} is taken: name another with ports=")
        name = f"{sender}-{receiver}"
        link = Link[Frame](
            name,
            spec,
            partial(self.hosts[receiver].arrive, in_port),
            events=self.events,
            seeds=self.seeds,
            garble=self._garble_for(name),
        )
        if self._observers is not None:
            link.observe(self._observers)
        self.links[sender, receiver] = link
        self.hosts[sender].links[out_port] = link

    def _garble_for(self, link_name: str) -> Garble[Frame] | None:
        """Returns a function that flips one bit; None without a codec: no frame is readable."""
        if self._framing.codec is None:
            return None
        encode, decode = self._framing.codec
        rng = self.seeds.rng("link", link_name, "garble")

        def garble(frame: Frame) -> Frame | None:
            encoded = bytearray(encode(frame))
            bit = rng.randrange(8 * len(encoded))
            encoded[bit // 8] ^= 1 << bit % 8
            try:
                return decode(bytes(encoded))
            except PeerError:
                return None

        return garble

    def link(self, sender: str, receiver: str) -> Link[Frame]:
        """The link from `sender` to `receiver`."""
        try:
            return self.links[sender, receiver]
        except KeyError:
            raise UsageError(f"there is no link from {sender!r} to {receiver!r}") from None

    def host(self, name: str) -> Host[Frame, Any]:
        """The host with that name."""
        try:
            return self.hosts[name]
        except KeyError:
            raise UsageError(f"there is no host {name!r}") from None

    def observe(self, observer: Observer) -> None:
        """Reports every frame sent, arrived or dropped to `observer` from now on."""
        if self._observers is None:
            self._observers = Observers()
        self._observers.add(observer)
        for link in self.links.values():
            link.observe(self._observers)
        for host in self.hosts.values():
            host.observer = self._observers

    def sample_every(
        self,
        interval_ns: Duration,
        on_sample: Callable[[LinkSample | HostSample], object],
    ) -> None:
        """Calls `on_sample` for every link and host, first one interval from now."""
        if interval_ns <= 0:
            raise UsageError(f"samples need an interval above 0 ns, not {interval_ns}")

        def sample() -> None:
            for link in self.links.values():
                on_sample(link.sample())
            for host in self.hosts.values():
                on_sample(host.sample())
            self.events.schedule(self.now + interval_ns, sample)

        self.events.schedule(self.now + interval_ns, sample)

    def call_at(self, at: Instant, name: str, verb: Callable[[Any, Instant], object]) -> None:
        """At global time `at`, calls `verb(machine, local time)` on a host, if it is up."""
        self.events.schedule(at, self.host(name).call, verb)

    def run(self, until: Instant) -> None:
        """Runs the world up to and including `until`."""
        self.events.run(until)
