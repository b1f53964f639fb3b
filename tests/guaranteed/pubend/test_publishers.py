"""Each publication counts once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.guaranteed.log_record import LogRecord
from penstock.guaranteed.pubend.publishers import Publishers


def record(publication: int, tick: int) -> LogRecord:
    return LogRecord(tick, tick, "p", publication, b"")


def test_a_refused_publication_is_new_when_it_is_repeated_however_late() -> None:
    publishers = Publishers(10, 4)
    publishers.refuse("p", 5)
    for id_ in range(6, 20):
        publishers.add("p", [record(id_, 100 + id_)])
    assert publishers.find("p", 5) is None
    restored = Publishers(10, 4)
    restored.restore(publishers.snapshot(), [])
    assert restored.find("p", 5) is None
    restored.add("p", [record(5, 200)])
    assert restored.find("p", 5) == 200


def test_a_refused_publication_that_is_repeated_at_once_is_stored_once() -> None:
    publishers = Publishers(10, 4)
    publishers.refuse("p", 5)
    publishers.add("p", [record(5, 11)])
    assert publishers.find("p", 5) == 11


def test_a_low_id_that_is_stored_late_makes_no_forgotten_one_new() -> None:
    publishers = Publishers(10, 4)
    publishers.refuse("p", 5)
    for id_ in range(6, 20):
        publishers.add("p", [record(id_, 100 + id_)])
    publishers.add("p", [record(5, 200)])
    assert [publishers.find("p", id_) for id_ in (6, 10, 15, 19)] == [0, 0, 0, 119]


def test_an_id_that_was_left_out_is_new_among_the_last_ones() -> None:
    publishers = Publishers(10, 4)
    publishers.add("p", [record(1, 11)])
    publishers.add("p", [record(3, 13)])
    assert publishers.find("p", 2) is None
    publishers.add("p", [record(2, 14)])
    assert [publishers.find("p", id_) for id_ in (1, 2, 3, 4)] == [11, 14, 13, None]


def test_what_is_long_past_has_no_tick() -> None:
    publishers = Publishers(10, 2)
    for id_ in (1, 2, 3):
        publishers.add("p", [record(id_, 10 + id_)])
    assert publishers.find("p", 1) == 0
    restored = Publishers(10, 2)
    restored.restore(publishers.snapshot(), [])
    assert [restored.find("p", id_) for id_ in (1, 2, 3, 4)] == [0, 12, 13, None]


@given(
    st.lists(
        st.tuples(st.sampled_from(["store", "refuse", "repeat", "restart"]), st.integers(0, 40)),
        max_size=120,
    )
)
def test_each_publication_counts_once_and_none_is_confirmed_that_was_not_stored(
    steps: list[tuple[str, int]],
) -> None:
    """Against a twin that remembers everything; refused ids are remembered up to the bound."""
    publishers, stored, refused, last = Publishers(10, 8), set[int](), list[int](), -1
    for step, id_ in steps:
        if step == "restart":
            snapshot, publishers = publishers.snapshot(), Publishers(10, 8)
            publishers.restore(snapshot, [])
            continue
        publication = id_ % (last + 3) if step == "repeat" else last + 1 + id_ % 3
        found = publishers.find("p", publication)
        if publication in stored:
            assert found is not None
        elif publication in refused[-8:]:
            assert found is None
        if found is None and step == "refuse":
            publishers.refuse("p", publication)
            refused = [each for each in refused if each != publication] + [publication]
        elif found is None:
            publishers.add("p", [record(publication, publication + 1)])
            stored.add(publication)
            refused = [each for each in refused if each != publication]
        last = max(last, publication) if found is None else last
