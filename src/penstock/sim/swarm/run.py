"""One swarm run: a safety phase with faults, then a calm phase that tests the guarantees.

1. Applications join and leave, publish and subscribe, while links lose packets, hosts crash and
   clocks jump, under all checkers.
2. Faults, losses and changes stop. Within the bound that `bounds` derives, all brokers must
   converge to the true state.
3. Probes are published. Exactly their subscribers must get them, each message crosses a link
   once, and the counts must balance.

A clean run has no faults; there all guarantees hold from the start.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from penstock import __version__
from penstock.content.filter import Predicate
from penstock.content.message import Message
from penstock.content.syntax import parse
from penstock.kernel.instant import MICROSECOND, MILLISECOND, SECOND, Instant, to_seconds
from penstock.kernel.machine import Deliver, Record
from penstock.kernel.seeds import Seeds
from penstock.kernel.sequence import STAMP
from penstock.overlay.client import OverlayClient
from penstock.overlay.facts import RoutingDecision
from penstock.sim.checkers import ALL
from penstock.sim.checkers.base import Checker, Guarantees
from penstock.sim.checkers.checker_runner import CheckerRunner, CheckFailed
from penstock.sim.faults import Fault, draw_faults
from penstock.sim.host import Host, Outlets
from penstock.sim.recorder import Recorder
from penstock.sim.swarm.bounds import Bounds, derive_bounds, duplicating_links
from penstock.sim.swarm.event_log import EventLog, Log
from penstock.sim.swarm.network_builder import build_network, inject_stale_adverts
from penstock.sim.swarm.options import SUBSCRIPTIONS_MAX, Options, draw_clean_options, draw_options
from penstock.sim.swarm.workload import Action, draw_actions, draw_publication
from penstock.trace.records import Run
from penstock.tracefile.retention import Recording
from penstock.wire.frames.data import Data

_PROBE_GAP_NS: Final = 20 * MILLISECOND
_SAMPLE_NS: Final = SECOND // 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The options of a run and its results."""

    options: Options
    faults: tuple[Fault, ...]
    bounds: Bounds
    trace_hash: str
    published: int
    delivered: int
    # The number of deliveries that the guarantee of completeness required.
    required: int


class SwarmFailed(AssertionError):  # noqa: N818  a verdict, not an error
    """A run violated a guarantee; the text has all that is needed to replay it."""


