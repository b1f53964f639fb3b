"""When hosts that recover want more of a stream, together, than all of it."""

from __future__ import annotations

import pytest

from penstock.content.filter import Predicate
from penstock.content.syntax import parse
from penstock.guaranteed.relay.reader_shares import ReaderShares
from penstock.guaranteed.relay.tick_cache import TickCache
from penstock.guaranteed.run import Run
from penstock.guaranteed.stream_item import EVERYTHING, StreamItem
from penstock.guaranteed.tick import tick_of
from penstock.kernel.instant import SECOND, Instant
from penstock.wire.codec.guaranteed.body import write_body
from penstock.wire.frames.guaranteed.base import ReaderId

MINUTE = tick_of(60_000)
A, B = ReaderId("SB1", 1), ReaderId("SB2", 1)
TWO_FIFTHS: Predicate = parse("k < 2")


def cache(messages: int = 100) -> TickCache:
    """Of every five messages one has k = 0, the next k = 1, and so on."""
    found = TickCache(10**6)
    items = [StreamItem(tick, 0, write_body({"k": tick % 5})) for tick in range(messages)]
    if items:
        found.add(Run(7, 0, messages, items))
    return found


def ask(
    shares: ReaderShares,
    reader: ReaderId,
    predicate: Predicate,
    known: TickCache,
    *,
    at: int = 0,
    now: Instant = 0,
) -> bool:
    """What a reader is told that has been answered once."""
    shares.ask(reader, predicate, at, known, now=now)
    shares.answered(reader)
    return shares.ask(reader, predicate, at, known, now=now)


def together(
    *wanted: str, hosts: int | None = None, messages: int = 100, apart: int = 0
) -> list[bool]:
    """What each reader is told that asks in turn; they are of so many hosts."""
    shares = ReaderShares(10)
    known = cache(messages)
    return [
        ask(
            shares,
            ReaderId(f"SB{number % (hosts or len(wanted))}", number),
            parse(text),
            known,
            at=number * apart,
        )
        for number, text in enumerate(wanted)
    ]


@pytest.mark.parametrize(
    ("wanted", "exceed"),
    [
        (["true"], [False]),
        (["true", "true"], [False, True]),
        (["k < 2", "k < 2"], [False, False]),
        (["k < 2", "k < 2", "k = 4"], [False, False, False]),
        (["k < 2", "k < 2", "k > 1"], [False, False, True]),
        (["true", "k = 7"], [False, False]),
        (["true", "k = 7", "k = 1"], [False, False, True]),
    ],
)
def test_what_hosts_want_is_added_up(wanted: list[str], exceed: list[bool]) -> None:
    assert together(*wanted) == exceed


def test_one_host_shares_with_nobody() -> None:
    assert together("true", "true", "k < 2", hosts=1) == [False] * 3


def test_readers_far_apart_have_not_missed_the_same() -> None:
    assert together("true", "true", apart=2 * MINUTE) == [False, False]


def test_before_anything_is_known_each_may_want_all() -> None:
    assert together("k = 7", "k = 7", messages=0) == [False, True]


def test_whoever_has_not_been_answered_may_be_far_from_any_message() -> None:
    shares = ReaderShares(10)
    known = cache()
    ask(shares, A, EVERYTHING, known)
    assert not shares.ask(B, EVERYTHING, 0, known, now=0)
    assert not shares.ask(B, EVERYTHING, 0, known, now=0)
    shares.answered(B)
    assert shares.ask(B, EVERYTHING, 0, known, now=0)


def test_estimates_are_made_again_now_and_then() -> None:
    shares = ReaderShares(10)
    empty, known = cache(0), cache()
    assert not ask(shares, A, TWO_FIFTHS, empty)
    assert ask(shares, B, TWO_FIFTHS, empty)
    # Nothing was known: the next request tells more.
    ask(shares, A, TWO_FIFTHS, known)
    assert not ask(shares, B, TWO_FIFTHS, known)
    ask(shares, A, EVERYTHING, known, now=SECOND)
    assert not ask(shares, B, TWO_FIFTHS, known, now=SECOND)
    ask(shares, A, EVERYTHING, known, now=6 * SECOND)
    assert ask(shares, B, TWO_FIFTHS, known, now=6 * SECOND)


def test_who_has_ended_does_not_count() -> None:
    shares = ReaderShares(10)
    known = cache()
    ask(shares, A, EVERYTHING, known)
    assert ask(shares, B, EVERYTHING, known)
    shares.forget(A)
    assert not ask(shares, B, EVERYTHING, known)
    assert len(shares) == 1


def test_readers_are_forgotten_beyond_a_bound() -> None:
    shares = ReaderShares(10)
    for number in range(20):
        ask(shares, ReaderId("SB1", number), EVERYTHING, cache())
    assert len(shares) == 10
