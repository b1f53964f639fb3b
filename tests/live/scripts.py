"""A script of subscriptions, publications and mishaps, run in the simulator and on sockets.

Two brokers, and nodes that each reach theirs over a line that can lose or hold a
publication. The simulator goes first, with time to spare between the steps. On
sockets a step is over when brokers and subscriptions are as far as they were in
the simulator after it, so that nothing depends on how quick the machine is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

from penstock.content.message import Message
from penstock.content.syntax import parse
from penstock.content.tags import Encoder
from penstock.content.value import Value
from penstock.kernel.instant import MILLISECOND, SECOND, Instant
from penstock.kernel.machine import Deliver
from penstock.kernel.seeds import Seeds
from penstock.live.daemon.broker import RunningBroker, serve
from penstock.live.network_config import Agreement
from penstock.live.node.node import Node, connect
from penstock.live.node.subscription import Received, Subscription
from penstock.live.node.subscription_options import ordering_of
from penstock.overlay.broker import Broker
from penstock.overlay.client import OverlayClient
from penstock.sim.broker_network import BrokerNetwork
from penstock.sim.host import Host, Outlets
from penstock.sim.link_spec import LinkSpec
from penstock.sim.topology import line as in_line
from penstock.trace.fates import RECEIVED
from penstock.transport.endpoint import Endpoint
from penstock.transport.facts import Absence, Delivery
from penstock.transport.settings import DEFAULT, OrderingSettings
from tests.live.loopback import Line, LiveLine, bad_line, until

# The broker of each node, by its place; nodes publish as 1, 2 and so on.
NODES: Final = {"ann": 0, "bob": 1, "cat": 1}
BROKERS: Final = 2
# What encodes alike has the same adverts.
SALT: Final = "simulated"


class Subscribe(NamedTuple):
    node: str
    name: str
    interest: str
    ordering: OrderingSettings = DEFAULT


class Adjust(NamedTuple):
    name: str
    changes: Mapping[str, Any]


class Unsubscribe(NamedTuple):
    name: str


class Publish(NamedTuple):
    node: str
    attributes: Mapping[str, Value]


class Mishap(NamedTuple):
    """`lose` or `hold` the node's next publication, or `release` those held."""

    node: str
    what: str


Step: TypeAlias = Subscribe | Adjust | Unsubscribe | Publish | Mishap


class Got(NamedTuple):
    publisher: int
    number: int
    attributes: dict[str, Value]
    fate: str


class Missed(NamedTuple):
    publisher: int
    number: int
    resolution: str


@dataclass
class Outcome:
    """What one subscription was told."""

    got: list[Got] = field(default_factory=list)
    missed: list[Missed] = field(default_factory=list)


class State(NamedTuple):
    """How far everything is, as far as it does not depend on time."""

    delivered: dict[str, int]
    published: list[int]
    known: list[tuple[list[int], list[tuple[int, ...]]]]


def state(brokers: Sequence[Broker], delivered: dict[str, int]) -> State:
    return State(
        delivered,
        [broker.counters["published"] for broker in brokers],
        [
            (broker.reachable, [broker.advertised_by(origin) for origin in broker.reachable])
            for broker in brokers
        ],
    )


