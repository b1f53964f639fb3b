"""The swarm test of casts: nodes and links that fail while an object is cast, drawn from a seed.

A time of faults, then a time in which everything works: whoever still wants the object gets it by
another offer at the latest, and then nothing is left to do. Checkers watch from outside.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from penstock.kernel.instant import MILLISECOND, SECOND, Duration
from penstock.kernel.seeds import Seeds
from penstock.sim.cast.cast_applications import (
    ReceivingProgram,
    SendingProgram,
    blocks_of,
    offer_of,
)
from penstock.sim.cast.cast_network import CastNetwork
from penstock.sim.cast.stream_programs import ReadingProgram, WritingProgram, stream_of
from penstock.sim.checkers.cast.base import LINES_MAX, CastChecker, CheckedFrames
from penstock.sim.checkers.cast.bounds_of_tables import BoundsOfTablesChecker
from penstock.sim.checkers.cast.fills import FillsChecker
from penstock.sim.checkers.cast.identical_blocks import IdenticalBlocksChecker
from penstock.sim.checkers.cast.identical_bytes import IdenticalBytesChecker
from penstock.sim.checkers.cast.one_crossing import OneCrossingChecker
from penstock.sim.checkers.cast.quiet import QuietChecker
from penstock.sim.checkers.cast.told import ToldChecker
from penstock.sim.swarm.cast_controllers import ITEM_SCOPE
from penstock.sim.swarm.cast_faults import CastFaults
from penstock.sim.swarm.cast_options import SYMBOL_BYTES, CastOptions, draw_cast_options
from penstock.sim.swarm.run import SwarmFailed
from penstock.wire.codec.cast.cast_codec import CastCodec
from penstock.wire.codec.cast.mac import Blake2Sealer
from penstock.wire.frames.cast.base import CastFrame, Item
from penstock.wire.frames.cast.topology import CastRole

ITEM: Final = Item(ITEM_SCOPE, 2)
CONTROLLER: Final = CastRole.ROUTER | CastRole.RENDEZVOUS | CastRole.TOPOLOGY
HOST: Final = CastRole(0)
DISCOVERY_NS: Final[Duration] = 1_500 * MILLISECOND
# For nodes to learn again of each other, and the controller of all, in spite of losses.
HEALED_NS: Final[Duration] = 15 * SECOND
QUIET_S_MAX: Final = 150
_DELAY_NS: Final[Duration] = 5 * MILLISECOND
_STEP_NS: Final[Duration] = 500 * MILLISECOND


@dataclass(frozen=True, slots=True, kw_only=True)
class CastReport:
    """The options of a run and its results."""

    options: CastOptions
    complete: int
    offers: int
    failed: int
    stopped: int
    repairs: int
    relays: int
    faults: Mapping[str, int]
    last_draw: float
    # Of what each node told, in order.
    facts_hash: str


class CastSwarm:
    """One run."""

    def __init__(self, options: CastOptions) -> None:
        self.options: Final = options
        world = options.world
        self._rng: Final = Seeds(options.seed).rng("swarm", "cast", "run")
        self.checkers: Final[list[CastChecker]] = []
        self.network: Final = CastNetwork(
            Seeds(options.seed).child("swarm", "cast"),
            settings=options.settings,
            delay_ns=_DELAY_NS,
            loss=options.loss,
            through_codec=through_codec() if options.with_codec else None,
            observer=CheckedFrames(self.checkers),
        )
        network = self.network
        posts = options.controllers.posts
        for at, name in enumerate(world.routers):
            roles, scopes = posts[at] if at < len(posts) else (CastRole(0), ())
            network.add_node(name, CastRole.ROUTER | roles, scopes=scopes)
        for name in world.hosts:
            network.add_node(name)
        for one, other in world.links:
            network.connect(one, other)
        for router, hosts in world.lans:
            network.add_lan(router, [*hosts])
        self.sender, self.receivers, is_same = _programs(network, options)
        self._faults: Final = CastFaults(network, options, self._rng, self.receivers)
        silence_ns = 2 * options.settings.subscriber.silence_ns
        self._told: Final = ToldChecker(
            network,
            self.sender,
            self.receivers,
            silence_ns=silence_ns,
            may_fail=options.may_fail,
        )
        self._quiet: Final = QuietChecker(self.sender, self.receivers)
        self.checkers.extend(
            [
                is_same,
                FillsChecker(),
                BoundsOfTablesChecker(network, self.sender.offer),
                self._told,
                self._quiet,
            ]
        )
        planner = world.routers[options.controllers.planner]
        if options.is_steady:
            self.checkers.append(OneCrossingChecker(network, planner, ITEM))
        network.watchers.extend(self.checkers)

    def run(self) -> CastReport:
        """Faults, then peace, then the checkers."""
        self._begin()
        self._break_things()
        self._faults.mend_all()
        self._told.peace_at = self.network.events.now + HEALED_NS
        self._wait_until_done()
        wrong = [*self._find_wrong()][:LINES_MAX]
        if wrong:
            raise SwarmFailed("\n".join([*wrong, "", f"options:\n{self.options}"]))
        return self._report()

    def _begin(self) -> None:
        network = self.network
        network.run(DISCOVERY_NS)
        self.sender.publish()
        for receiver, wait_ns in zip(self.receivers, self.options.joins_ns, strict=True):
            if wait_ns:
                network.events.schedule(network.events.now + wait_ns, receiver.subscribe)
            else:
                receiver.subscribe()

    def _break_things(self) -> None:
        network, options = self.network, self.options
        begin = network.events.now
        times = sorted(self._rng.randrange(options.fault_time_ns) for _ in range(options.faults))
        for at in times:
            network.run(begin + at - network.events.now)
            self._faults.fail()
            self._sample()
        network.run(begin + options.fault_time_ns - network.events.now)

    def _sample(self) -> None:
        for checker in self.checkers:
            checker.sample(self.network)

    def _wait_until_done(self) -> None:
        """Who was told that it is over tries again, and so does the sender."""
        end = self.network.events.now + QUIET_S_MAX * SECOND
        while self.network.events.now < end:
            self.network.run(_STEP_NS)
            self._sample()
            wanting = [r for r in self.receivers if r.is_wanted and not r.is_complete]
            for receiver in wanting:
                receiver.subscribe()
            if not self.sender.is_running and any(map(self._lacks_an_offer, wanting)):
                self.sender.publish_again()
            is_over = not self.sender.is_running or self._quiet.is_unwanted
            if not wanting and is_over and not any(self._quiet.left_over(self.network)):
                return

    def _lacks_an_offer(self, receiver: ReceivingProgram | ReadingProgram) -> bool:
        """Readers of a stream that has ended will be told so."""
        is_reading = isinstance(receiver, ReadingProgram) and receiver.is_subscribed
        return not is_reading or self.network.nodes[receiver.node].machine.is_waiting(ITEM)

    def _find_wrong(self) -> Iterator[str]:
        for checker in self.checkers:
            checker.at_end(self.network)
            yield from checker.wrong

    def _report(self) -> CastReport:
        digest = hashlib.sha256()
        for name, node in self.network.nodes.items():
            digest.update(repr((name, node.facts)).encode())
        crossings = self.network.crossings
        return CastReport(
            options=self.options,
            complete=sum(receiver.is_complete for receiver in self.receivers),
            offers=len(self.sender.offers),
            failed=sum(len(fact.failed) for _, fact in self.sender.finished),
            stopped=sum(len(receiver.stopped) for receiver in self.receivers),
            repairs=crossings.total("Repair"),
            relays=crossings.total("DownRelayConfig"),
            faults=dict(self._faults.counts),
            last_draw=self._rng.random(),
            facts_hash=digest.hexdigest()[:16],
        )


def _programs(
    network: CastNetwork, options: CastOptions
) -> tuple[
    SendingProgram | WritingProgram,
    list[ReceivingProgram | ReadingProgram],
    CastChecker,
]:
    """Who sends, who receives, and who compares what they have."""
    world = options.world
    receivers = options.joins_ns.count(0) if options.knows_receivers else 0
    if options.stream is not None:
        offer = stream_of(ITEM, symbol_bytes=SYMBOL_BYTES, receivers=receivers)
        writer = WritingProgram(
            network,
            world.publisher,
            offer,
            symbols=options.symbols,
            symbols_per_s=max(1, options.stream.haste * options.symbols_per_s),
            part=options.train_symbols,
        )
        readers = [ReadingProgram(network, name, ITEM) for name in world.receivers]
        # Hosts that lose three HELLOs leave the plan for a while.
        is_calm = options.is_steady and options.knows_receivers and options.loss < 0.1
        checker = IdenticalBlocksChecker(network, writer, readers, is_calm=is_calm)
        return writer, [*readers], checker
    offer = offer_of(
        ITEM,
        symbols=options.symbols,
        block_symbols=options.block_symbols,
        manifest_symbols=options.manifest_symbols,
        symbol_bytes=SYMBOL_BYTES,
        receivers=receivers,
    )
    receiving = [ReceivingProgram(network, name, ITEM) for name in world.receivers]
    sender = SendingProgram(network, world.publisher, offer)
    return sender, [*receiving], IdenticalBytesChecker(world.publisher, blocks_of(offer))


def through_codec() -> Callable[[CastFrame], CastFrame]:
    """Writes and reads every frame."""
    codec = CastCodec(Blake2Sealer(b""), has_trains=True)
    return lambda frame: codec.decode(codec.encode(frame))


def run_cast(seed: int, *, options: CastOptions | None = None) -> CastReport:
    """The whole run of one seed; raises `SwarmFailed` with all that is needed to replay it."""
    swarm = CastSwarm(draw_cast_options(seed) if options is None else options)
    try:
        return swarm.run()
    except SwarmFailed:
        raise
    except Exception as failed:
        raise SwarmFailed(f"[raised] {failed!r}\n\noptions:\n{swarm.options}") from failed
