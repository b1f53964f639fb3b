import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.content.message import Message
from penstock.content.syntax import parse
from penstock.kernel.errors import UsageError
from penstock.wire.frames.control_routing import (
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
        " or penstock.request = 61 and b0 = true and b2 = true or penstock.request = 61"
    )


def test_a_request_has_an_attribute_for_each_bit() -> None:
    expected = {"penstock.request": True, "b0": True, "b7": True, "b255": True}
    assert request_bits(1 | 1 << 7 | 1 << 255) == Message(expected)


@given(st.lists(SPARSE, max_size=4), SPARSE)
def test_a_request_is_heard_by_filters_that_lie_within_it(filters: list[int], bloom: int) -> None:
    heard = any(not own & ~bloom for own in filters)
    assert answering(filters).matches(request_bits(bloom)) is heard


@pytest.mark.spec("R7")
def test_a_set_of_too_many_bits_for_a_message_is_folded() -> None:
    assert len(request_bits(2**63 - 1).attributes) == 64
    assert "b62" in request_bits(2**63 - 1).attributes
    folded = request_bits((2**64 - 1) << 61)
    assert folded == Message({"penstock.request": 61, **{f"b{i}": True for i in range(61)}})
    assert max(len(f.constraints) for f in answering([2**40 - 1]).filters) == 32


@pytest.mark.spec("R7")
@given(st.sets(st.integers(0, 511), min_size=40, max_size=200), st.data())
def test_a_filter_within_a_well_filled_set_hears_of_it_all_the_same(
    bits: set[int], data: st.DataObject
) -> None:
    own = data.draw(st.sets(st.sampled_from(sorted(bits))))
    sets = [sum(1 << bit for bit in chosen) for chosen in (own, bits)]
    assert answering(sets[:1]).matches(request_bits(sets[1]))


@pytest.mark.parametrize("endpoint", [-1, 2**64])
def test_endpoints_have_64_bits(endpoint: int) -> None:
    for ask in (unicast, digests_of, to_endpoint, digest_of):
        with pytest.raises(UsageError, match="endpoint"):
            ask(endpoint)


@pytest.mark.parametrize("bloom", [-1, 1 - 2**64])
def test_sets_are_not_negative(bloom: int) -> None:
    with pytest.raises(UsageError, match="bloom"):
        request_bits(bloom)
