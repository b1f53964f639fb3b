"""Publications leave in order and within credit, on every connection."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.guaranteed.client.publications import Publications
from penstock.wire.frames.guaranteed.publication import Stored

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
        while (frame := publications.next_to_send()) is not None:
            left.append(frame.id)

    for step, number in steps:
        if step == "publish":
            frame = publications.add("s", bytes(number), None, False)
            sizes[frame.id] = number
            if publications.send_alone(frame):
                left.append(frame.id)
            send()
        elif step == "answer" and left:
            id_ = left.pop(number % len(left))
            ids, _ = publications.confirm((id_, id_), (Stored(1, 1, False),) * 2)
            assert ids == (id_,)
            del sizes[id_]
            send()
        elif step == "reconnect":
            left.clear()
            publications.connection_lost()
            send()
        assert left == list(sizes)[: len(left)] or left == [i for i in sizes if i in left]
        assert len(left) <= WINDOW_MESSAGES
        assert len(left) <= 1 or sum(sizes[id_] for id_ in left) <= WINDOW_BYTES
        assert bool(left) == bool(sizes)
        assert len(publications) == len(sizes)
        assert (publications.room() > 0) == (
            not sizes or (len(sizes) < WINDOW_MESSAGES and sum(sizes.values()) < WINDOW_BYTES)
        )
