"""Builds the channel network of an experiment's `[channel]`: one publisher, its receivers."""

from __future__ import annotations

from functools import partial
from typing import Final

from penstock.kernel.instant import MILLISECOND, Duration, Instant, seconds
from penstock.kernel.seeds import Seeds
from penstock.lab.experiment import Experiment
from penstock.lab.scenario import Scenario, errors_at_key
from penstock.lab.schema.network import ChannelPart, ClockPart
from penstock.lab.toml_document import TomlDocument
from penstock.lab.transport_options import endpoint_settings, ordering_settings
from penstock.sim import publish_schedule
from penstock.sim.channel.match_draws import MatchDraws
from penstock.sim.channel.network import ChannelNetwork
from penstock.sim.channel.path_model import PathModel, PeriodicLoss
from penstock.sim.clock import Clock
from penstock.sim.link_spec import LinkSpec
from penstock.sim.publishing_app import EndpointPublishingApp
from penstock.sim.recorder import Recorder
from penstock.trace.host_role import HostRole
from penstock.trace.records import Host
from penstock.tracefile.retention import Recording
from penstock.transport.settings import OrderingSettings

PUBLISHER: Final = "publisher"
RECEIVERS: Final = "receivers"
_PUBLISHER_ID: Final = 1


def build_channel(
    part: ChannelPart,
    experiment: Experiment,
    document: TomlDocument,
    seeds: Seeds,
    recording: Recording,
) -> Scenario:
    """Builds the publisher and all receivers, at time 0."""
    run = experiment.run
    origin = seconds(run.warmup_s)
    end = origin + seconds(run.duration_s)
    stop = end + seconds(run.drain_s)
    recorder = Recorder(recording)
    orderings = {}
    for name, ordering in experiment.orderings.items():
        with errors_at_key(document, "orderings", name):
            orderings[name] = ordering_settings(ordering)
    with errors_at_key(document, "channel"):
        network = ChannelNetwork(
            seeds.child("world"), make_path_model(part), codec=part.codec, outlets=recorder.outlets
        )
        draws = _make_match_draws(part)
        access = LinkSpec(loss=None if part.lost_every is None else PeriodicLoss(part.lost_every))
        settings = endpoint_settings(experiment.transport)
        # No sampling: the links of a channel have no rate and no queue.
        recorder.attach(network)
        network.add_endpoint(PUBLISHER, publisher=_PUBLISHER_ID, settings=settings, access=access)
        names = _add_receivers(part, network, draws, orderings, recorder)
        _schedule_clock_steps(part.clock, network, names, stop)
        recorder.add_name(PUBLISHER, _PUBLISHER_ID)
        rng = seeds.rng("publisher", "when")
        EndpointPublishingApp(
            network.world,
            network.world.host(PUBLISHER),
            publish_schedule.departures(
                publish_schedule.Constant(part.rate),
                start=origin,
                stop=end,
                rng=rng,
                poisson=part.spacing == "poisson",
            ),
            draws.message_maker(seeds.rng("publisher", "what"), first_every=part.lost_every),
            on_published=recorder.on_published,
        )
    hosts = [Host(PUBLISHER, PUBLISHER, HostRole.PUBLISHER)]
    hosts += [Host(name, RECEIVERS, HostRole.SUBSCRIBER) for name in names]

    def close() -> None:
        network.close_endpoints()
        recorder.on_end()

    return Scenario(network.world.events, close, origin, stop, hosts)


def check_kind_of_network(experiment: Experiment, document: TomlDocument) -> None:
    """Raises a UsageError unless there is exactly one kind of network, with the keys it takes."""
    kinds = ("network", "channel", "streams", "casts")
    chosen = [kind for kind in kinds if getattr(experiment, kind) is not None]
    if len(chosen) != 1:
        raise document.error(
            (chosen[0],) if chosen else (),
            "an experiment runs on a network, a channel, streams or casts: write one of them",
        )
    if experiment.streams is not None or experiment.casts is not None:
        _check_nothing_of_endpoints(experiment, document)
        return
    if experiment.network is not None:
        if not experiment.clients:
            raise document.error(("network",), "a network needs clients: write [clients.NAME]")
        return
    network_only = ("clients", experiment.clients), ("markets", experiment.markets)
    for key, what in (*network_only, ("tcp", experiment.tcp)):
        if what:
            raise document.error((key,), f"a channel has a workload of its own: leave {key} out")
    if not experiment.orderings:
        raise document.error(("channel",), "a channel is for orderings: write [orderings.NAME]")


def _check_nothing_of_endpoints(experiment: Experiment, document: TomlDocument) -> None:
    for key in ("clients", "markets", "tcp", "orderings", "transport"):
        if getattr(experiment, key):
            raise document.error(
                (key,),
                f"streams and casts have programs of their own and no transport: leave {key} out",
            )


def make_path_model(part: ChannelPart) -> PathModel:
    """Builds the path model that a file describes."""
    return PathModel(
        hops=part.hops,
        hop_ns=_milliseconds(part.hop_ms),
        fixed_ns=_milliseconds(part.fixed_ms),
        loss=part.loss,
        duplicates=part.duplicates,
        correlation=part.correlation,
        detours=part.detours,
        detour_ns=_milliseconds(part.detour_ms),
    )


def _make_match_draws(part: ChannelPart) -> MatchDraws:
    count = 1 if part.overlap is None else part.receivers
    return MatchDraws(probabilities=(part.match,) * count, overlap=part.overlap)


def _add_receivers(
    part: ChannelPart,
    network: ChannelNetwork,
    draws: MatchDraws,
    orderings: dict[str, OrderingSettings],
    recorder: Recorder,
) -> list[str]:
    names = [f"receiver-{index + 1}" for index in range(part.receivers)]
    clock = part.clock
    for index, name in enumerate(names):
        network.add_endpoint(
            name,
            publisher=_PUBLISHER_ID + 1 + index,
            settings=endpoint_settings(None),
            on_arrived=recorder.on_arrived,
            clock=Clock(offset_ns=_milliseconds(clock.offset_ms), drift_ppm=clock.drift_ppm),
        )
        predicate = draws.interest(0 if part.overlap is None else index)
        network.subscribe_endpoint(name, predicate, orderings)
        recorder.add_subscriber(name, predicate)
    return names


def _schedule_clock_steps(
    clock: ClockPart, network: ChannelNetwork, names: list[str], stop: Instant
) -> None:
    """Schedules all clock steps of the receivers up to `stop`."""
    every = seconds(clock.step_every_s)
    if not every or not clock.step_ms:
        return
    events = network.world.events
    for name in names:
        step = partial(network.world.host(name).step_clock, _milliseconds(clock.step_ms))
        for at in range(every, stop, every):
            events.schedule(at, step)


def _milliseconds(value: float) -> Duration:
    return round(value * MILLISECOND)
