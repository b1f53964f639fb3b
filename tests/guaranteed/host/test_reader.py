"""A reader against the naive twin: a dictionary from tick to what is known of it."""

from __future__ import annotations

from itertools import groupby

from hypothesis import given
from hypothesis import strategies as st

from penstock.guaranteed.host.reader import Reader
from penstock.guaranteed.knowledge_stream import RISES, TickState
from penstock.guaranteed.run import Run
from penstock.guaranteed.settings import CongestionSettings, HostSettings
from penstock.guaranteed.stream_item import StreamItem
from penstock.guaranteed.tick import duration_ticks
from penstock.wire.frames.guaranteed.base import GapReason, TickRange
from penstock.wire.frames.guaranteed.knowledge import Gap, Horizon

TOP = 40
BEGIN = 3
WINDOW = 12
# So short that a nanosecond is a tick.
SETTINGS = HostSettings(receive_window_ns=WINDOW, nack_window_ns=8, nack_range_ns=1)
FIXED = CongestionSettings(window_law="fixed")

S, D, F = TickState.SILENCE, TickState.DATA, TickState.FINAL
Said = Run | Gap | Horizon
Decided = tuple[int, TickState]


def item(tick: int) -> StreamItem:
    return StreamItem(tick, tick, b"%d" % tick)


def run(start: int, stop: int, *ticks: int) -> Run:
    return Run(1, start, stop, [item(tick) for tick in ticks])


def gap(start: int, stop: int) -> Gap:
    return Gap(pubend=1, start=start, stop=stop, reason=GapReason.RETENTION, messages=1)


def test_in_the_settings_of_these_tests_a_nanosecond_is_a_tick() -> None:
    assert [duration_ticks(ns) for ns in (1, 8, WINDOW)] == [1, 8, WINDOW]


class NaiveReader:
    """Looks at one tick at a time."""

    def __init__(self) -> None:
        self.doubt = self.evidence = BEGIN
        self.ahead: dict[int, TickState] = {}
        self.ignored = 0

    def learn(self, said: Said) -> list[Decided]:
        self.evidence = max(self.evidence, said.stop)
        if isinstance(said, Run):
            self._keep(said)
        elif isinstance(said, Gap):
            for tick in range(max(said.start, self.doubt), said.stop):
                self.ahead[tick] = F
        decided = []
        while self.doubt in self.ahead:
            decided.append((self.doubt, self.ahead.pop(self.doubt)))
            self.doubt += 1
        return [(tick, state) for tick, state in decided if state is not S]

    def _keep(self, said: Run) -> None:
        is_in_order = said.start <= self.doubt and not self.ahead
        limit = TOP if is_in_order else self.doubt + WINDOW
        data = {each.tick for each in said.items}
        for tick in range(max(said.start, self.doubt), said.stop):
            if tick > limit and (tick in data or tick - 1 not in self.ahead):
                self.ignored += sum(each >= tick for each in data)
                return
            state = D if tick in data else S
            if state in RISES[self.ahead.get(tick, TickState.UNKNOWN)]:
                self.ahead[tick] = state

    def in_doubt(self) -> list[tuple[int, int]]:
        ticks = [tick for tick in range(self.doubt, self.evidence) if tick not in self.ahead]
        stretches = groupby(enumerate(ticks), lambda pair: pair[1] - pair[0])
        found = [[tick for _, tick in stretch] for _, stretch in stretches]
        return [(each[0], each[-1] + 1) for each in found]


def by_tick(reader: Reader, said: Said) -> list[Decided]:
    """What comes out of doubt; of gaps that overlap, each tick counts once, as for programs."""
    position = reader.doubt
    decided: list[Decided] = []
    for each in reader.learn(said):
        start, stop = (
            (each.start, each.stop) if isinstance(each, Gap) else (each.tick, each.tick + 1)
        )
        assert isinstance(each, Gap) or start >= position, "twice, or out of order"
        state = F if isinstance(each, Gap) else D
        decided.extend((tick, state) for tick in range(max(start, position), stop))
        position = max(position, stop)
    return decided


@st.composite
def stories(draw: st.DrawFn) -> list[Said]:
    """One stream, of which parts are said in any order, some twice, some under other filters."""
    published = draw(st.sets(st.integers(0, TOP - 1)))
    said: list[Said] = []
    for _ in range(draw(st.integers(1, 25))):
        start = draw(st.integers(0, TOP - 1))
        stop = draw(st.integers(start + 1, min(TOP, start + 15)))
        kind = draw(st.sampled_from(["run", "run", "run", "filtered", "gap", "horizon"]))
        here = sorted(tick for tick in published if start <= tick < stop)
        if kind == "run":
            said.append(run(start, stop, *here))
        elif kind == "filtered":
            said.append(run(start, stop, *here[::2]))
        elif kind == "gap":
            said.append(gap(start, stop))
        else:
            said.append(Horizon(pubend=1, stop=stop))
    return said


