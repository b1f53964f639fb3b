"""Worlds put together, watched, sampled, broken, and run again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock.kernel.errors import PeerError, UsageError
from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.kernel.seeds import Seeds
from penstock.sim.faults import (
    FAULT_KINDS,
    ClockStep,
    Corruption,
    Crash,
    Duplication,
    Fault,
    LinkDown,
    Partition,
    draw_faults,
)
from penstock.sim.host import Framing, Host, Outlets, Workers, exponential
from penstock.sim.link import Link
from penstock.sim.link_spec import LinkSpec
from penstock.sim.loss import Bernoulli
from penstock.sim.observer import DROP_REASONS, DropReason, HostSample, LinkSample, Observer
from penstock.sim.topology import line, mesh
from penstock.sim.world import World
from penstock.trace import fates
from tests.interpreters import said_under_hash_seeds
from tests.sim.machines import FRAMING, Forwarder, Parcel, decode, encode

SPEC = LinkSpec(rate_bps=8_000_000, delay_ns=MILLISECOND)


class Log(Observer):
    """Everything, as lines."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def on_send(self, link: Link[Any], frame: Any, size_bytes: int, *, now: int) -> None:
        self.lines.append(f"{now} send {link.name} {frame[1]} {size_bytes}")

    def on_arrive(self, link: Link[Any], frame: Any, *, now: int) -> None:
        self.lines.append(f"{now} arrive {link.name} {frame[1]}")

    def on_drop(self, place: str, frame: Any, reason: DropReason, *, now: int) -> None:
        self.lines.append(f"{now} drop {place} {frame[1]} {reason}")

    def deliver(self, host: Host[Any, Any], output: Any) -> None:
        self.lines.append(f"{host.now} deliver {host.name} {output.item}")


def chain(log: Log, framing: Framing[Parcel] = FRAMING) -> World[Parcel]:
    """B1–B2–B3; B1 sends a parcel to B3 every 10 ms, for a second."""
    world = World(Seeds(1), framing)
    topology = line(3)
    for name in topology.nodes:
        world.add_host(name, Forwarder, outlets=Outlets(deliver=log.deliver))
    world.connect_all(topology, SPEC)
    for number in range(100):
        world.call_at(number * 10 * MILLISECOND, "B1", _sending(("B2", "B3"), number))
    return world


def _sending(route: tuple[str, ...], number: int) -> Callable[[Forwarder, int], None]:
    return lambda machine, _now: machine.send((route, number))


def delivered(log: Log) -> list[int]:
    return [int(text.split()[-1]) for text in log.lines if " deliver " in text]


def test_observers_hear_everything_and_change_nothing() -> None:
    quiet, first, second = Log(), Log(), Log()
    chain(quiet).run(SECOND)
    world = chain(first)
    world.observe(first)
    world.observe(second)
    world.run(SECOND)
    assert [row for row in first.lines if " deliver " in row] == quiet.lines
    assert [row for row in first.lines if " deliver " not in row] == second.lines
    assert first.lines[:5] == [
        "0 send B1-B2 0 100",
        "1100000 arrive B1-B2 0",
        "1100000 send B2-B3 0 100",
        "2200000 arrive B2-B3 0",
        "2200000 deliver B3 0",
    ]


def test_a_host_and_a_link_added_later_are_observed_too() -> None:
    log = Log()
    world = chain(log)
    world.observe(log)
    world.add_host("B4", Forwarder)
    world.connect("B3", "B4", SPEC)
    world.host("B4").crash()
    world.call_at(0, "B3", _sending(("B4",), 7))
    world.run(2 * MILLISECOND)
    assert "0 send B3-B4 7 100" in log.lines
    assert "1100000 drop B4 7 down" in log.lines


def test_samples_come_at_their_interval() -> None:
    world = chain(Log())
    samples = list[LinkSample | HostSample]()
    world.sample_every(250 * MILLISECOND, samples.append)
    world.run(SECOND)
    assert len(samples) == 4 * (4 + 3)
    sent = [s.sent_frames for s in samples if isinstance(s, LinkSample) and s.link == "B1-B2"]
    assert sent == [26, 51, 76, 100]
    received = [s.received_frames for s in samples if isinstance(s, HostSample) and s.host == "B3"]
    assert received == [25, 50, 75, 100]


