"""A relay answers readers from its cache only where its silence is theirs."""

from __future__ import annotations

from penstock.content.filter import Predicate
from penstock.content.syntax import parse
from penstock.guaranteed.knowledge_stream import KnowledgeStream
from penstock.guaranteed.relay.reader_answers import ReaderAnswers
from penstock.guaranteed.stream_item import EVERYTHING, StreamItem, size_of_item
from penstock.wire.codec.guaranteed.body import write_body
from penstock.wire.frames.guaranteed.base import ReaderId, TickRange
from penstock.wire.frames.guaranteed.requests import Nack, ReaderRequest

READER = ReaderId("SB1", 3)
ONES: Predicate = parse("k = 1")


def known() -> KnowledgeStream[StreamItem]:
    """Messages at 10, 20, …, 90, of which those at 30 to 39 and from 60 on are unknown."""
    stream: KnowledgeStream[StreamItem] = KnowledgeStream(size_of=size_of_item)
    for start, stop in ((0, 30), (40, 60)):
        stream.add_silence(start, stop)
        for tick in range(start, stop, 10):
            stream.add_data(tick, StreamItem(tick, 0, write_body({"k": tick // 10 % 2})))
    return stream


def ask(
    predicate: Predicate | None, under: Predicate | None, *, horizon: int = 1_000
) -> tuple[Nack, list[tuple[int, int, list[int]]], list[Nack]]:
    """The request, what the cache tells, and what the parent is asked for."""
    answers = ReaderAnswers(7, 10)
    if predicate is not None:
        answers.register(ReaderRequest(pubend=7, reader=READER, predicate=predicate))
    nack = Nack(
        pubend=7, ranges=(TickRange(5, 25), TickRange(25, 55), TickRange(55, 70)), reader=READER
    )
    runs, nacks = answers.answer(nack, known(), under=under, horizon=horizon)
    told = [(run.start, run.stop, [item.tick for item in run.items]) for run in runs]
    assert all(run.reader == READER for run in runs)
    return nack, told, nacks


def test_what_is_known_is_told_as_the_reader_wants_it_and_the_rest_is_asked_for() -> None:
    _, told, nacks = ask(ONES, EVERYTHING)
    assert told == [(5, 25, [10]), (25, 30, []), (40, 55, [50]), (55, 60, [])]
    assert [nack.ranges for nack in nacks] == [(TickRange(30, 40), TickRange(60, 70))]


def test_behind_the_horizon_nothing_is_told() -> None:
    _, told, nacks = ask(ONES, EVERYTHING, horizon=28)
    assert told == [(5, 25, [10]), (25, 28, [])]
    assert [nack.ranges for nack in nacks] == [(TickRange(28, 55), TickRange(55, 70))]


def test_silence_under_a_narrower_filter_is_no_silence_to_the_reader() -> None:
    for predicate, under in ((EVERYTHING, ONES), (None, EVERYTHING), (ONES, None)):
        nack, told, nacks = ask(predicate, under)
        assert told == []
        assert nacks == [nack]


def test_readers_are_forgotten_with_their_host_and_beyond_a_bound() -> None:
    answers = ReaderAnswers(7, 3)
    for number in range(5):
        reader = ReaderId("SB1" if number % 2 else "SB2", number)
        answers.register(ReaderRequest(pubend=7, reader=reader, predicate=ONES))
    assert len(answers) == 3
    assert answers.gone({"SB2"}) == [ReaderId("SB2", number) for number in (2, 4)]
    assert len(answers) == 1
    answers.register(ReaderRequest(pubend=7, reader=ReaderId("SB1", 3), predicate=None))
    assert len(answers) == 0
