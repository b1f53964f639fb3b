"""Tags of links against the vectors of the specification (§2.8), and a slow twin."""

from __future__ import annotations

from hashlib import blake2b

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.bloomcast.filters.link_tags import BITS_A_TAG, tags
from penstock.wire.frames.cast.base import CHOICES, FILTER_BITS, SECRET_BYTES

SECRET = bytes(range(16))


@pytest.mark.parametrize(
    ("epoch", "choice", "positions"),
    [
        (0, 0, {15, 116, 61, 174, 31}),
        (0, 1, {72, 163, 80, 106, 187}),
        # The fourth word is 53 again.
        (0, 5, {53, 101, 130, 215, 66}),
        (0, 7, {77, 117, 19, 148, 88}),
        (1, 0, {144, 71, 168, 45, 217}),
    ],
)
def test_tags_are_those_of_the_specification(epoch: int, choice: int, positions: set[int]) -> None:
    assert tags(SECRET, epoch)[choice] == sum(1 << position for position in positions)


def slow_tag(secret: bytes, epoch: int, choice: int) -> int:
    words: list[int] = []
    for counter in range(256):
        data = epoch.to_bytes(4, "big") + bytes([choice, counter])
        digest = blake2b(data, digest_size=32, key=secret).digest()
        words += [int.from_bytes(digest[at : at + 2], "big") % 248 for at in range(0, 32, 2)]
        distinct = list(dict.fromkeys(words))
        if len(distinct) >= BITS_A_TAG:
            return sum(1 << position for position in distinct[:BITS_A_TAG])
    raise AssertionError


@given(st.binary(min_size=SECRET_BYTES, max_size=SECRET_BYTES), st.integers(0, 2**32 - 1))
def test_tags_are_those_of_a_slow_twin(secret: bytes, epoch: int) -> None:
    found = tags(secret, epoch)
    assert found == tuple(slow_tag(secret, epoch, choice) for choice in range(CHOICES))
    assert all(tag.bit_count() == BITS_A_TAG and not tag >> FILTER_BITS for tag in found)