def test_ports_may_be_named_and_ways_may_differ() -> None:
    world = World(Seeds(1), FRAMING)
    for name in ("A", "B"):
        world.add_host(name, Forwarder)
    back = LinkSpec(delay_ns=5)
    world.connect("A", "B", LinkSpec(delay_ns=3), back=back, ports=("up", "down"))
    world.call_at(0, "A", _sending(("up", "down"), 1))
    world.run(SECOND)
    assert world.host("B").machine.heard == [(3, "down")]
    assert world.host("A").machine.heard == [(8, "up")]


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (lambda w: w.add_host("B1", Forwarder), "'B1' already"),
        (lambda w: w.connect("B1", "B9", SPEC), "no host 'B9'"),
        (lambda w: w.connect("B1", "B1", SPEC), "two different hosts"),
        (lambda w: w.connect("B2", "B1", SPEC), "two different hosts, once"),
        (lambda w: w.connect("B1", "B3", SPEC, ports=("B2", "x")), "'B2' of B1 is taken"),
        (lambda w: w.link("B1", "B3"), "no link from 'B1' to 'B3'"),
        (lambda w: w.call_at(0, "B9", print), "no host 'B9'"),
        (lambda w: w.sample_every(0, print), "above 0 ns"),
    ],
)
def test_what_cannot_be_built_is_refused(wrong: Callable[[Any], object], text: str) -> None:
    world = chain(Log())
    with pytest.raises(UsageError, match=text):
        wrong(world)


def _run_with(*faults: Fault, framing: Framing[Parcel] = FRAMING) -> Log:
    log = Log()
    world = chain(log, framing)
    world.observe(log)
    for fault in faults:
        fault.apply(world)
    world.run(2 * SECOND)
    return log


# Between two parcels: hits 30 to 49.
SPAN = {"start": 295 * MILLISECOND, "stop": 495 * MILLISECOND}


def test_a_link_goes_down_and_comes_back() -> None:
    log = _run_with(LinkDown(**SPAN, one="B3", other="B2"))
    assert delivered(log) == [*range(30), *range(50, 100)]
    assert sum(" drop B2-B3 " in row and row.endswith("down") for row in log.lines) == 20


def test_overlapping_faults_are_over_when_both_are() -> None:
    ms = MILLISECOND
    log = _run_with(
        LinkDown(**SPAN, one="B1", other="B2"),
        Partition(start=400 * ms, stop=595 * ms, island=("B1",)),
        LinkDown(start=410 * ms, stop=420 * ms, one="B1", other="B2"),
    )
    assert delivered(log) == [*range(30), *range(60, 100)]


def test_a_partition_cuts_only_what_crosses_it() -> None:
    log = _run_with(Partition(**SPAN, island=("B2", "B1")))
    assert delivered(log) == [*range(30), *range(50, 100)]
    assert not any(" drop B1-B2 " in row for row in log.lines)


def test_a_partition_cuts_both_ways() -> None:
    world = chain(Log())
    Partition(**SPAN, island=("B2", "B1")).apply(world)
    down = list[list[tuple[str, str]]]()
    for at in (SPAN["start"] - 1, SPAN["start"], SPAN["stop"] - 1, SPAN["stop"]):
        world.run(at)
        down.append([ends for ends, link in world.links.items() if not link.is_up])
    cut = [("B2", "B3"), ("B3", "B2")]
    assert down == [[], cut, cut, []]


def test_a_host_crashes_and_restarts() -> None:
    log = _run_with(Crash(**SPAN, host="B2"))
    assert delivered(log) == [*range(30), *range(50, 100)]
    assert sum(" drop B2 " in row and row.endswith("down") for row in log.lines) == 20


def test_duplication_lasts_its_time() -> None:
    numbers = delivered(_run_with(Duplication(**SPAN, one="B1", other="B2", chance=1.0)))
    assert [n for n in range(100) if numbers.count(n) == 2] == list(range(30, 50))
    assert len(numbers) == 120


def test_corruption_without_a_codec_makes_frames_unreadable() -> None:
    log = _run_with(Corruption(**SPAN, one="B1", other="B2", chance=1.0))
    assert delivered(log) == [*range(30), *range(50, 100)]
    assert sum(row.endswith("corrupt") for row in log.lines) == 20


def test_corruption_with_a_codec_flips_a_bit() -> None:
    read = list[bytes]()

    def decode_or_refuse(data: bytes) -> Parcel:
        read.append(data)
        try:
            return decode(data)
        except ValueError:
            raise PeerError("unreadable") from None

    framing = Framing[Parcel](size_of=FRAMING.size_of, codec=(encode, decode_or_refuse))
    log = _run_with(Corruption(**SPAN, one="B2", other="B3", chance=1.0), framing=framing)
    written = [encode(((), number)) for number in range(100)]
    garbled = [data for data in read if data not in written and b"B3" not in data]
    assert len(garbled) >= 15
    for data in garbled:
        assert 1 in {_bits_between(data, clean) for clean in written}
    assert sum(row.endswith("corrupt") for row in log.lines) >= 15


def _bits_between(one: bytes, other: bytes) -> int:
    return (int.from_bytes(one) ^ int.from_bytes(other)).bit_count()


def test_a_clock_steps() -> None:
    log = _run_with(ClockStep(at=495 * MILLISECOND, host="B3", by_ns=-MILLISECOND))
    rows = [row for row in log.lines if row.endswith(("deliver B3 49", "deliver B3 50"))]
    assert rows == ["492200000 deliver B3 49", "501200000 deliver B3 50"]


