"""The chain with overlay brokers for routers, which match 1000 filters between them.

Broker B1 to B8 stand in a row over the same links. At each, five clients have
25 subscriptions each, filters of one to five constrained attributes that match
about one message in a thousand; one more client at the last broker wants every
flow, so that each message crosses the whole chain. Flows are published at the
first broker, which encodes each message and finds its destinations; wherever the
Bloom sets say so, a broker on the way matches it exactly; clients are hosts of
their own, without delay. A message is padded so that its packet has the size of
the others' packets (a few bytes more when it has several destinations).

The network has a schema, by which Bloom sets tell ranges, prefixes and suffixes,
and sets of 512 bits. Each flow says the same few messages over and over, so the
first broker remembers their bits and destinations: this favours us. With
`NEW_MESSAGES` it remembers none, and every message is encoded and looked up anew.

The world is built and warmed up, until every broker knows what every other one
wants, before the clock runs. A packet-hop is a frame that a link of the chain,
towards the last broker, has taken: PACKETs, and with them the brokers' own
traffic (HELLO every second, comparisons every five), a few frames in ten
thousand. What it takes to hand messages to clients is timed and not counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import count, cycle
from typing import Any, Final, TypeAlias

from bench.sim.chain import (
    FLOWS,
    INTERVAL_NS,
    PLAIN,
    ROUTERS,
    SIZE_BYTES,
    phases,
    specs,
)
from bench.workload import ATTRIBUTES, MIXES, NUMBER_MAX, Workload
from penstock.content.bloom import BloomParams
from penstock.content.constraint import Constraint, Op
from penstock.content.filter import Filter, Predicate
from penstock.content.message import Message
from penstock.content.schema import Encoding, Schema
from penstock.content.tags import Encoder
from penstock.content.value import Value
from penstock.kernel.instant import MICROSECOND, MILLISECOND, SECOND, Duration, Instant
from penstock.kernel.machine import Deliver
from penstock.kernel.seeds import Seeds
from penstock.overlay.broker import Broker
from penstock.overlay.client import OverlayClient
from penstock.sim.host import Framing, Host, Outlets
from penstock.sim.link_spec import LinkSpec
from penstock.sim.topology import line
from penstock.sim.world import World
from penstock.wire import size_of
from penstock.wire.frames.base import TrafficClass
from penstock.wire.frames.carried_frame import CarriedFrame
from penstock.wire.frames.data import Data
from penstock.wire.frames.packet import Packet, PacketId
from penstock.wire.frames.pub import Pub
from penstock.wire.quantise import quantise_rate

FILTERS: Final = 1000
CLIENTS_EACH: Final = 5
# Few enough for the brokers to remember where each goes, as a market with few symbols has it.
MESSAGES: Final = 2_000
# So many that no broker remembers any of them when it comes again.
NEW_MESSAGES: Final = 20_000
SINK: Final = "sink"
FLOW: Final = "flow"
RATE_MPS: Final = quantise_rate(SECOND / INTERVAL_NS)
# HELLO, adverts and link state all go round at least once in this time.
WARM_UP_NS: Final = 3 * SECOND

Tap: TypeAlias = Callable[[str, Data, Instant], None]


class BrokerChain:
    """The chain, warmed up; each `run` goes on where the last one ended.

    `on_publish` and `on_deliver`, if given, are told who (a flow, a client), what and when.
    """

    def __init__(
        self,
        *,
        filters: int = FILTERS,
        messages: int = MESSAGES,
        on_publish: Tap | None = None,
        on_deliver: Tap | None = None,
    ) -> None:
        workload = Workload(Seeds(1))
        self.brokers: Final = line(ROUTERS).nodes
        self.interests: Final = interests(self.brokers, list(workload.filters(filters)))
        self.world: Final[World[Any]] = World(Seeds(1), Framing(size_of=size_of))
        self.delivered: Final = dict.fromkeys(self.interests, 0)
        self._on_publish: Final = on_publish
        self._on_deliver: Final = on_deliver
        self._add_brokers()
        for name, (broker, predicates) in self.interests.items():
            self._add_client(name, broker, predicates)
        self._links: Final = [
            self.world.link(one, other)
            for one, other in zip(self.brokers, self.brokers[1:], strict=False)
        ]
        self.world.run(WARM_UP_NS)
        self._check_converged()
        for flow, phase_ns in enumerate(phases()):
            messages_of_flow = flow_messages(workload, flow, messages // FLOWS)
            self._start_flow(flow, WARM_UP_NS + phase_ns, messages_of_flow)

    def run(self, span_ns: Duration) -> tuple[int, int]:
        """Packet-hops, and messages that came to the client at the end, in the next `span_ns`."""
        hops, arrived = self._hops(), self.delivered[SINK]
        self.world.run(self.world.now + span_ns)
        return self._hops() - hops, self.delivered[SINK] - arrived

    def _hops(self) -> int:
        return sum(link.sent_frames for link in self._links)

    def _add_brokers(self) -> None:
        world = self.world
        for number, name in enumerate(self.brokers, start=1):
            world.add_host(name, partial(_new_broker, number))
        for one, other, spec in zip(self.brokers, self.brokers[1:], specs(PLAIN), strict=False):
            world.connect(one, other, spec)
            world.call_at(0, one, _calling("link_up", other, 1))
            world.call_at(0, other, _calling("link_up", one, 1))

    def _add_client(self, name: str, broker: str, predicates: list[Predicate]) -> None:
        world = self.world
        world.add_host(
            name, lambda _now: OverlayClient(broker, 1), outlets=Outlets(deliver=self._on_delivered)
        )
        world.connect(name, broker, LinkSpec())
        world.call_at(0, name, _calling("link_up"))
        for number, predicate in enumerate(predicates):
            world.call_at(MILLISECOND, name, _calling("subscribe", number, predicate))

    def _check_converged(self) -> None:
        machines: list[Broker] = [self.world.host(name).machine for name in self.brokers]
        for one in machines:
            for other in machines:
                known = one is other or one.advertised_by(other.id) == other.advertised()
                assert known, f"B{one.id} does not know what B{other.id} wants"

    def _start_flow(self, flow: int, start: Instant, messages: list[Message]) -> None:
        world, first, name = self.world, self.world.host(self.brokers[0]), f"flow {flow}"
        coming, numbers = cycle(messages), count()
        on_publish = self._on_publish

        def publish() -> None:
            data = _data(flow, next(numbers), next(coming), world.now)
            if on_publish is not None:
                on_publish(name, data, world.now)
            first.arrive(name, Pub(traffic=TrafficClass.DATA, carried=CarriedFrame(data)))
            world.events.schedule(world.now + INTERVAL_NS, publish)

        world.events.schedule(start, publish)

    def _on_delivered(self, host: Host[Any, Any], output: Deliver) -> None:
        self.delivered[host.name] += 1
        if self._on_deliver is not None:
            assert isinstance(output.item, Data)
            self._on_deliver(host.name, output.item, self.world.now)


def interests(
    brokers: Sequence[str], filters: list[Filter]
) -> dict[str, tuple[str, list[Predicate]]]:
    """What each client wants, and of which broker: filters dealt out in turn, and the sink."""
    clients = [(f"{broker} client {i}", broker) for i in range(CLIENTS_EACH) for broker in brokers]
    client_interests = {
        name: (broker, [Predicate([f]) for f in filters[number :: len(clients)]])
        for number, (name, broker) in enumerate(clients)
    }
    every_flow = Predicate([Filter([Constraint(FLOW, Op.EXISTS)])])
    return {**client_interests, SINK: (brokers[-1], [every_flow])}


def flow_messages(workload: Workload, flow: int, count: int) -> list[Message]:
    """What a flow says, over and over, each padded to the size of a packet."""
    return [_padded({**m.attributes, FLOW: flow}) for m in workload.messages(count)]


def schema() -> Schema:
    """What a network with such filters would agree on: ranges, prefixes and suffixes show."""
    encodings = {
        "number": Encoding(width=NUMBER_MAX / 64, levels=6),
        "word": Encoding(prefixes=(2,), suffixes=(2,)),
        "category": Encoding(),
    }
    kinds = MIXES["mixed"]
    return Schema({f"a{i:02}": encodings[kinds[i % len(kinds)]] for i in range(ATTRIBUTES)})


def _padded(attributes: dict[str, Value]) -> Message:
    bare = Packet(
        id=PacketId(1, 1, 1),
        traffic=TrafficClass.DATA,
        destinations=(ROUTERS,),
        carried=CarriedFrame(_data(0, 0, Message(attributes), 0)),
    )
    return Message(attributes, bytes(SIZE_BYTES - size_of(bare)))


def _data(flow: int, seq: int, message: Message, now: Instant) -> Data:
    return Data(
        pub=flow,
        epoch=1,
        seq=seq,
        send_ts_us=now // MICROSECOND,
        since_previous_100us=INTERVAL_NS // (100 * MICROSECOND),
        send_rate_mps=RATE_MPS,
        max_round_trip_code=0,
        feedback_round=0,
        message=message,
    )


def _new_broker(broker_id: int, _now: Instant) -> Broker:
    return Broker(broker_id, 1, Encoder(b"bench", schema(), params=BloomParams(512, 7)))


def _calling(verb: str, *arguments: object) -> Callable[[Any, Instant], object]:
    return lambda machine, now: getattr(machine, verb)(*arguments, now=now)
