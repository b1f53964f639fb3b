"""Builds the network of one swarm run, and injects adverts of brokers that do not exist."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from random import Random
from typing import Final

from penstock.content.bloom import BloomParams
from penstock.kernel.instant import SECOND, Instant
from penstock.kernel.seeds import Seeds
from penstock.overlay.broker import Broker
from penstock.sim.broker_network import BrokerNetwork
from penstock.sim.host import Outlets, Workers, exponential
from penstock.sim.link_spec import LinkSpec
from penstock.sim.loss import IsLost, LossModel
from penstock.sim.swarm.options import Options
from penstock.wire.frames.adv import Adv
from penstock.wire.frames.base import OverlayFrame, TrafficClass
from penstock.wire.frames.lsa import Lsa, Neighbour


class SwitchableLoss:
    """A loss model that a callback can switch off."""

    def __init__(self, loss: LossModel, is_on: Callable[[], bool]) -> None:
        self._loss: Final = loss
        self._is_on: Final = is_on

    def generator(self, rng: Random) -> IsLost:
        """The model's generator, while `is_on` returns true."""
        is_lost, is_on = self._loss.generator(rng), self._is_on
        return lambda: is_on() and is_lost()


def build_network(
    options: Options,
    seeds: Seeds,
    outlets: Outlets,
    is_lossy: Callable[[], bool],
    *,
    ecn_threshold: float | None = None,
) -> BrokerNetwork:
    """Builds brokers, clients and links; links lose packets while `is_lossy` returns true."""
    topology, rng = options.build_topology(), seeds.rng("homes")
    workers = None
    if options.workers:
        workers = Workers(
            count=options.workers,
            service_time=exponential(options.service_ns),
            queue_frames_max=options.queue_frames_max,
        )
    network = BrokerNetwork(
        seeds.child("world"),
        topology,
        _with_switchable_loss(options.link, is_lossy),
        workers=workers,
        settings=options.settings,
        codec=options.codec,
        outlets=outlets,
        records_decisions=True,
        ecn_threshold=ecn_threshold,
    )
    for client_number in range(1, options.clients + 1):
        home_broker = rng.choice(topology.nodes)
        network.add_client(
            f"c{client_number}", home_broker, _with_switchable_loss(options.access, is_lossy)
        )
    _set_clocks(options, network, seeds.rng("clocks"))
    return network


def inject_stale_adverts(
    network: BrokerNetwork, seeds: Seeds, count: int, *, stop: Instant
) -> None:
    """Sends brokers, before `stop`, adverts of brokers that no longer exist."""
    rng, neighbours = seeds.rng("ghosts"), network.topology.neighbours()
    for index in range(count):
        name = rng.choice(network.topology.nodes)
        for frame in _stale_frames(100 + index, rng):
            network.world.call_at(
                rng.randint(SECOND, stop),
                name,
                partial(_receive, frame=frame, via=rng.choice(neighbours[name])),
            )


def _with_switchable_loss(spec: LinkSpec, is_lossy: Callable[[], bool]) -> LinkSpec:
    return spec if spec.loss is None else replace(spec, loss=SwitchableLoss(spec.loss, is_lossy))


def _set_clocks(options: Options, network: BrokerNetwork, rng: Random) -> None:
    for host in network.world.hosts.values():
        host.clock.step(rng.randint(-options.offset_ns_max, options.offset_ns_max), at=0)
        host.clock.set_drift(rng.uniform(-options.drift_ppm_max, options.drift_ppm_max), at=0)
        # The restart makes a new machine, which does not see the clock jump.
        host.crash()
        network.world.events.schedule(rng.randint(0, options.stagger_ns), host.restart)


def _stale_frames(origin: int, rng: Random) -> list[OverlayFrame]:
    """Frames left over from a broker that no longer exists."""
    bloom_bytes = BloomParams().m // 8
    advert = Adv(
        origin=origin,
        seq=rng.randrange(100),
        traffic=TrafficClass.DATA,
        full=True,
        bloom_bytes=bloom_bytes,
        added=(rng.getrandbits(8),),
    )
    return [Lsa(origin=origin, seq=rng.randrange(100), neighbours=(Neighbour(1, 1),)), advert]


def _receive(broker: Broker, now: Instant, *, frame: OverlayFrame, via: str) -> None:
    broker.receive(frame, via=via, now=now)
