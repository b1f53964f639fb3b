"""What a seed draws for a swarm test of guaranteed streams.

Rates and times are small, so that a run takes half a second: variety comes from the number of
seeds, not from their length.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from random import Random
from typing import Final

from penstock.guaranteed.settings import (
    BrokerSettings,
    HostSettings,
    LinkSettings,
    PubendSettings,
    RelaySettings,
    Retention,
)
from penstock.kernel.instant import MILLISECOND, SECOND, Duration
from penstock.kernel.seeds import Seeds

# By child: its parent. Streams are created at the first broker.
Tree = tuple[tuple[str, str | None], ...]
TREES: Final[tuple[Tree, ...]] = (
    (("p", None),),
    (("p", None), ("s", "p")),
    (("p", None), ("i", "p"), ("s", "i")),
    (("p", None), ("i", "p"), ("s", "i"), ("t", "i")),
    (("p", None), ("i", "p"), ("j", "i"), ("s", "j"), ("t", "p")),
    (("p", None), ("i", "p"), ("j", "p"), ("s", "i"), ("t", "j")),
)
# Further parents, of hosts that have two, by tree.
SECOND_PARENTS: Final[dict[Tree, tuple[tuple[str, str], ...]]] = {
    TREES[5]: (("s", "j"), ("t", "i")),
}
FILTERS: Final = ("true", "k = 1", "k < 2", "k >= 2", 'k = 0 or s = "x"', "k = 7")
FAULT_KINDS: Final = (
    "crash",
    "crash_pair",
    "cut",
    "cut_in_recovery",
    "disconnect",
    "reader_crash",
    "reader_reopens",
    "reader_leaves",
    "filter_change",
    "pause",
    "writer_crash",
    "clock_step",
    "seek",
    "forget",
    "forget_host",
    "fail",
    "recreate",
    "back_up",
    "roll_back",
    "mend_one",
)
# As short as faults are near each other.
FAIL_RETRY_NS: Final = 100 * MILLISECOND
KEEP_ALL: Final = Retention()
REFUSE: Final = Retention(size_bytes=8_000)
DROP: Final = Retention(size_bytes=4_000, drops=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderOptions:
    """One program that reads."""

    broker: str
    predicate: str
    is_durable: bool
    starts_first: bool
    # Messages that it takes at a time.
    window: int
    # How long after the first message it comes; a negative time is before.
    joins_ns: Duration
    # Messages that fail twice, or kill it twice, are put aside.
    parks: bool = False
    # Its name is forgotten when nobody has read it for so long; 0: never.
    expire_s: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class GuaranteedOptions:
    """One run."""

    seed: int
    tree: Tree
    pubends: int
    writers: int
    readers: tuple[ReaderOptions, ...]
    rate_per_s: int
    fault_time_ns: Duration
    faults: int
    fault_kinds: tuple[str, ...]
    # Whether links come up only when programs are there already.
    links_up_late: bool
    with_codec: bool
    rate_bps: int | None
    # What a link takes before anything has left.
    window_bytes: int
    sync_ns: Duration
    roll_records: int
    drift_ppm: int
    queue_bytes: int
    cache_bytes: int
    repair_slice_bytes: int
    catch_up_readers_max: int
    waiting_messages: int
    retention: Retention

    def __str__(self) -> str:
        return "\n".join(f"  {field.name}: {getattr(self, field.name)}" for field in fields(self))

    @property
    def settings(self) -> BrokerSettings:
        """Of all brokers."""
        return BrokerSettings(
            pubend=PubendSettings(
                retention=self.retention, repair_slice_bytes=self.repair_slice_bytes
            ),
            relay=RelaySettings(cache_bytes=self.cache_bytes),
            host=HostSettings(
                catch_up_readers_max=self.catch_up_readers_max,
                waiting_messages=self.waiting_messages,
                fail_retry_ns=FAIL_RETRY_NS,
            ),
            link=LinkSettings(queue_bytes=self.queue_bytes),
        )

    @property
    def links(self) -> tuple[tuple[str, str], ...]:
        """Child and parent of each link."""
        first = tuple((child, parent) for child, parent in self.tree if parent is not None)
        return first + SECOND_PARENTS.get(self.tree, ())


def draw_guaranteed_options(seed: int) -> GuaranteedOptions:
    """The options of one seed."""
    rng = Seeds(seed).rng("swarm", "guaranteed", "options")
    tree = rng.choice(TREES)
    fault_time_ns = rng.choice((2, 3, 6)) * SECOND
    kinds = _draw_kinds(rng)
    return GuaranteedOptions(
        seed=seed,
        tree=tree,
        pubends=rng.choice((1, 1, 2)),
        writers=rng.randint(1, 3),
        readers=tuple(_draw_reader(rng, tree, fault_time_ns) for _ in range(rng.randint(1, 4))),
        rate_per_s=rng.choice((15, 50, 120)),
        fault_time_ns=fault_time_ns,
        faults=rng.choice((0, 5, 15, 30)),
        fault_kinds=tuple(kinds),
        links_up_late=rng.random() < 0.2,
        with_codec=rng.random() < 0.3,
        rate_bps=rng.choice((None, None, 500_000, 20_000)),
        window_bytes=rng.choice((2_000, 64 * 1024)),
        sync_ns=rng.choice((2, 2, 20, 100)) * MILLISECOND,
        roll_records=rng.choice((8, 64)),
        drift_ppm=rng.choice((0, 100, 5_000)),
        queue_bytes=rng.choice((2_000, 20_000, 5_000_000)),
        cache_bytes=rng.choice((1_000, 5_000, 64_000_000)),
        repair_slice_bytes=rng.choice((500, 256 * 1024)),
        catch_up_readers_max=rng.choice((1, 16)),
        waiting_messages=rng.choice((0, 0, 10, 4_096)),
        retention=rng.choice((KEEP_ALL, KEEP_ALL, REFUSE, DROP)),
    )


def _draw_kinds(rng: Random) -> list[str]:
    """Which faults there are; some are rare, and one excludes another."""
    shares = dict.fromkeys(FAULT_KINDS, 0.6)
    shares |= {"seek": 0.25, "forget": 0.25, "recreate": 0.15, "back_up": 0.15}
    shares |= {"forget_host": 0.15, "fail": 0.3}
    kinds = [kind for kind in FAULT_KINDS if rng.random() < shares[kind]]
    if "back_up" not in kinds:
        kinds = [kind for kind in kinds if kind != "roll_back"]
    else:
        # With both, ticks are given again, and hosts rightly stop.
        kinds = [kind for kind in kinds if kind != "clock_step"]
    return kinds or ["crash"]


def _draw_reader(rng: Random, tree: Tree, fault_time_ns: Duration) -> ReaderOptions:
    is_late = rng.random() < 0.4
    return ReaderOptions(
        broker=rng.choice(tree)[0],
        predicate=rng.choice(FILTERS),
        is_durable=rng.random() < 0.8,
        starts_first=rng.random() < 0.5,
        window=rng.choice((1, 10, 1_000)),
        joins_ns=rng.randrange(fault_time_ns) if is_late else -500 * MILLISECOND,
        parks=rng.random() < 0.3,
        expire_s=rng.choice((0, 0, 0, 1)),
    )