class Swarm:
    """One run in progress."""

    def __init__(
        self,
        options: Options,
        recording: Recording,
        checkers: Sequence[Checker],
        log: Log | None = None,
    ) -> None:
        self.options: Final = options
        self.runner: Final = CheckerRunner(checkers)
        self.delivered = 0
        self._log: Final = log
        self._is_lossy = True
        self._recorder: Final = Recorder(recording)
        self._seqs: Final[dict[str, int]] = {}
        self._seeds: Final = Seeds(options.seed).child("swarm")
        self._away: Final[dict[str, bool]] = {}
        outlets = Outlets(deliver=self._deliver, record=self._record)
        self.network: Final = build_network(options, self._seeds, outlets, lambda: self._is_lossy)
        for name in self.network.home_brokers:
            self._recorder.add_name(name, int(name[1:]))
            self._seqs[name] = 0
        self.stop: Final[Instant] = options.safety_ns
        self.faults: Final = self._draw_faults()
        self.bounds: Final = derive_bounds(options, self.network.topology, self.faults)
        if log is not None:
            self.network.world.observe(EventLog(log))
        self._recorder.attach(self.network, sample_every_ns=_SAMPLE_NS)
        self.runner.begin(
            self.network,
            Guarantees(
                settings=options.settings,
                hop_ns=self.bounds.hop_ns,
                grace_ns=self.bounds.grace_ns,
                settled_ns=self.bounds.settled_ns,
                carried_ns=self.bounds.carried_ns,
                corrupts_frames=options.corrupts_frames,
                duplicating_links=duplicating_links(self.faults),
            ),
        )

    def _draw_faults(self) -> list[Fault]:
        options, world = self.options, self.network.world
        if not options.faults:
            return []
        return draw_faults(
            world,
            self._seeds,
            count=options.faults,
            start=SECOND // 4,
            stop=self.stop,
            kinds=options.fault_kinds,
        )

    # The phases.

    def run(self) -> None:
        """Runs all phases; does not raise for violations, which the runner collects."""
        world = self.network.world
        for fault in self.faults:
            fault.apply(world)
        for action in draw_actions(self.options, stop=self.stop):
            world.events.schedule(action.at, self._act, action)
        inject_stale_adverts(self.network, self._seeds, self.options.stale_brokers, stop=self.stop)
        if self.options.is_clean:
            world.events.schedule(self._boot_time(), self.runner.calm)
        world.run(self.stop)
        self._end_faults()
        is_clean = self.options.is_clean
        world.run(world.now + (self.bounds.settled_ns if is_clean else self.bounds.converged_ns))
        if not self.options.is_undersized and not is_clean:
            self.runner.calm()
        self._log_event("calm")
        self._probe()
        self.runner.finish()

    def _boot_time(self) -> Instant:
        """When the brokers have met; each subscription has its own settling time."""
        return max(self.bounds.booted_ns, self.bounds.settled_ns)

    def _end_faults(self) -> None:
        self._is_lossy = False
        self._log_event("faults and losses stop")
        if self.options.corrupts_frames:
            # A flipped bit may have changed state under a valid sequence number, which no protocol
            # corrects: links would have to be authenticated. See docs/swarm.md.
            for name in self.network.topology.nodes:
                self.network.world.host(name).crash()
            for name in self.network.topology.nodes:
                self.network.world.host(name).restart()

    def _probe(self) -> None:
        world, rng = self.network.world, self._seeds.rng("probes")
        for client in self._seqs:
            filters = [
                f for p in self.runner.interests.predicates_of(client).values() for f in p.filters
            ]
            if filters:
                self._recorder.add_subscriber(client, Predicate(filters))
        clients = list(self._seqs)
        for i in range(self.options.probes):
            at = world.now + i * _PROBE_GAP_NS
            world.events.schedule(at, self._act, draw_publication(rng, rng.choice(clients), at))
        world.run(world.now + self.options.probes * _PROBE_GAP_NS + self.bounds.carried_ns)

    # Actions of applications.

    def _act(self, action: Action) -> None:
        host = self.network.world.host(action.client)
        if action.verb == "return":
            self._return(action, host)
        elif not host.is_up:
            return
        elif action.verb == "publish":
            self._log_event(f"{action}")
            host.call(lambda client, now: self._publish(action, client, now))
        elif action.verb == "leave":
            self._leave(action, host)
        else:
            self._change_subscription(action)

    def _publish(self, action: Action, client: OverlayClient, now: Instant) -> None:
        name = action.client
        frame = Data(
            pub=int(name[1:]),
            epoch=0,
            seq=self._seqs[name],
            send_ts_us=now // MICROSECOND & STAMP.mask,
            since_previous_100us=0,
            send_rate_mps=0.0,
            max_round_trip_code=0,
            feedback_round=0,
            message=Message(dict(action.values), bytes(self.options.payload_bytes)),
        )
        self._seqs[name] += 1
        self._recorder.on_published(frame)
        self.runner.publish(name, frame)
        client.publish(frame, now=now)

    def _change_subscription(self, action: Action) -> None:
        name, subscription_id, interests = (
            action.client,
            action.subscription_id,
            self.runner.interests,
        )
        active, now = interests.predicates_of(name), self.network.world.now
        if action.verb == "unsubscribe":
            if subscription_id in active:
                self._log_event(f"{action}")
                interests.unsubscribe(name, subscription_id, now=now)
                self.network.unsubscribe(name, subscription_id=subscription_id)
        elif subscription_id in active or len(active) < SUBSCRIPTIONS_MAX:
            self._log_event(f"{action}")
            predicate = parse(action.predicate)
            interests.subscribe(name, subscription_id, predicate, now=now)
            self.network.subscribe(name, predicate, subscription_id=subscription_id)

    def _leave(self, action: Action, host: Host[Any, OverlayClient]) -> None:
        self._log_event(f"{action}")
        self._away[action.client] = True
        self.runner.interests.pause(action.client, now=self.network.world.now)
        host.crash()
        if action.is_announced:
            self.network.world.host(self.network.home_brokers[action.client]).call(
                lambda broker, now: broker.disconnect_client(action.client, now=now)
            )

    def _return(self, action: Action, host: Host[Any, OverlayClient]) -> None:
        if self._away.pop(action.client, False):
            self._log_event(f"{action}")
            host.restart()
            self.runner.interests.resume(action.client, now=self.network.world.now)

    # Outputs of machines.

    def _deliver(self, host: Host[Any, Any], output: Deliver) -> None:
        self.delivered += 1
        self._log_event(f"{host.name} gets {getattr(output.item, 'id', output.item)}")
        self.runner.deliver(host, output)
        if self._is_known(output.item):
            self._recorder.outlets.deliver(host, output)

    def _record(self, host: Host[Any, Any], output: Record) -> None:
        self.runner.record(host, output)
        assert isinstance(output.row, RoutingDecision)
        if self._is_known(output.row.frame):
            self._recorder.outlets.record(host, output)

    def _is_known(self, frame: object) -> bool:
        """Whether the frame was published; a message altered by a flipped bit is not traced."""
        return isinstance(frame, Data) and frame.id in self.runner.published

    def _log_event(self, text: str) -> None:
        if self._log is not None:
            self._log(f"{to_seconds(self.network.world.now):.6f} s {text}")


