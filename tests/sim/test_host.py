"""Hosts: the pump, the workers, the clock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.errors import UsageError
from penstock.kernel.instant import MICROSECOND, MILLISECOND, SECOND
from penstock.kernel.machine import Deliver, Record
from penstock.kernel.seeds import Seeds
from penstock.sim.clock import Clock
from penstock.sim.events import EventQueue
from penstock.sim.host import Framing, Host, Outlets, Workers, constant, exponential
from penstock.sim.link_spec import LinkSpec
from penstock.sim.world import World
from tests.sim.machines import FRAMING, Forwarder, Parcel, decode, encode


class Delivered:
    """(local time, number) in order."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, Any]] = []
        self.outlets = Outlets(deliver=self._take)

    def _take(self, host: Host[Any, Any], output: Deliver) -> None:
        self.rows.append((host.now, output.item))

    @property
    def numbers(self) -> list[int]:
        return [number for _, number in self.rows]


def alone(workers: Workers | None, clock: Clock | None = None) -> tuple[Any, EventQueue, Delivered]:
    events, delivered = EventQueue(), Delivered()
    host = Host[Parcel, Forwarder](
        "B1", Forwarder, framing=FRAMING, events=events, seeds=Seeds(1),
        workers=workers, clock=clock, outlets=delivered.outlets,
    )  # fmt: skip
    return host, events, delivered


def feed(host: Host[Parcel, Any], events: EventQueue, gaps: list[int]) -> list[int]:
    at, instants = 0, list[int]()
    for number, gap in enumerate(gaps):
        at += gap
        events.schedule(at, host.arrive, "p", ((), number))
        instants.append(at)
    return instants


def test_without_workers_frames_are_processed_at_once() -> None:
    host, events, delivered = alone(None)
    feed(host, events, [10, 5, 0])
    events.run(SECOND)
    assert delivered.rows == [(10, 0), (15, 1), (15, 2)]


def test_one_worker_keeps_the_order() -> None:
    host, events, delivered = alone(Workers(count=1, service_time=exponential(MILLISECOND)))
    feed(host, events, [500 * MICROSECOND] * 300)
    events.run(10 * SECOND)
    assert delivered.numbers == list(range(300))


def test_several_workers_reorder() -> None:
    host, events, delivered = alone(Workers(count=4, service_time=exponential(MILLISECOND)))
    feed(host, events, [500 * MICROSECOND] * 300)
    events.run(10 * SECOND)
    assert sorted(delivered.numbers) == list(range(300))
    assert delivered.numbers != list(range(300))


@given(
    st.integers(1, 4),
    st.integers(0, 5),
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 100)), max_size=40),
)
def test_workers_agree_with_a_queue_served_step_by_step(
    count: int, room: int, plan: list[tuple[int, int]]
) -> None:
    times = iter([time for _, time in plan])
    taken = list[int]()

    def next_time(_rng: object) -> int:
        taken.append(next(times))
        return taken[-1]

    host, events, delivered = alone(
        Workers(count=count, service_time=next_time, queue_frames_max=room)
    )
    instants = feed(host, events, [gap for gap, _ in plan])
    events.run(SECOND)
    assert sorted(delivered.rows) == sorted(_served(count, room, instants, plan))
    assert host.dropped["queue_full"] == len(plan) - len(taken)


def _served(
    count: int, room: int, instants: list[int], plan: list[tuple[int, int]]
) -> list[tuple[int, int]]:
    """The same queue, with waiting frames and busy workers in lists."""
    times = iter([time for _, time in plan])
    waiting, busy, done = list[tuple[int, int]](), list[int](), list[tuple[int, int]]()

    def advance(now: int) -> None:
        while busy and busy[0] <= now:
            end = busy.pop(0)
            if waiting:
                number, time = waiting.pop(0)
                busy.append(end + time)
                busy.sort()
                done.append((end + time, number))

    for number, at in enumerate(instants):
        advance(at)
        if len(busy) < count:
            time = next(times)
            busy.append(at + time)
            busy.sort()
            done.append((at + time, number))
            # A service of no time is over before the next frame of the same instant.
            advance(at)
        elif len(waiting) < room:
            waiting.append((number, next(times)))
    advance(SECOND)
    return done


def test_a_full_input_queue_drops() -> None:
    workers = Workers(count=1, service_time=constant(100), queue_frames_max=2)
    host, events, delivered = alone(workers)
    feed(host, events, [0, 0, 0, 0, 0])
    events.run(50)
    sample = host.sample()
    assert (sample.queue_frames, sample.received_frames, sample.dropped_frames) == (2, 0, 2)
    events.run(SECOND)
    assert delivered.rows == [(100, 0), (200, 1), (300, 2)]


def test_a_machine_is_woken_when_its_own_clock_says_so() -> None:
    host, events, _ = alone(None, Clock(offset_ns=1_000, drift_ppm=100))
    host.call(lambda machine, _now: machine.alarms.extend([SECOND, 2 * SECOND]))
    events.run(3 * SECOND)
    assert host.machine.woken == [SECOND, 2 * SECOND]


