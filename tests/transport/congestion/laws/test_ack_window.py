"""A flow's window: TCP's, against a twin that remembers everything; and who lies to it."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.instant import MILLISECOND, SECOND, Instant
from penstock.transport.congestion.laws.ack_window import SIZE_MAX, AckWindow
from penstock.wire.frames.ack import FlowAck

R = 100 * MILLISECOND
FLOW = 1 << 14


class Line:
    """A window, and a receiver that gets all but some."""

    def __init__(self, *, fair_mps: float = 0.0) -> None:
        self.window = AckWindow(60 * SECOND)
        self.now: Instant = SECOND
        self.fair_mps = fair_mps
        self.last = 0
        self.came = set[int]()

    def send(self, count: int) -> list[int]:
        numbers = list(range(self.last + 1, self.last + 1 + count))
        for number in numbers:
            self.window.on_sent(number & 0xFFFFFFFF, self.now)
        self.last += count
        return numbers

    def ack(self, number: int, *, marked: bool = False) -> bool:
        self.came.add(number)
        last = max(self.came)
        bits = sum(1 << i for i in range(32) if last - 1 - i in self.came)
        ack = FlowAck(FLOW, last & 0xFFFFFFFF, bits, marked)
        return self.window.on_ack(ack, self.fair_mps, self.now)

    def round_trip(self, *, lost: frozenset[int] = frozenset(), most: int = 10**6) -> int:
        """All that there is room for leaves, and comes; how many that was."""
        numbers: list[int] = []
        while self.window.has_room and len(numbers) < most:
            numbers += self.send(1)
        self.now += R
        for number in numbers:
            if number not in lost:
                self.ack(number)
        return len(numbers)


def begun(flight: int, *, fair_mps: float = 0.0) -> Line:
    """A window of so many."""
    line = Line(fair_mps=fair_mps)
    for number in line.send(flight):
        line.now += R // flight
        line.ack(number)
    assert line.window.is_active
    return line


def test_before_anybody_acknowledges_there_is_no_window() -> None:
    line = Line()
    line.send(1_000)
    assert line.window.has_room
    line.now += 3_600 * SECOND
    assert not line.window.on_timeout(line.now)
    # What nobody answers is not remembered for long.
    assert len(line.window) <= 256


def test_it_begins_with_what_left_in_the_first_round_trip() -> None:
    line = Line()
    line.send(20)
    line.now += R
    line.ack(1)
    assert line.window.size == 20
    assert line.window.rtt_ns == R
    assert len(line.window) == 19


def test_it_grows_by_one_a_round_trip() -> None:
    line = begun(10)
    before = line.window.size
    for _ in range(5):
        line.round_trip()
    assert line.window.size == pytest.approx(before + 5, abs=0.5)


def test_slow_start_doubles_up_to_what_is_fair() -> None:
    # 16 in a round trip.
    line = Line(fair_mps=160)
    line.send(1)
    line.now += R
    line.ack(1)
    assert line.window.size == 2
    assert [line.round_trip() for _ in range(4)] == [2, 4, 8, 16]
    assert line.window.size == pytest.approx(17, abs=0.1)


def test_what_does_not_fill_it_does_not_make_it_grow() -> None:
    line = begun(20)
    size = line.window.size
    for _ in range(50):
        line.round_trip(most=5)
    assert line.window.size == size


def test_a_loss_halves_it_once_for_all_that_had_left() -> None:
    line = begun(20)
    size, first = line.window.size, line.last + 1
    line.round_trip(lost=frozenset({first, first + 5, first + 9}))
    assert line.window.size == pytest.approx(size / 2, abs=0.5)
    assert len(line.window) == 0
    # What leaves after that is another matter.
    line.round_trip(lost=frozenset({line.last + 2}))
    assert line.window.size == pytest.approx(size / 4, abs=0.7)


def test_what_is_only_late_is_not_lost() -> None:
    line = begun(20)
    size = line.window.size
    one, *others = line.send(10)
    line.now += R
    for number in (others[0], others[1], one, *others[2:]):
        line.ack(number)
    assert line.window.size >= size
    late, *others = line.send(10)
    line.now += R
    for number in others[:3]:
        line.ack(number)
    assert line.window.size < size
    # It came after all: that changes nothing more.
    size = line.window.size
    assert line.ack(late)
    assert line.window.size == size


def test_acknowledgements_that_are_lost_do_no_harm() -> None:
    line = begun(30)
    size = line.window.size
    for _ in range(10):
        numbers = line.send(30)
        line.now += R
        line.came.update(numbers)
        line.ack(numbers[-1])
        assert len(line.window) == 0
    assert line.window.size > size


def test_a_mark_halves_it_once_a_round_trip() -> None:
    line = begun(20)
    size = line.window.size
    numbers = line.send(20)
    line.now += R
    for number in numbers:
        line.ack(number, marked=True)
    assert line.window.size == pytest.approx(size / 2, abs=0.5)
    assert len(line.window) == 0


def test_silence_leads_back_to_one() -> None:
    line = begun(20)
    line.send(20)
    assert not line.window.has_room
    wait_ns = line.window.wait_ns(line.now)
    assert 2 * R <= wait_ns <= SECOND
    line.now += wait_ns - 1
    assert not line.window.on_timeout(line.now)
    line.now += 1
    assert line.window.on_timeout(line.now)
    assert (line.window.size, len(line.window)) == (1, 0)
    line.send(1)
    assert line.window.wait_ns(line.now) == pytest.approx(2 * wait_ns, rel=0.01)
    # Slow start, up to half of what it was.
    line.now += R
    line.ack(line.last)
    assert [line.round_trip() for _ in range(4)] == [2, 4, 8, 10]


def test_who_never_acknowledges_again_has_no_window() -> None:
    line = begun(20)
    for _ in range(6):
        assert line.window.is_active
        line.send(1)
        line.now += 3_600 * SECOND
        assert line.window.on_timeout(line.now)
    assert not line.window.is_active
    assert line.window.has_room


def test_no_time_out_is_longer_than_allowed() -> None:
    window = AckWindow(SECOND)
    window.on_sent(1, 0)
    window.on_ack(FlowAck(FLOW, 1), 0, 10 * SECOND)
    window.on_sent(2, 10 * SECOND)
    window.on_sent(3, 10 * SECOND)
    assert window.wait_ns(10 * SECOND) == SECOND


def test_a_clock_that_is_set_back_does_not_keep_it_closed() -> None:
    line = begun(10)
    while line.window.has_room:
        line.send(1)
    wait_ns = line.window.wait_ns(line.now)
    line.now -= 3_600 * SECOND
    assert line.window.wait_ns(line.now) <= wait_ns + R
    line.now += wait_ns + R
    assert line.window.on_timeout(line.now)
    assert line.window.has_room


def test_another_receiver_is_not_to_blame_for_what_the_last_one_missed() -> None:
    line = begun(20)
    size = line.window.size
    line.send(10)
    line.window.on_receiver_changed()
    line.now += R
    # It tells of the newest only: it has not counted before.
    for number in line.send(5):
        line.came = {n for n in line.came if n > line.last - 5}
        line.ack(number)
    assert line.window.size >= size
    assert len(line.window) == 0


def test_numbers_wrap() -> None:
    line = Line()
    for number in (2**31 - 1, 2**32 - 4):
        line.window.on_sent(number, line.now)
        line.last = number
        line.now += R
        line.ack(number)
    for _ in range(5):
        assert line.round_trip() >= 2
        assert len(line.window) == 0
    assert line.last > 2**32


@pytest.mark.parametrize("number", [0, 21, 22, 1_000, 2**31, 2**32 - 1])
def test_numbers_that_never_left_are_refused(number: int) -> None:
    line = begun(20)
    size = line.window.size
    assert not line.window.on_ack(FlowAck(FLOW, number, 0xFFFFFFFF), inf, line.now)
    assert line.window.size == size


class Twin:
    """What is outstanding, found out from all that ever happened."""

    def __init__(self) -> None:
        self.sent = 0
        self.accepted = set[int]()
        self.gone = set[int]()

    @property
    def outstanding(self) -> set[int]:
        return set(range(1, self.sent + 1)) - self.accepted - self.gone

    def ack(self, number: int, came: int) -> None:
        told = {number, *(number - 1 - i for i in range(32) if came >> i & 1)}
        self.accepted |= told & self.outstanding
        for each in self.outstanding:
            if sum(other > each for other in self.accepted) >= 3:
                self.gone.add(each)

    def time_out(self) -> None:
        self.gone |= self.outstanding


STEPS = st.one_of(
    st.tuples(st.just("send"), st.integers(1, 10), st.just(0)),
    # How far behind the last one, some of which never were sent.
    st.tuples(st.just("ack"), st.integers(-3, 40), st.integers(0, 2**32 - 1)),
    st.tuples(st.just("wait"), st.integers(1, 2_000), st.just(0)),
    st.tuples(st.just("other"), st.just(0), st.just(0)),
)


@given(steps=st.lists(STEPS, max_size=120))
def test_whatever_is_acknowledged_it_counts_as_its_twin_does(
    steps: list[tuple[str, int, int]],
) -> None:
    window, twin, now = AckWindow(SECOND), Twin(), 0
    for what, amount, bits in steps:
        if what == "send":
            for _ in range(amount):
                if window.has_room:
                    twin.sent += 1
                    window.on_sent(twin.sent, now)
        elif what == "ack":
            number = twin.sent - amount
            is_sent = 1 <= number <= twin.sent
            ack = FlowAck(FLOW, number & 0xFFFFFFFF, bits)
            assert window.on_ack(ack, 100.0, now) == is_sent
            if is_sent:
                twin.ack(number, bits)
        elif what == "wait":
            now += amount * MILLISECOND
            if window.on_timeout(now):
                twin.time_out()
        else:
            window.on_receiver_changed()
        if twin.sent <= 256:
            assert len(window) == len(twin.outstanding)
        assert 1 <= window.size <= SIZE_MAX
        # Nobody makes it larger than by one for each message that left.
        assert window.size <= 2 + twin.sent
        assert window.has_room or window.wait_ns(now) <= SECOND
