"""One swarm run with transports: endpoints over a faulty network, and a checker around them.

1. Applications publish, subscribe, change orderings, leave and return, while links lose,
   duplicate and corrupt frames, hosts crash and clocks jump. A restarted host has a new endpoint,
   and its application subscribes again.
2. Faults and losses stop; in some runs the frames in flight have time to arrive.
3. Every subscription ends, which delivers its buffered messages and gives up the missing ones;
   then the last checks run.

With congestion control, messages are submitted first and count as published when they are sent.
The guarantees of the overlay are not checked here; see `run`.
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
from penstock.kernel.machine import Deliver, Record
from penstock.kernel.seeds import Seeds
from penstock.sim.checkers.checker_runner import INSPECT_INTERVAL_NS, CheckFailed
from penstock.sim.checkers.transport import TransportChecker
from penstock.sim.faults import ClockStep, Crash, Fault, draw_faults
from penstock.sim.host import Host, Outlets
from penstock.sim.swarm.endpoint_options import (
    EndpointOptions,
    draw_controlled_options,
    draw_endpoint_options,
)
from penstock.sim.swarm.endpoint_workload import (
    SUBSCRIPTIONS_MAX,
    Action,
    draw_actions,
    initial_actions,
)
from penstock.sim.swarm.event_log import EventLog, Log
from penstock.sim.swarm.network_builder import SwitchableLoss, build_network
from penstock.sim.swarm.run import SwarmFailed
from penstock.transport.endpoint import Endpoint
from penstock.transport.facts import Absence, Delivery, DroppedAtSource, Sent, Unseen
from penstock.transport.settings import EndpointSettings

# How long a run continues after all subscriptions have ended.
_DRAIN_NS: Final = 100 * MILLISECOND


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointReport:
    """The options of a run and its results."""

    options: EndpointOptions
    faults: tuple[Fault, ...]
    # SHA-256 of all facts, in order.
    facts_hash: str
    published: int
    # Frames that the network delivered; receipts by fate; absences by resolution.
    arrived_frames: int
    deliveries: dict[str, int]
    missing: dict[str, int]
    # Sums over all endpoints.
    counters: dict[str, int]
    # With congestion control: the submitted messages by outcome.
    submitted: dict[str, int]


class EndpointSwarm:
    """The state of one run."""

    def __init__(self, options: EndpointOptions, log: Log | None = None) -> None:
        self.options: Final = options
        self.arrived_frames = 0
        self.deliveries: Final[Counter[str]] = Counter()
        self.missing: Final[Counter[str]] = Counter()
        self.counters: Final[Counter[str]] = Counter()
        # Messages that applications did not submit because the queue was full.
        self.held_back = 0
        self.facts_hash: Final = sha256()
        self._log: Final = log
        self._is_lossy = True
        # The current machine of each application, and how often its host has started.
        self._machines: Final[dict[str, Endpoint[Any]]] = {}
        self._starts: Final[Counter[str]] = Counter()
        self._subscriptions: Final[dict[str, list[int]]] = {}
        self._away: Final[dict[str, bool]] = {}
        self._seeds: Final = Seeds(options.seed).child("swarm", "endpoints")
        self.network: Final = build_network(
            replace(options.network, clients=0),
            self._seeds,
            Outlets(deliver=self._deliver, record=self._record),
            lambda: self._is_lossy,
            ecn_threshold=options.ecn_threshold,
        )
        self._add_endpoints()
        self.stop: Final[Instant] = options.network.safety_ns
        self.faults: Final = self._draw_faults()
        clock_steps: dict[str, list[Instant]] = {}
        for fault in self.faults:
            if isinstance(fault, ClockStep):
                clock_steps.setdefault(fault.host, []).append(fault.at)
        self.checker: Final = TransportChecker(
            self.network.world,
            publishers_max=options.settings.publishers_max,
            clock_steps=clock_steps,
            corrupts_frames=options.network.corrupts_frames,
            filters=[f for interest in options.interests for f in parse(interest).filters],
        )
        if log is not None:
            self.network.world.observe(EventLog(log))

    def _add_endpoints(self) -> None:
        options, world = self.options.network, self.network.world
        homes, clocks = self._seeds.rng("homes"), self._seeds.rng("client clocks")
        access = options.access
        if access.loss is not None:
            access = replace(access, loss=SwitchableLoss(access.loss, lambda: self._is_lossy))
        for number in range(1, options.clients + 1):
            name = f"c{number}"
            host = self.network.add_endpoint(
                name,
                homes.choice(self.network.topology.nodes),
                publisher=number,
                settings=self._settings(number),
                on_arrived=self._on_arrived,
                access=access,
            )
            host.clock.step(clocks.randint(-options.offset_ns_max, options.offset_ns_max), at=0)
            drift_ppm = clocks.uniform(-options.drift_ppm_max, options.drift_ppm_max)
            host.clock.set_drift(drift_ppm, at=0)
            # A machine created before the clock is set would see it jump.
            host.crash()
            at = clocks.randint(0, options.stagger_ns)
            world.events.schedule(at, host.restart)
            world.events.schedule(at, self._join, name)

    def _settings(self, number: int) -> EndpointSettings:
        recoveries, congestion = self.options.recoveries, self.options.congestion
        return replace(
            self.options.settings,
            recovery=recoveries[number % len(recoveries)],
            congestion=congestion[number % len(congestion)],
        )

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
        """Runs all phases; the checker collects violations and does not raise them here."""
        world = self.network.world
        for fault in self.faults:
            fault.apply(world)
            if isinstance(fault, Crash) and fault.host in self.network.home_brokers:
                world.events.schedule(fault.stop, self._join, fault.host)
        for action in draw_actions(self.options, stop=self.stop):
            world.events.schedule(action.at, self._act, action)
        self._inspect()
        world.run(self.stop)
        self._is_lossy = False
        self._log_event("faults and losses stop")
        world.run(world.now + self.options.calm_ns)
        self._log_event("everybody has enough")
        for name in self.network.home_brokers:
            for _ in list(self._subscriptions[name]):
                self._unsubscribe(name, 0)
        world.run(world.now + _DRAIN_NS)
        self.checker.inspect()
        for host in world.hosts.values():
            if isinstance(host.machine, Endpoint):
                self.counters.update(host.machine.counters)

    def _inspect(self) -> None:
        self.checker.inspect()
        events = self.network.world.events
        events.schedule(events.now + INSPECT_INTERVAL_NS, self._inspect)

    # Actions of applications.

    def _join(self, name: str) -> None:
        """Starts the application of a host that has just started, with its initial actions."""
        host = self.network.world.host(name)
        if not host.is_up or self._machines.get(name) is host.machine:
            return
        before = self._machines.get(name)
        if before is not None:
            self.counters.update(before.counters)
        self._machines[name], self._subscriptions[name] = host.machine, []
        self._starts[name] += 1
        self._log_event(f"{name} starts for the {self._starts[name]}. time")
        for action in initial_actions(self.options, name, self._starts[name]):
            (self._open_cache if action.verb == "volunteer" else self._subscribe)(action)

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
            publish = self._submit if self.options.is_controlled else self._publish
            host.call(partial(publish, action))
        elif action.verb == "leave":
            self._leave(action, host)
        elif action.verb == "subscribe":
            self._subscribe(action)
        elif self._subscriptions[name]:
            (self._reconfigure if action.verb == "adjust" else self._on_unsubscribe)(action)

    def _message(self, action: Action) -> Message:
        return Message(dict(action.values), bytes(self.options.network.payload_bytes))

    def _submit(self, action: Action, endpoint: Endpoint[Any], now: Instant) -> None:
        message, congestion = self._message(action), endpoint.congestion
        if (
            congestion is not None
            and not congestion.drops_when_full
            and not endpoint.has_room_for(message, now=now)
        ):
            # A real application would wait for room, and then publish newer content.
            self.held_back += 1
            self._log_event(f"{action.client} holds back {dict(action.values)}")
            return
        self._log_event(f"{action.client} submits {dict(action.values)}")
        self.checker.submit(action.client, message)
        endpoint.submit(message, now=now)

    def _publish(self, action: Action, endpoint: Endpoint[Any], now: Instant) -> None:
        frame = endpoint.publish(self._message(action), now=now)
        self._log_event(f"{action.client} publishes {frame.id} {dict(action.values)}")
        self.checker.publish(frame)

    def _subscribe(self, action: Action) -> None:
        name, subscription_ids = action.client, self._subscriptions[action.client]
        if len(subscription_ids) >= SUBSCRIPTIONS_MAX:
            return
        interest = self.options.interests[action.interest]
        ordering = self.options.orderings[action.ordering]
        predicate = parse(interest)
        weights = self.options.weights
        weight = weights[(action.interest + action.ordering) % len(weights)]

        def subscribe(endpoint: Endpoint[Any], now: Instant) -> None:
            subscription_id = endpoint.subscribe(
                predicate, ordering=ordering, weight=weight, now=now
            )
            self._log_event(
                f"{name} subscribes {subscription_id} to {interest}, ordering {action.ordering}"
            )
            subscription_ids.append(subscription_id)
            self.checker.subscribe(name, subscription_id, predicate, ordering)

        self.network.world.host(name).call(subscribe)

    def _open_cache(self, action: Action) -> None:
        host = self.network.world.host(action.client)
        recovery = host.machine.settings.recovery
        if recovery is None or not recovery.volunteers:
            return
        interest = self.options.interests[action.interest]
        predicate = parse(interest)
        self._log_event(f"{action.client} keeps {interest} for others")
        host.call(lambda endpoint, now: endpoint.open_cache(predicate, now=now))
        self.checker.open_cache(action.client, predicate)

    def _reconfigure(self, action: Action) -> None:
        name, subscription_ids = action.client, self._subscriptions[action.client]
        subscription_id = subscription_ids[action.subscription_index % len(subscription_ids)]
        ordering = self.options.orderings[action.ordering]
        self._log_event(f"{name} adjusts {subscription_id} to ordering {action.ordering}")

        def change(endpoint: Endpoint[Any], now: Instant) -> None:
            endpoint.reconfigure(subscription_id, ordering, now=now)
            self.checker.reconfigure(name, subscription_id, ordering, local_ns=now)

        self.network.world.host(name).call(change)
        self.checker.reconfigured(name, subscription_id)

    def _on_unsubscribe(self, action: Action) -> None:
        self._unsubscribe(action.client, action.subscription_index)

    def _unsubscribe(self, name: str, index: int) -> None:
        subscription_ids = self._subscriptions[name]
        subscription_id = subscription_ids.pop(index % len(subscription_ids))
        self._log_event(f"{name} unsubscribes {subscription_id}")
        self.network.world.host(name).call(
            lambda endpoint, now: endpoint.unsubscribe(subscription_id, now=now)
        )
        self.checker.unsubscribed(name, subscription_id)

    def _leave(self, action: Action, host: Host[Any, Any]) -> None:
        name = action.client
        self._log_event(f"{name} leaves")
        self._away[name] = True
        host.crash()
        if action.is_announced:
            self.network.world.host(self.network.home_brokers[name]).call(
                lambda broker, now: broker.disconnect_client(name, now=now)
            )

    # Frames and facts at endpoints.

    def _on_arrived(self, name: str, frame: Any) -> None:
        self.arrived_frames += 1
        self._log_event(f"{name} hears {getattr(frame, 'id', frame)}")
        self.checker.on_arrived(name, frame)

    def _deliver(self, host: Host[Any, Any], output: Deliver) -> None:
        fact: Any = output.item
        row: tuple[Any, ...]
        if isinstance(fact, DroppedAtSource):
            self._note_fact(f"{host.name} drops {dict(fact.message.attributes)} {fact.waited_ns}")
            self.checker.on_dropped(host, fact)
            return
        if isinstance(fact, Delivery):
            self.deliveries[str(fact.fate)] += 1
            row = (*fact.frame.id, fact.arrived_ns, fact.resolved_ns, fact.latch_ns, str(fact.fate))
        elif isinstance(fact, Unseen):
            self.missing["unseen"] += fact.messages
            row = (fact.pub, fact.epoch, fact.messages, fact.detected_ns, fact.ended_ns)
        else:
            assert isinstance(fact, Absence)
            self.missing[str(fact.resolution)] += 1
            row = (*fact.id, fact.detected_ns, fact.lost_ns, fact.ended_ns, str(fact.resolution))
        self._note_fact(f"{host.name} subscription {fact.subscription} {row}")
        self.checker.on_fact(host, fact)

    def _record(self, host: Host[Any, Any], output: Record) -> None:
        sent = output.row
        if isinstance(sent, Sent):
            self._note_fact(f"{host.name} sends {tuple(sent.frame.id)} {sent.waited_ns}")
            self.checker.on_sent(host, sent)

    def _note_fact(self, text: str) -> None:
        """Adds a fact to the hash, which is equal for equal runs, and logs it."""
        self.facts_hash.update(f"{self.network.world.now} {text}\n".encode())
        self._log_event(text)

    def _log_event(self, text: str) -> None:
        if self._log is not None:
            self._log(f"{to_seconds(self.network.world.now):.6f} s {text}")


def run_endpoints(
    seed: int, *, options: EndpointOptions | None = None, log: Log | None = None
) -> EndpointReport:
    """Runs one seed, with options drawn from it unless they are given; raises if it fails."""
    options = options or draw_endpoint_options(seed)
    swarm = EndpointSwarm(options, log)
    try:
        swarm.run()
        submitted = swarm.checker.count_submitted()
        swarm.checker.raise_if_violated()
    except Exception as error:
        raise SwarmFailed(_failure(swarm, error)) from error
    return EndpointReport(
        options=options,
        faults=tuple(swarm.faults),
        facts_hash=swarm.facts_hash.hexdigest(),
        published=len(swarm.checker.published),
        arrived_frames=swarm.arrived_frames,
        deliveries=dict(sorted(swarm.deliveries.items())),
        missing=dict(sorted(swarm.missing.items())),
        counters=dict(swarm.counters),
        submitted={**submitted, "held back": swarm.held_back} if options.is_controlled else {},
    )


def _failure(swarm: EndpointSwarm, error: Exception) -> str:
    """The text of a failure: its cause, options, faults and how to replay it."""
    what = str(error) if isinstance(error, CheckFailed) else f"{type(error).__name__}: {error}"
    faults = "\n".join(f"  {fault}" for fault in swarm.faults) or "  none"
    options = swarm.options
    draw, flags = (
        (draw_controlled_options, "--endpoints --control")
        if options.is_controlled
        else (draw_endpoint_options, "--endpoints")
    )
    replay = (
        f"python -m penstock.sim.swarm {options.seed} {flags} --verbose"
        if options == draw(options.seed)
        else f"run_endpoints({options.seed}, options={options!r}, log=print)"
    )
    return f"{what}\n\noptions:\n{options}\nfaults:\n{faults}\nreplay: {replay}"
