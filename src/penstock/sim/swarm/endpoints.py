"""One swarm run with transports: endpoints over a network that fails, and a checker around them.

1. Applications publish, ask, change their minds, leave and come back, while links
   lose, double and garble, hosts crash and clocks jump. A host that starts again
   has a new endpoint, and its application asks anew.
2. Faults and losses stop; in some runs what is under way arrives.
3. Every subscription is ended, which hands over what is held and gives up what is
   missing, and the books are closed.

What the overlay below promises is checked in other runs.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from typing import Any, Final

from penstock.content.message import Message
from penstock.content.syntax import parse
from penstock.kernel.instant import MILLISECOND, SECOND, Instant, to_seconds
from penstock.kernel.machine import Deliver
from penstock.kernel.seeds import Seeds
from penstock.sim.checkers.checker_runner import LOOK_EVERY_NS, CheckFailed
from penstock.sim.checkers.transport import TransportCheck
from penstock.sim.faults import ClockStep, Crash, Fault, draw_faults
from penstock.sim.host import Host, Outlets
from penstock.sim.swarm.endpoint_options import EndpointOptions, draw_endpoints
from penstock.sim.swarm.endpoint_workload import SUBSCRIPTIONS_MAX, Action, draw_actions, joining
from penstock.sim.swarm.event_log import Log, Story
from penstock.sim.swarm.network_builder import Chance, build
from penstock.sim.swarm.run import SwarmFailed
from penstock.transport.endpoint import Endpoint
from penstock.transport.facts import Absence, Delivery, Unseen
from penstock.transport.settings import EndpointSettings

# How long things go on after everybody has had enough.
_REST_NS: Final = 100 * MILLISECOND


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointReport:
    """What a run was and what came of it."""

    options: EndpointOptions
    faults: tuple[Fault, ...]
    # Of all facts, in order.
    facts_hash: str
    published: int
    # Frames that the network handed over; receipts by fate; absences by resolution.
    arrived: int
    receipts: dict[str, int]
    absences: dict[str, int]
    # What all endpoints counted.
    counters: dict[str, int]


class EndpointSwarm:
    """One run in the making."""

    def __init__(self, options: EndpointOptions, log: Log | None = None) -> None:
        self.options: Final = options
        self.arrived = 0
        self.receipts: Final[Counter[str]] = Counter()
        self.absences: Final[Counter[str]] = Counter()
        self.counters: Final[Counter[str]] = Counter()
        self.facts_hash: Final = sha256()
        self._log: Final = log
        self._is_lossy = True
        # The machine of each application's present life, and how many it had.
        self._machines: Final[dict[str, Endpoint[Any]]] = {}
        self._lives: Final[Counter[str]] = Counter()
        self._subscriptions: Final[dict[str, list[int]]] = {}
        self._away: Final[dict[str, bool]] = {}
        self._seeds: Final = Seeds(options.seed).child("swarm", "endpoints")
        self.network: Final = build(
            replace(options.network, clients=0),
            self._seeds,
            Outlets(deliver=self._deliver),
            lambda: self._is_lossy,
        )
        self._add_endpoints()
        self.stop: Final[Instant] = options.network.safety_ns
        self.faults: Final = self._draw_faults()
        steps: dict[str, list[Instant]] = {}
        for fault in self.faults:
            if isinstance(fault, ClockStep):
                steps.setdefault(fault.host, []).append(fault.at)
        self.check: Final = TransportCheck(
            self.network.world,
            publishers_max=options.settings.publishers_max,
            steps=steps,
            garbles=options.network.garbles,
        )
        if log is not None:
            self.network.world.observe(Story(log))

    def _add_endpoints(self) -> None:
        options, world = self.options.network, self.network.world
        homes, clocks = self._seeds.rng("homes"), self._seeds.rng("client clocks")
        access = options.access
        if access.loss is not None:
            access = replace(access, loss=Chance(access.loss, lambda: self._is_lossy))
        for number in range(1, options.clients + 1):
            name = f"c{number}"
            host = self.network.add_endpoint(
                name,
                homes.choice(self.network.topology.nodes),
                pub=number,
                settings=self._settings(number),
                arrived=self._arrived,
                access=access,
            )
            host.clock.step(clocks.randint(-options.offset_ns_max, options.offset_ns_max), at=0)
            drift_ppm = clocks.uniform(-options.drift_ppm_max, options.drift_ppm_max)
            host.clock.set_drift(drift_ppm, at=0)
            # A machine made before its clock was set would see it jump.
            host.crash()
            at = clocks.randint(0, options.stagger_ns)
            world.events.schedule(at, host.restart)
            world.events.schedule(at, self._join, name)

    def _settings(self, number: int) -> EndpointSettings:
        recoveries = self.options.recoveries
        return replace(self.options.settings, recovery=recoveries[number % len(recoveries)])

    def _draw_faults(self) -> list[Fault]:
        options = self.options.network
        if not options.faults:
            return []
        return draw_faults(
            self.network.world,
            self._seeds,
            count=options.faults,
            start=SECOND // 4,
            stop=self.stop,
            kinds=options.fault_kinds,
        )

    # Running.

    def run(self) -> None:
        """All of it; raises nothing of its own, the check has what was objected to."""
        world = self.network.world
        for fault in self.faults:
            fault.apply(world)
            if isinstance(fault, Crash) and fault.host in self.network.homes:
                world.events.schedule(fault.stop, self._join, fault.host)
        for action in draw_actions(self.options, stop=self.stop):
            world.events.schedule(action.at, self._act, action)
        self._look()
        world.run(self.stop)
        self._is_lossy = False
        self._say("faults and losses stop")
        world.run(world.now + self.options.calm_ns)
        self._say("everybody has enough")
        for name in self.network.homes:
            for _ in list(self._subscriptions[name]):
                self._unsubscribe(name, 0)
        world.run(world.now + _REST_NS)
        self.check.look()
        for host in world.hosts.values():
            if isinstance(host.machine, Endpoint):
                self.counters.update(host.machine.counters)

    def _look(self) -> None:
        self.check.look()
        events = self.network.world.events
        events.schedule(events.now + LOOK_EVERY_NS, self._look)

    # What applications do.

    def _join(self, name: str) -> None:
        """An application whose host has started asks for something."""
        host = self.network.world.host(name)
        if not host.is_up or self._machines.get(name) is host.machine:
            return
        before = self._machines.get(name)
        if before is not None:
            self.counters.update(before.counters)
        self._machines[name], self._subscriptions[name] = host.machine, []
        self._lives[name] += 1
        self._say(f"{name} starts for the {self._lives[name]}. time")
        for action in joining(self.options, name, self._lives[name]):
            (self._volunteer if action.verb == "volunteer" else self._subscribe)(action)

    def _act(self, action: Action) -> None:
        name = action.client
        host = self.network.world.host(name)
        if action.verb == "return":
            if self._away.pop(name, False):
                host.restart()
                self._join(name)
        elif not host.is_up:
            return
        elif action.verb == "publish":
            host.call(partial(self._publish, action))
        elif action.verb == "leave":
            self._leave(action, host)
        elif action.verb == "subscribe":
            self._subscribe(action)
        elif self._subscriptions[name]:
            (self._adjust if action.verb == "adjust" else self._end)(action)

    def _publish(self, action: Action, endpoint: Endpoint[Any], now: Instant) -> None:
        payload = bytes(self.options.network.payload_bytes)
        frame = endpoint.publish(Message(dict(action.values), payload), now=now)
        self._say(f"{action.client} publishes {frame.id} {dict(action.values)}")
        self.check.publish(frame)

    def _subscribe(self, action: Action) -> None:
        name, numbers = action.client, self._subscriptions[action.client]
        if len(numbers) >= SUBSCRIPTIONS_MAX:
            return
        interest = self.options.interests[action.interest]
        ordering = self.options.orderings[action.ordering]
        predicate = parse(interest)

        def ask(endpoint: Endpoint[Any], now: Instant) -> None:
            number = endpoint.subscribe(predicate, ordering=ordering, now=now)
            self._say(f"{name} subscribes {number} to {interest}, ordering {action.ordering}")
            numbers.append(number)
            self.check.subscribe(name, number, predicate, ordering)

        self.network.world.host(name).call(ask)

    def _volunteer(self, action: Action) -> None:
        host = self.network.world.host(action.client)
        recovery = host.machine.recovery
        if recovery is None or not recovery._settings.volunteers:
            return
        interest = self.options.interests[action.interest]
        predicate = parse(interest)
        self._say(f"{action.client} keeps {interest} for others")
        host.call(lambda endpoint, now: endpoint.open_cache(predicate, now=now))
        self.check.volunteer(action.client, predicate)

    def _adjust(self, action: Action) -> None:
        name, numbers = action.client, self._subscriptions[action.client]
        number = numbers[action.which % len(numbers)]
        ordering = self.options.orderings[action.ordering]
        self._say(f"{name} adjusts {number} to ordering {action.ordering}")

        def change(endpoint: Endpoint[Any], now: Instant) -> None:
            endpoint.reconfigure(number, ordering, now=now)
            self.check.adjust(name, number, ordering, local_ns=now)

        self.network.world.host(name).call(change)
        self.check.adjusted(name, number)

    def _end(self, action: Action) -> None:
        self._unsubscribe(action.client, action.which)

    def _unsubscribe(self, name: str, which: int) -> None:
        numbers = self._subscriptions[name]
        number = numbers.pop(which % len(numbers))
        self._say(f"{name} unsubscribes {number}")
        self.network.world.host(name).call(
            lambda endpoint, now: endpoint.unsubscribe(number, now=now)
        )
        self.check.unsubscribed(name, number)

    def _leave(self, action: Action, host: Host[Any, Any]) -> None:
        name = action.client
        self._say(f"{name} leaves")
        self._away[name] = True
        host.crash()
        if action.is_told:
            self.network.world.host(self.network.homes[name]).call(
                lambda broker, now: broker.disconnect_client(name, now=now)
            )

    # What comes to them.

    def _arrived(self, name: str, frame: Any) -> None:
        self.arrived += 1
        self._say(f"{name} hears {getattr(frame, 'id', frame)}")
        self.check.arrived(name, frame)

    def _deliver(self, host: Host[Any, Any], output: Deliver) -> None:
        fact: Any = output.item
        row: tuple[Any, ...]
        if isinstance(fact, Delivery):
            self.receipts[str(fact.fate)] += 1
            row = (*fact.frame.id, fact.arrived_ns, fact.resolved_ns, fact.latch_ns, str(fact.fate))
        elif isinstance(fact, Unseen):
            self.absences["unseen"] += fact.messages
            row = (fact.pub, fact.epoch, fact.messages, fact.detected_ns, fact.ended_ns)
        else:
            assert isinstance(fact, Absence)
            self.absences[str(fact.resolution)] += 1
            row = (*fact.id, fact.detected_ns, fact.lost_ns, fact.ended_ns, str(fact.resolution))
        text = f"{host.name} subscription {fact.subscription} {row}"
        self.facts_hash.update(f"{self.network.world.now} {text}\n".encode())
        self._say(text)
        self.check.fact(host, fact)

    def _say(self, text: str) -> None:
        if self._log is not None:
            self._log(f"{to_seconds(self.network.world.now):.6f} s {text}")


def run_endpoints(
    seed: int, *, options: EndpointOptions | None = None, log: Log | None = None
) -> EndpointReport:
    """Runs one seed, with options drawn from it unless they are given; raises if it fails."""
    options = options or draw_endpoints(seed)
    swarm = EndpointSwarm(options, log)
    try:
        swarm.run()
        swarm.check.verdict()
    except Exception as error:
        raise SwarmFailed(_failure(swarm, error)) from error
    return EndpointReport(
        options=options,
        faults=tuple(swarm.faults),
        facts_hash=swarm.facts_hash.hexdigest(),
        published=len(swarm.check.published),
        arrived=swarm.arrived,
        receipts=dict(sorted(swarm.receipts.items())),
        absences=dict(sorted(swarm.absences.items())),
        counters=dict(swarm.counters),
    )


def _failure(swarm: EndpointSwarm, error: Exception) -> str:
    """All that is needed to understand a failure and to run it again."""
    what = str(error) if isinstance(error, CheckFailed) else f"{type(error).__name__}: {error}"
    faults = "\n".join(f"  {fault}" for fault in swarm.faults) or "  none"
    options = swarm.options
    is_drawn = options == draw_endpoints(options.seed)
    replay = (
        f"python -m penstock.sim.swarm {options.seed} --endpoints --verbose"
        if is_drawn
        else f"run_endpoints({options.seed}, options={options!r}, log=print)"
    )
    return f"{what}\n\noptions:\n{options}\nfaults:\n{faults}\nreplay: {replay}"
