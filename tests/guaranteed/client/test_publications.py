"""Publications leave in order and within credit, on every connection."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.guaranteed.client.publications import FRAME_BYTES, Publications
from penstock.wire.frames.guaranteed.publication import Publish, StoredRun
from penstock.wire.frames.guaranteed.receipt import PublishWithReceipt

WINDOW_MESSAGES, WINDOW_BYTES = 4, 100
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("publish"), st.integers(0, 60)),
        st.tuples(st.just("answer"), st.integers(0, 3)),
        st.tuples(st.just("reconnect"), st.just(0)),
    ),
    max_size=60,
)


@given(STEPS)
def test_what_is_open_leaves_in_order_within_credit(steps: list[tuple[str, int]]) -> None:
    publications = Publications(0)
    publications.grant(WINDOW_MESSAGES, WINDOW_BYTES)
    sizes: dict[int, int] = {}
    # Naively: all that is open in order, and how many of them have left on this connection.
    left: list[int] = []

    def send() -> None:
        while (frame := publications.next_frame()) is not None:
            left.extend(frame.ids)
            assert list(frame.bodies) == [bytes(sizes[id_]) for id_ in frame.ids]

    for step, number in steps:
        if step == "publish":
            id_ = publications.add("s", bytes(number), None, False)
            sizes[id_] = number
        elif step == "answer" and left:
            id_ = left.pop(number % len(left))
            run = StoredRun(id_, 1, 1, 1, False)
            assert publications.confirm(run) == [run]
            assert publications.confirm(run) == []
            del sizes[id_]
        elif step == "reconnect":
            left.clear()
            publications.connection_lost()
        if step != "publish" or number % 3:
            # Else it leaves together with what follows.
            send()
            assert bool(left) == bool(sizes)
        assert left == list(sizes)[: len(left)] or left == [i for i in sizes if i in left]
        assert len(left) <= WINDOW_MESSAGES
        assert len(left) <= 1 or sum(sizes[id_] for id_ in left) <= WINDOW_BYTES
        assert len(publications) == len(sizes)
        assert (publications.room() > 0) == (
            not sizes or (len(sizes) < WINDOW_MESSAGES and sum(sizes.values()) < WINDOW_BYTES)
        )


@given(st.lists(st.integers(1, 30), unique=True, max_size=20), st.integers(1, 30))
def test_a_run_confirms_just_what_is_open(open_ids: list[int], first: int) -> None:
    publications = Publications(0)
    publications.grant(1_000, 1 << 20)
    for id_ in open_ids:
        publications.add("s", bytes(id_), id_, False)
    while publications.next_frame() is not None:
        pass
    new = publications.confirm(StoredRun(first, 8, 7, 100 + first, False))
    told = {id_: tick for run in new for id_, tick in zip(run.ids, run.ticks, strict=True)}
    assert told == {id_: 100 + id_ for id_ in open_ids if first <= id_ < first + 8}
    assert len(publications) == len(open_ids) - len(told)


def test_a_frame_has_one_stream_and_one_kind() -> None:
    publications = Publications(0)
    publications.grant(1_000, 1 << 20)
    for stream, receipt in (("a", False), ("a", False), ("a", True), ("b", True), ("b", True)):
        publications.add(stream, b"", None, receipt)
    frames = []
    while (frame := publications.next_frame()) is not None:
        frames.append((type(frame), frame.stream, frame.ids))
    assert frames == [
        (Publish, "a", (1, 2)),
        (PublishWithReceipt, "a", (3,)),
        (PublishWithReceipt, "b", (4, 5)),
    ]


def test_large_messages_go_alone_and_small_ones_together() -> None:
    publications = Publications(0)
    publications.grant(1_000, 4 << 20)
    for size in (10, FRAME_BYTES, 10, 10):
        publications.add("s", bytes(size), None, False)
    frames = []
    while (frame := publications.next_frame()) is not None:
        frames.append(frame.ids)
    assert frames == [(1,), (2,), (3, 4)]