def run_swarm(
    seed: int,
    *,
    options: Options | None = None,
    checkers: Sequence[Callable[[], Checker]] = ALL,
    log: Log | None = None,
) -> Report:
    """Runs one seed, with given or drawn options; raises `SwarmFailed` on a violation."""
    options = options or draw_options(seed)
    checker_instances = [make() for make in checkers]
    with Recording(f"swarm-{seed}", keep=None) as recording:
        swarm = Swarm(options, recording, checker_instances, log)
        try:
            swarm.run()
            swarm.runner.raise_if_violated()
        except Exception as error:
            raise SwarmFailed(failure(swarm, error)) from error
        done = recording.finish(
            Run(
                experiment="swarm",
                profile="quick",
                variant="off",
                seed=seed,
                parameters=str(options),
                duration_ns=swarm.network.world.now,
                code_version=__version__,
            )
        )
    return Report(
        options=options,
        faults=tuple(swarm.faults),
        bounds=swarm.bounds,
        trace_hash=done.trace_hash,
        published=len(swarm.runner.published),
        delivered=swarm.delivered,
        required=sum(getattr(checker, "required", 0) for checker in checker_instances),
    )


def failure(swarm: Swarm, error: Exception) -> str:
    """Text of a failure: the violations, and what is needed to replay the run."""
    what = str(error) if isinstance(error, CheckFailed) else f"{type(error).__name__}: {error}"
    faults = "\n".join(f"  {fault}" for fault in swarm.faults) or "  none"
    return (
        f"{what}\n\noptions:\n{swarm.options}\nfaults:\n{faults}\n"
        f"bounds:\n  {swarm.bounds}\n"
        f"replay: {replay_command(swarm.options)}"
    )


def replay_command(options: Options) -> str:
    """The command or call that replays a run."""
    seed = options.seed
    if options == draw_options(seed):
        return f"python -m penstock.sim.swarm {seed} --verbose"
    if options == draw_clean_options(seed):
        return f"python -m penstock.sim.swarm {seed} --clean --verbose"
    return f"run_swarm({seed}, options={options!r}, log=print)"