def test_an_alarm_may_move_both_ways_or_go() -> None:
    host, events, _ = alone(None)

    def alarm_at(alarms: list[int]) -> Callable[[Forwarder, int], None]:
        def verb(machine: Forwarder, _now: int) -> None:
            machine.alarms = alarms

        return verb

    host.call(alarm_at([100]))
    host.call(alarm_at([50]))
    events.run(60)
    assert host.machine.woken == [50]
    host.call(alarm_at([70]))
    host.call(alarm_at([90]))
    events.run(80)
    assert host.machine.woken == [50]
    events.run(95)
    assert host.machine.woken == [50, 90]
    host.call(alarm_at([200]))
    host.call(alarm_at([]))
    events.run(300)
    assert host.machine.woken == [50, 90]


@pytest.mark.parametrize(("by_ns", "woken_global"), [(400, 600), (-400, 1_400), (2_000, 500)])
def test_timers_follow_a_clock_that_steps(by_ns: int, woken_global: int) -> None:
    host, events, _ = alone(None)
    host.call(lambda machine, _now: machine.alarms.append(1_000))
    events.schedule(500, host.step_clock, by_ns)
    events.run(woken_global - 1)
    assert host.machine.woken == []
    events.run(woken_global)
    assert host.machine.woken == [max(1_000, 500 + by_ns)]


def test_a_machine_that_stays_due_is_our_bug() -> None:
    host, events, _ = alone(None)
    host.machine.next_wakeup = lambda: 10
    host.call(lambda _machine, _now: None)
    with pytest.raises(AssertionError, match="still due"):
        events.run(20)


def test_a_crash_loses_the_machine_and_what_it_was_busy_with() -> None:
    host, events, delivered = alone(Workers(count=1, service_time=constant(100)))
    old = host.machine
    host.call(lambda machine, _now: machine.alarms.append(250))
    feed(host, events, [0, 10, 100, 200, 100])
    events.schedule(105, host.crash)
    events.schedule(205, host.restart)
    events.run(SECOND)
    assert delivered.rows == [(100, 0), (410, 3), (510, 4)]
    assert host.dropped["down"] == 2
    assert host.machine is not old
    assert (host.machine.born, host.machine.woken) == (205, [])


def test_nothing_can_be_said_to_a_host_that_is_down() -> None:
    host, _, _ = alone(None)
    host.crash()
    host.crash()
    host.restart()
    assert not host.is_up
    assert not host.call(lambda machine, _now: machine.send(((), 1)))
    host.restart()
    assert host.call(lambda machine, _now: machine.send(((), 1)))


def test_every_kind_of_output_has_its_outlet() -> None:
    seen = list[object]()
    outlets = Outlets(
        deliver=lambda _host, output: seen.append(output),
        record=lambda _host, output: seen.append(output),
    )
    host = Host[Parcel, Forwarder](
        "B1", Forwarder, framing=FRAMING, events=EventQueue(), seeds=Seeds(1), outlets=outlets
    )
    outputs: list[Record | Deliver] = [Record("row"), Deliver(1)]
    host.call(lambda machine, _now: machine._out.extend(outputs))
    assert seen == outputs


def pair(framing: Framing[Parcel]) -> tuple[World[Parcel], Delivered]:
    world, delivered = World(Seeds(1), framing), Delivered()
    for name in ("B1", "B2"):
        world.add_host(name, Forwarder, outlets=delivered.outlets)
    world.connect("B1", "B2", LinkSpec(rate_bps=8_000_000))
    return world, delivered


def send_both(world: World[Parcel]) -> None:
    def verb(machine: Forwarder, _now: int) -> None:
        for number in range(3):
            machine.send((("B2",), number))

    world.call_at(0, "B1", verb)
    world.run(SECOND)


def test_urgent_frames_are_the_framings_business() -> None:
    world, delivered = pair(replace(FRAMING, is_urgent=lambda parcel: parcel[1] == 2))
    send_both(world)
    assert delivered.rows == [(100_000, 0), (200_000, 2), (300_000, 1)]


def test_with_a_codec_frames_are_written_and_read() -> None:
    written = list[bytes]()

    def noting(parcel: Parcel) -> bytes:
        written.append(encode(parcel))
        return written[-1]

    world, delivered = pair(replace(FRAMING, codec=(noting, decode)))
    send_both(world)
    assert delivered.numbers == [0, 1, 2]
    assert [decode(data) for data in written] == [((), 0), ((), 1), ((), 2)]


def test_a_size_that_is_not_the_codecs_is_our_bug() -> None:
    world, _ = pair(Framing(size_of=lambda _: 7, codec=(encode, decode)))
    with pytest.raises(AssertionError, match="100 B, not 7"):
        send_both(world)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Workers(count=0, service_time=constant(1)), "write 1 or more"),
        (
            lambda: Workers(count=1, service_time=constant(1), queue_frames_max=-1),
            "write 0 or more",
        ),
        (lambda: exponential(0), "above 0 ns"),
        (lambda: constant(-1), "negative"),
    ],
)
def test_impossible_workers_are_refused(make: Callable[[], object], text: str) -> None:
    with pytest.raises(UsageError, match=text):
        make()
