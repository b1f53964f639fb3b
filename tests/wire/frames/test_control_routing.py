import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.content.message import Message
from penstock.content.syntax import parse
from penstock.kernel.errors import UsageError
from penstock.wire.frames.control_routing import (
    digest_filter,
    digest_message,
    endpoint_filter,
    endpoint_message,
    request_filter,
    request_message,
)
from tests.wire.strategies import unsigned

SPARSE = st.sets(st.integers(0, 255), max_size=20).map(lambda bits: sum(1 << bit for bit in bits))


def test_endpoints_are_named_by_sixteen_digits() -> None:
    assert endpoint_message(0xAB) == Message({"penstock.to": "00000000000000ab"})
    assert digest_message(2**64 - 1) == Message({"penstock.digest": "f" * 16})


def test_the_same_address_is_built_once() -> None:
    assert endpoint_message(7) is endpoint_message(7)
    assert digest_message(7) is digest_message(7)


@given(unsigned(64), unsigned(64))
def test_predicates_ask_for_one_endpoint(endpoint: int, other: int) -> None:
    for address, asked in ((endpoint_message, endpoint_filter), (digest_message, digest_filter)):
        assert asked(endpoint).matches(address(endpoint))
        assert asked(endpoint).matches(address(other)) is (endpoint == other)
    assert not endpoint_filter(endpoint).matches(digest_message(endpoint))
    assert not digest_filter(endpoint).matches(endpoint_message(endpoint))


def test_predicates_can_be_written_by_hand() -> None:
    assert endpoint_filter(1) == parse('penstock.to = "0000000000000001"')
    assert digest_filter(1) == parse('penstock.digest = "0000000000000001"')
    assert request_filter([0b101, 0]) == parse(
        "penstock.request = true and b0 = true and b2 = true or penstock.request = true"
        " or penstock.request = 61 and b0 = true and b2 = true or penstock.request = 61"
    )


def test_a_request_has_an_attribute_for_each_bit() -> None:
    expected = {"penstock.request": True, "b0": True, "b7": True, "b255": True}
    assert request_message(1 | 1 << 7 | 1 << 255) == Message(expected)


@given(st.lists(SPARSE, max_size=4), SPARSE)
def test_a_request_is_heard_by_filters_that_lie_within_it(filters: list[int], bloom: int) -> None:
    heard = any(not own & ~bloom for own in filters)
    assert request_filter(filters).matches(request_message(bloom)) is heard


@pytest.mark.spec("R7")
def test_a_set_of_too_many_bits_for_a_message_is_folded() -> None:
    assert len(request_message(2**63 - 1).attributes) == 64
    assert "b62" in request_message(2**63 - 1).attributes
    folded = request_message((2**64 - 1) << 61)
    assert folded == Message({"penstock.request": 61, **{f"b{i}": True for i in range(61)}})
    assert max(len(f.constraints) for f in request_filter([2**40 - 1]).filters) == 32


@pytest.mark.spec("R7")
@given(st.sets(st.integers(0, 511), min_size=40, max_size=200), st.data())
def test_a_filter_within_a_well_filled_set_hears_of_it_all_the_same(
    bits: set[int], data: st.DataObject
) -> None:
    own = data.draw(st.sets(st.sampled_from(sorted(bits))))
    sets = [sum(1 << bit for bit in chosen) for chosen in (own, bits)]
    assert request_filter(sets[:1]).matches(request_message(sets[1]))


@pytest.mark.parametrize("endpoint", [-1, 2**64])
def test_endpoints_have_64_bits(endpoint: int) -> None:
    for ask in (endpoint_message, digest_message, endpoint_filter, digest_filter):
        with pytest.raises(UsageError, match="endpoint"):
            ask(endpoint)


@pytest.mark.parametrize("bloom", [-1, 1 - 2**64])
def test_sets_are_not_negative(bloom: int) -> None:
    with pytest.raises(UsageError, match="bloom"):
        request_message(bloom)
