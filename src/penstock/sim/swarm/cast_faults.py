"""The faults of a swarm test of casts, and what mends them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from typing import Final

from penstock.kernel.instant import MILLISECOND
from penstock.sim.cast.cast_applications import ReceivingProgram
from penstock.sim.cast.cast_network import CastNetwork
from penstock.sim.cast.stream_programs import ReadingProgram
from penstock.sim.loss import GilbertElliott
from penstock.sim.swarm.cast_options import CastOptions

_MEMBERSHIP: Final = (
    "UpAdvertise",
    "UpSubscribe",
    "UpUnsubscribe",
    "UpStop",
    "DownControlAck",
    "UpDown",
    "UpPlanRequest",
    "DownPlanReply",
)


class CastFaults:
    """Breaks things, and mends each after a while."""

    def __init__(
        self,
        network: CastNetwork,
        options: CastOptions,
        rng: Random,
        receivers: Sequence[ReceivingProgram | ReadingProgram],
    ) -> None:
        self.counts: Final[Counter[str]] = Counter()
        self._network: Final = network
        self._options: Final = options
        self._rng: Final = rng
        self._receivers: Final = receivers
        self._mends: Final[dict[int, Callable[[], None]]] = {}
        self._next_mend = 0

    def fail(self) -> None:
        """Lets one thing go wrong."""
        kind = self._rng.choice(self._options.fault_kinds)
        self.counts[kind] += 1
        getattr(self, f"_{kind}")()

    def mend_all(self) -> None:
        """Everything works from now on."""
        for number in list(self._mends):
            self._mend(number)

    def _mend_later(self, mend: Callable[[], None]) -> None:
        number, self._next_mend = self._next_mend, self._next_mend + 1
        self._mends[number] = mend
        wait_ns = self._rng.randint(100 * MILLISECOND, self._options.mend_ns)
        self._network.events.schedule(self._network.events.now + wait_ns, self._mend, number)

    def _mend(self, number: int) -> None:
        mend = self._mends.pop(number, None)
        if mend is not None:
            mend()

    def _mend_one(self) -> None:
        if self._mends:
            self._mend(self._rng.choice(list(self._mends)))

    # Links

    def _cut(self, *, is_noticed: bool = False) -> None:
        one, other = self._rng.choice(self._options.world.adjacencies)
        self._network.cut(one, other, is_noticed=is_noticed)
        self._mend_later(lambda: self._network.mend(one, other))

    def _cut_noticed(self) -> None:
        self._cut(is_noticed=True)

    def _burst(self) -> None:
        model = GilbertElliott.of(
            loss=self._rng.choice((0.2, 0.5)), burst=self._rng.choice((3, 20))
        )
        sender, receiver = self._draw_direction()
        self._network.faults(sender, receiver).set_bursts(model)
        self._mend_later(lambda: self._network.faults(sender, receiver).set_bursts(None))

    def _copies(self) -> None:
        faults = self._network.faults(*self._draw_direction())
        faults.copied, faults.copy_delay_ns = 0.3, self._rng.choice((0, 30)) * MILLISECOND
        self._mend_later(faults.mend)

    def _draw_direction(self) -> tuple[str, str]:
        one, other = self._rng.choice(self._options.world.adjacencies)
        return (one, other) if self._rng.random() < 0.5 else (other, one)

    def _lose(self, *kinds: str) -> None:
        faults = self._network.faults(*self._draw_direction())
        faults.lost_kinds = kinds
        self._mend_later(faults.mend)

    def _lose_first(self) -> None:
        self._lose("First")

    def _lose_end(self) -> None:
        self._lose("End")

    def _lose_report(self) -> None:
        self._lose("Report")

    def _lose_config(self) -> None:
        self._lose("DownRelayConfig", "DownStart", "UpControlAck")

    def _lose_stop(self) -> None:
        self._lose("Stop", "UpStop")

    def _lose_membership(self) -> None:
        self._lose(*_MEMBERSHIP)

    # Nodes

    def _crash(self, name: str) -> None:
        node = self._network.nodes[name]
        if node.is_up:
            node.crash()
            self._mend_later(node.restart)

    def _crash_router(self) -> None:
        world = self._options.world
        self._crash(self._rng.choice(world.routers[1:] or world.routers))

    def _crash_controller(self) -> None:
        posts = self._options.controllers.posts
        self._crash(self._rng.choice(self._options.world.routers[: len(posts)]))

    def _crash_receiver(self) -> None:
        self._crash(self._rng.choice(self._receivers).node)

    def _crash_publisher(self) -> None:
        self._crash(self._options.world.publisher)

    # Programs

    def _leave(self) -> None:
        """For good."""
        if sum(receiver.is_wanted for receiver in self._receivers) > 1:
            self._rng.choice(self._receivers).leave()

    def _rejoin(self) -> None:
        receiver = self._rng.choice(self._receivers)
        receiver.leave()
        self._mend_later(receiver.subscribe)
