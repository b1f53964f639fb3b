"""Filters hold what they are unions of, and are dropped when they are too full."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.bloomcast.filters.link_tags import tags
from penstock.bloomcast.filters.packet_filter import (
    LITERAL_UP_ONES_MAX,
    NO_LINKS,
    NO_LINKS_BY_CHOICE,
    ONES_MAX,
    fewest_ones,
    fill,
    holds,
    is_too_full,
    ones,
    union,
    union_by_choice,
)

SECRETS = st.lists(st.binary(min_size=16, max_size=16), max_size=40)


def positions(links: int) -> set[int]:
    return {position for position in range(248) if links >> position & 1}


@given(SECRETS, st.binary(min_size=16, max_size=16))
def test_a_union_holds_its_links_and_no_more_than_their_bits(
    secrets: list[bytes], other: bytes
) -> None:
    own = [tags(secret, 0)[3] for secret in secrets]
    links = union(own)
    assert positions(links) == {position for tag in own for position in positions(tag)}
    assert all(holds(links, tag) for tag in own)
    stranger = tags(other, 0)[3]
    assert holds(links, stranger) == (positions(stranger) <= positions(links))
    assert ones(links) == len(positions(links))
    assert fill(links) == len(positions(links)) / 248


@given(SECRETS)
def test_a_union_by_choice_is_one_for_each_choice(secrets: list[bytes]) -> None:
    several = [tags(secret, 0) for secret in secrets]
    links = union_by_choice(several)
    assert links == tuple(union(each[choice] for each in several) for choice in range(8))
    assert fewest_ones(links) == min(map(ones, links))


def test_no_links_hold_nothing() -> None:
    assert union([]) == NO_LINKS
    assert union_by_choice([]) == NO_LINKS_BY_CHOICE
    assert not holds(NO_LINKS, tags(bytes(16), 0)[0])


def test_forty_percent_is_the_limit() -> None:
    assert not is_too_full((1 << ONES_MAX) - 1)
    assert is_too_full((1 << ONES_MAX + 1) - 1)
    assert fill((1 << ONES_MAX) - 1) <= 0.4 < fill((1 << ONES_MAX + 1) - 1)


def test_literal_allows_fuller_filters_upstream() -> None:
    links = (1 << LITERAL_UP_ONES_MAX) - 1
    assert is_too_full(links)
    assert not is_too_full(links, ones_max=LITERAL_UP_ONES_MAX)
    assert fill(links) == 0.5