def test_faults_can_be_read() -> None:
    faults: list[Fault] = [
        LinkDown(**SPAN, one="B1", other="B2"),
        Partition(**SPAN, island=("B1", "B2")),
        Crash(**SPAN, host="B1"),
        Duplication(**SPAN, one="B1", other="B2", chance=0.25),
        Corruption(**SPAN, one="B1", other="B2", chance=0.25),
        ClockStep(at=1, host="B1", by_ns=-1_500_000),
    ]
    assert [str(fault) for fault in faults] == [
        "0.295000-0.495000 s link B1-B2 down",
        "0.295000-0.495000 s partition {B1, B2}",
        "0.295000-0.495000 s host B1 crashed",
        "0.295000-0.495000 s link B1-B2 duplicates 0.25",
        "0.295000-0.495000 s link B1-B2 corrupts 0.25",
        "0.000000 s clock of B1 -1.5 ms",
    ]


def test_drawn_faults_come_from_the_seed_and_all_lift() -> None:
    world = chain(Log())

    def draw(root: int) -> list[Fault]:
        start, stop = 100 * MILLISECOND, 900 * MILLISECOND
        return draw_faults(world, Seeds(root), count=60, start=start, stop=stop)

    faults = draw(3)
    assert faults == draw(3)
    assert faults != draw(4)
    assert {type(fault).__name__ for fault in faults} == {
        "LinkDown", "Partition", "Crash", "Duplication", "Corruption", "ClockStep",
    }  # fmt: skip
    log = _run_with(*faults)
    assert delivered(log)[-9:] == list(range(91, 100))
    assert delivered(log) != list(range(100))


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (
            lambda w: LinkDown(start=5, stop=5, one="B1", other="B2").apply(w),
            "stop must come later",
        ),
        (lambda w: LinkDown(**SPAN, one="B1", other="B3").apply(w), "no link from 'B1'"),
        (lambda w: Partition(**SPAN, island=("B9",)).apply(w), "no host 'B9'"),
        (lambda w: Crash(**SPAN, host="B9").apply(w), "no host 'B9'"),
        (lambda w: draw_faults(w, Seeds(1), count=1, **SPAN, kinds=["flood"]), "choose from"),
        (lambda w: draw_faults(w, Seeds(1), count=1, start=5, stop=5), "leave more time"),
    ],
)
def test_impossible_faults_are_refused(wrong: Callable[[Any], object], text: str) -> None:
    world = chain(Log())
    with pytest.raises(UsageError, match=text):
        wrong(world)


def eventful_run() -> list[str]:
    """A mesh with workers, jitter, loss, drifting clocks and every kind of fault."""
    log = Log()
    seeds = Seeds(11)
    framing = Framing[Parcel](size_of=FRAMING.size_of, is_urgent=lambda parcel: parcel[1] % 7 == 0)
    world = World(seeds, framing)
    topology = mesh(6, 9, seeds)
    for name in topology.nodes:
        world.add_host(
            name,
            Forwarder,
            workers=Workers(
                count=3, service_time=exponential(2 * MILLISECOND), queue_frames_max=20
            ),
            outlets=Outlets(deliver=log.deliver),
        )
    spec = LinkSpec(
        rate_bps=80_000,
        delay_ns=5 * MILLISECOND,
        jitter_ns=MILLISECOND,
        loss=Bernoulli(0.05),
        queue_bytes_max=500,
    )
    world.connect_all(topology, spec)
    world.observe(log)
    for fault in draw_faults(world, seeds, count=20, start=0, stop=SECOND, kinds=FAULT_KINDS):
        log.lines.append(str(fault))
        fault.apply(world)
    neighbours = topology.neighbours()
    rng = seeds.rng("workload")
    for number in range(600):
        name = rng.choice(topology.nodes)
        route = list[str]()
        for _ in range(3):
            route.append(rng.choice(neighbours[route[-1] if route else name]))
        world.call_at(number * 2 * MILLISECOND, name, _sending(tuple(route), number))
    world.run(3 * SECOND)
    return log.lines


def test_the_same_seed_is_the_same_run_under_any_hash_seed() -> None:
    program = "from tests.sim.test_world import eventful_run; print('\\n'.join(eventful_run()))"
    logs = [said.splitlines() for said in said_under_hash_seeds(program)]
    assert logs[0] == logs[1] == eventful_run()
    for word in ("queue_full", "loss", "down", "corrupt", "deliver"):
        assert any(word in row for row in logs[0]), word


def test_the_simulator_drops_for_reasons_that_traces_know() -> None:
    """One vocabulary everywhere: what is counted here is what is recorded there."""
    assert set(DROP_REASONS) <= {reason.value for reason in fates.DropReason}