class Simulated:
    """The script's world in the simulator."""

    def __init__(self) -> None:
        topology = in_line(BROKERS)
        self._net = BrokerNetwork(Seeds(1), topology, LinkSpec(delay_ns=MILLISECOND), codec=True)
        self._world = self._net.world
        self._brokers = topology.nodes
        self.outcomes: dict[str, Outcome] = {}
        self._asked: dict[str, tuple[str, int, OrderingSettings]] = {}
        self._names: dict[tuple[str, int], str] = {}
        for publisher, (name, place) in enumerate(NODES.items(), start=1):
            self._add(name, publisher, self._brokers[place])
        self._world.run(2 * SECOND)

    def _add(self, name: str, publisher: int, broker: str) -> None:
        between = f"line of {name}"

        def make(now: Instant) -> Endpoint[Any]:
            client = OverlayClient(between, 1)
            client.link_up(now=now)
            endpoint = Endpoint(
                client, endpoint_id=publisher, epoch=1, encoder=Encoder(SALT.encode())
            )
            endpoint.wake(now=now)
            return endpoint

        self._world.add_host(between, lambda _now: Line(broker))
        self._world.add_host(name, make, outlets=Outlets(deliver=self._take))
        self._world.connect(between, broker, LinkSpec())
        self._world.connect(name, between, LinkSpec())

    def _take(self, host: Host[Any, Any], output: Deliver) -> None:
        fact = output.item
        assert isinstance(fact, Delivery | Absence)
        outcome = self.outcomes[self._names[host.name, fact.subscription]]
        if isinstance(fact, Absence):
            outcome.missed.append(_missed(fact))
        elif fact.fate in RECEIVED:
            frame = fact.frame
            attributes = dict(frame.message.attributes)
            outcome.got.append(Got(frame.pub, frame.seq, attributes, fact.fate))

    def perform(self, step: Step) -> State:
        """One step, and what came of it."""
        hosts = self._world.hosts
        match step:
            case Subscribe(node, name, interest, ordering):
                self.outcomes[name] = Outcome()

                def ask(endpoint: Any, now: Instant) -> None:
                    number = endpoint.subscribe(parse(interest), ordering=ordering, now=now)
                    self._asked[name] = (node, number, ordering)
                    self._names[node, number] = name

                hosts[node].call(ask)
            case Adjust(name, changes):
                node, number, before = self._asked[name]
                after = ordering_of(before, **changes)
                self._asked[name] = (node, number, after)
                hosts[node].call(lambda endpoint, now: endpoint.reconfigure(number, after, now=now))
            case Unsubscribe(name):
                node, number, _ = self._asked[name]
                hosts[node].call(lambda endpoint, now: endpoint.unsubscribe(number, now=now))
            case Publish(node, attributes):
                message = Message(attributes)
                hosts[node].call(lambda endpoint, now: endpoint.publish(message, now=now))
            case Mishap(node, what):
                hosts[f"line of {node}"].call(lambda line, _now: getattr(line, what)())
        self._world.run(self._world.now + 200 * MILLISECOND)
        delivered = {name: len(outcome.got) for name, outcome in self.outcomes.items()}
        return state([hosts[name].machine for name in self._brokers], delivered)


class OnSockets:
    """The same on loopback; enter the stack first."""

    def __init__(self, stack: AsyncExitStack) -> None:
        self._stack = stack
        self._agreement = Agreement(name=SALT)
        self._brokers: list[RunningBroker] = []
        self._lines: dict[str, LiveLine] = {}
        self._nodes: dict[str, Node] = {}
        self._subscriptions: dict[str, Subscription] = {}

    async def start(self) -> None:
        enter = self._stack.enter_async_context
        for number in range(1, BROKERS + 1):
            before = [self._brokers[-1].address] if self._brokers else []
            broker = await enter(
                serve("127.0.0.1:0", number=number, neighbours=before, agreement=self._agreement)
            )
            if self._brokers:
                await self._brokers[-1].add_neighbour(broker.address)
            self._brokers.append(broker)
        for publisher, (name, place) in enumerate(NODES.items(), start=1):
            line = await enter(bad_line(self._brokers[place].address))
            node = connect(line.address, publisher=publisher, agreement=self._agreement)
            self._lines[name], self._nodes[name] = line, await enter(node)

    async def perform(self, step: Step, goal: State) -> None:
        """One step, until it has come as far as in the simulator."""
        match step:
            case Subscribe(node, name, interest, ordering):
                subscription = self._nodes[node].subscribe(interest, ordering=ordering)
                assert not len(subscription.missing)  # from now on they are kept
                self._subscriptions[name] = await self._stack.enter_async_context(subscription)
            case Adjust(name, changes):
                self._subscriptions[name].adjust(**changes)
            case Unsubscribe(name):
                self._subscriptions[name].end()
            case Publish(node, attributes):
                await self._nodes[node].publish(attributes)
            case Mishap(node, what):
                getattr(self._lines[node], what)()
        await until(lambda: self._state() == goal)

    async def outcomes(self) -> dict[str, Outcome]:
        """What the subscriptions were told; they must all have ended."""
        return {
            name: Outcome(
                [_got(message) async for message in subscription],
                [_missed(absence) async for absence in subscription.missing],
            )
            for name, subscription in self._subscriptions.items()
        }

    def _state(self) -> State:
        delivered = {
            name: sum(subscription.counters[fate] for fate in RECEIVED)
            for name, subscription in self._subscriptions.items()
        }
        return state([broker.machine for broker in self._brokers], delivered)


def _got(message: Received) -> Got:
    return Got(message.publisher, message.number, dict(message.attributes), message.fate)


def _missed(absence: Absence) -> Missed:
    return Missed(absence.id.pub, absence.id.seq, absence.resolution)
