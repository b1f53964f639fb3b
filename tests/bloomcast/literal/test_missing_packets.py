"""Gaps, against a naive twin that looks at every packet."""

from __future__ import annotations

from random import Random

import pytest

from penstock.bloomcast.literal.missing_packets import MissingPackets


class Naive:
    def __init__(self, places: int) -> None:
        self.missing = set(range(places))
        self.shown: set[int] = set()

    def take(self, place: int) -> tuple[bool, list[int]]:
        gaps = sorted(each for each in self.missing - self.shown if each < place)
        self.shown |= {*gaps, place}
        is_new = place in self.missing
        self.missing.discard(place)
        return is_new, gaps

    def end(self) -> list[int]:
        tail = sorted(self.missing - self.shown)
        self.shown = set()
        return tail


@pytest.mark.parametrize("seed", range(40))
def test_each_missing_packet_is_shown_once_a_generation(seed: int) -> None:
    rng = Random(seed)
    places = rng.randint(1, 60)
    missing, naive = MissingPackets(places), Naive(places)
    for _ in range(4):
        sent = sorted(naive.missing)
        at = 0
        while at < len(sent):
            start = stop = sent[at]
            while at < len(sent) and sent[at] == stop and rng.random() < 0.8:
                stop, at = stop + 1, at + 1
            if start == stop:
                at += 1
                continue
            expected = [naive.take(place) for place in range(start, stop)]
            new, gaps = missing.take(start, stop)
            assert new == [start + i for i, (is_new, _) in enumerate(expected) if is_new]
            assert gaps == [gap for _, found in expected for gap in found]
        assert missing.end_generation() == naive.end()


def test_a_late_packet_shows_nothing() -> None:
    missing = MissingPackets(6)
    assert missing.take(2, 3) == ([2], [0, 1])
    assert missing.end_generation() == [3, 4, 5]
    assert missing.add(4, 5) == [4]
    assert missing.add(4, 6) == [5]
    assert missing.take(0, 1) == ([0], [])
    assert missing.end_generation() == [1, 3]
