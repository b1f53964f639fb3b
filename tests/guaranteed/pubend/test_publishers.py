"""Each publication counts once."""

from __future__ import annotations

from penstock.guaranteed.pubend.publishers import Publishers


def test_a_refused_publication_is_new_when_it_is_repeated() -> None:
    """One behind it was stored already, when there was room again."""
    publishers = Publishers(10, 4)
    publishers.add("p", 1, 11)
    publishers.add("p", 3, 13)
    assert publishers.find("p", 2) is None
    publishers.add("p", 2, 14)
    assert [publishers.find("p", id_) for id_ in (1, 2, 3, 4)] == [11, 14, 13, None]


def test_what_is_long_past_has_no_tick() -> None:
    publishers = Publishers(10, 2)
    for id_ in (1, 2, 3):
        publishers.add("p", id_, 10 + id_)
    assert publishers.find("p", 1) == 0
    restored = Publishers(10, 2)
    restored.restore(publishers.snapshot(), [])
    assert [restored.find("p", id_) for id_ in (1, 2, 3, 4)] == [0, 12, 13, None]
