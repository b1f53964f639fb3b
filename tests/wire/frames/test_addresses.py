import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.content.message import Message
from penstock.content.syntax import parse
from penstock.kernel.errors import UsageError
from penstock.wire.frames.addresses import (
    answering,
    digest_of,
    digests_of,
    request_bits,
    to_endpoint,
    unicast,
)
from tests.wire.strategies import unsigned

SPARSE = st.sets(st.integers(0, 255), max_size=20).map(lambda bits: sum(1 << bit for bit in bits))


def test_endpoints_are_named_by_sixteen_digits() -> None:
    assert unicast(0xAB) == Message({"penstock.to": "00000000000000ab"})
    assert digests_of(2**64 - 1) == Message({"penstock.digest": "f" * 16})


def test_the_same_address_is_built_once() -> None:
    assert unicast(7) is unicast(7)
    assert digests_of(7) is digests_of(7)


@given(unsigned(64), unsigned(64))
def test_predicates_ask_for_one_endpoint(endpoint: int, other: int) -> None:
    for address, asked in ((unicast, to_endpoint), (digests_of, digest_of)):
        assert asked(endpoint).matches(address(endpoint))
        assert asked(endpoint).matches(address(other)) is (endpoint == other)
    assert not to_endpoint(endpoint).matches(digests_of(endpoint))
    assert not digest_of(endpoint).matches(unicast(endpoint))


def test_predicates_can_be_written_by_hand() -> None:
    assert to_endpoint(1) == parse('penstock.to = "0000000000000001"')
    assert digest_of(1) == parse('penstock.digest = "0000000000000001"')
    assert answering([0b101, 0]) == parse(
        "penstock.request = true and b0 = true and b2 = true or penstock.request = true"
    )


def test_a_request_has_an_attribute_for_each_bit() -> None:
    expected = {"penstock.request": True, "b0": True, "b7": True, "b255": True}
    assert request_bits(1 | 1 << 7 | 1 << 255) == Message(expected)


@given(st.lists(SPARSE, max_size=4), SPARSE)
def test_a_request_is_heard_by_filters_that_lie_within_it(filters: list[int], bloom: int) -> None:
    heard = any(not own & ~bloom for own in filters)
    assert answering(filters).matches(request_bits(bloom)) is heard


def test_sets_of_too_many_bits_are_refused() -> None:
    assert len(request_bits(2**63 - 1).attributes) == 64
    with pytest.raises(UsageError, match=r"64 bits .* room for 63: send requests as a class"):
        request_bits(2**64 - 1)
    assert len(answering([2**31 - 1]).filters[0].constraints) == 32
    with pytest.raises(UsageError, match=r"32 bits .* room for 31"):
        answering([2**32 - 1])


@pytest.mark.parametrize("endpoint", [-1, 2**64])
def test_endpoints_have_64_bits(endpoint: int) -> None:
    for ask in (unicast, digests_of, to_endpoint, digest_of):
        with pytest.raises(UsageError, match="endpoint"):
            ask(endpoint)


def test_sets_are_not_negative() -> None:
    with pytest.raises(UsageError, match="bloom"):
        request_bits(-1)