@given(stories())
def test_what_comes_out_of_doubt_is_what_the_naive_reader_finds(story: list[Said]) -> None:
    reader, naive = Reader(0, BEGIN, settings=SETTINGS, congestion=FIXED), NaiveReader()
    for said in story:
        assert by_tick(reader, said) == naive.learn(said)
        assert (reader.doubt, reader.evidence) == (naive.doubt, naive.evidence)
        assert (reader.ignored, reader.is_ahead) == (naive.ignored, bool(naive.ahead))
        assert reader.in_doubt() == naive.in_doubt()
        for tick in range(TOP):
            assert reader.knows(tick) == (tick < naive.doubt or tick in naive.ahead)


@given(stories())
def test_whatever_was_said_before_a_stream_said_again_in_order_is_read_to_its_end(
    story: list[Said],
) -> None:
    reader = Reader(0, BEGIN, settings=SETTINGS, congestion=FIXED)
    decided = [each for said in story for each in by_tick(reader, said)]
    published = {each.tick for said in story if isinstance(said, Run) for each in said.items}
    for tick in range(TOP):
        decided += by_tick(reader, run(tick, tick + 1, *({tick} & published)))
    assert reader.doubt == TOP
    assert not reader.is_ahead
    ticks = [tick for tick, _ in decided]
    assert ticks == sorted(set(ticks))


def test_of_what_is_beyond_the_receive_window_nothing_piles_up() -> None:
    """One message is missing, and many come behind it: what is far ahead takes no memory."""
    reader = Reader(0, 0, settings=SETTINGS, congestion=FIXED)
    for tick in range(1, 1_000):
        assert not reader.learn(run(2 * tick, 2 * tick + 2, 2 * tick + 1))
    assert reader.in_doubt() == [(0, 2), (13, 2_000)]
    # The message at 3 is the first of those that were kept, and 11 the last.
    assert [tick for tick, _ in by_tick(reader, run(0, 2))] == [3, 5, 7, 9, 11]
    assert reader.doubt == 13
    assert reader.ignored == 999 - 5


def test_silence_that_follows_on_what_is_known_is_kept_however_long() -> None:
    reader = Reader(0, 0, settings=SETTINGS, congestion=FIXED)
    reader.learn(run(2, 10))
    reader.learn(run(10, 1_000_000))
    reader.learn(run(0, 2))
    assert reader.doubt == 1_000_000


def test_a_gap_that_is_told_again_and_again_is_kept_once() -> None:
    reader = Reader(0, 0, settings=SETTINGS, congestion=FIXED)
    for _ in range(3):
        assert not reader.learn(gap(4, 9))
    assert reader.learn(run(0, 4)) == [gap(4, 9)]


def test_a_stream_with_holes_its_doubt_horizon_and_its_two_windows() -> None:
    """What a reader knows of each tick, ahead of its doubt horizon.

        handed on   |<---- NACK window ---->|
        0  1  2  3  |  4  5  6  7  8  9 10 11 12 13 14 15 16 | 17 18 19
        D  S  D  S  |  Q  D  S  Q  D  Q  S  D  Q  S  D  Q  S |  ignored
                    |<----------- receive window ----------->|
                    ^ doubt horizon: the first unknown tick

    The three unknown ticks within the NACK window are asked for. Those behind it are in doubt too,
    and have to wait until the window has moved. What was said beyond the receive window was not
    kept, so it is asked for later.
    """
    reader = Reader(0, 0, settings=SETTINGS, congestion=FIXED)
    assert by_tick(reader, run(0, 4, 0, 2)) == [(0, D), (2, D)]
    for said in (run(5, 7, 5), run(8, 9, 8), run(10, 12, 11), run(13, 15, 14), run(16, 17)):
        assert reader.learn(said) == []
    assert reader.learn(run(18, 20, 18)) == []
    assert (reader.doubt, reader.ignored) == (4, 1)
    assert reader.in_doubt() == [(4, 5), (7, 8), (9, 10), (12, 13), (15, 16), (17, 20)]
    assert reader.to_ask(now=0) == (TickRange(4, 5), TickRange(7, 8), TickRange(9, 10))

    # The first answer: the horizon moves to the next unknown tick, and both windows with it.
    assert by_tick(reader, run(4, 5, 4)) == [(4, D), (5, D)]
    assert reader.doubt == 7
    # Of 7 and 9 answers are on their way.
    assert reader.to_ask(now=0) == (TickRange(12, 13),)
    assert by_tick(reader, run(7, 10)) == [(8, D), (11, D)]
    assert reader.doubt == 12
    assert reader.to_ask(now=0) == (
        TickRange(15, 16),
        TickRange(17, 18),
        TickRange(18, 19),
        TickRange(19, 20),
    )
    assert by_tick(reader, run(12, 20, 14, 18)) == [(14, D), (18, D)]
    assert reader.doubt == 20
    assert reader.to_ask(now=0) == ()
