import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.errors import PeerError, UsageError
from penstock.wire.codec.rice import read_rice, write_rice
from tests.wire.strategies import ascending, unsigned


@given(st.integers(1, 64), st.data())
def test_a_set_comes_back_whatever_follows_it(width_bits: int, data: st.DataObject) -> None:
    members = data.draw(ascending(unsigned(width_bits), most=min(40, 1 << width_bits)))
    after = data.draw(st.integers(0, 2**40))
    stream, bits = write_rice(members, width_bits)
    assert stream >> bits == 0
    assert read_rice(after << bits | stream, len(members), width_bits) == (members, bits)


@given(st.integers(8, 64), st.data())
def test_no_set_takes_more_than_promised(width_bits: int, data: st.DataObject) -> None:
    members = data.draw(ascending(unsigned(width_bits), least=1, most=40))
    low_bits = width_bits - len(members).bit_length()
    assert write_rice(members, width_bits)[1] < len(members) * (low_bits + 3)


def test_the_bits_are_those_of_the_picture() -> None:
    # Two members of 4 bits have lows of 2: distances 1 = 0|01 and 13 - 1 - 1 = 11 = 2|11.
    assert write_rice((1, 13), 4) == (0b1001_1101, 8)


def test_a_set_that_does_not_end_is_refused() -> None:
    with pytest.raises(PeerError, match="fewer than 3"):
        read_rice(0b11 << 60, 3, 20)
    with pytest.raises(PeerError, match="fewer than 1"):
        read_rice(0, 1, 20)


def test_a_member_too_wide_is_refused_on_both_sides() -> None:
    with pytest.raises(UsageError, match="more than 20 bits"):
        write_rice((1 << 20,), 20)
    # One member of 20 bits has a low of 19 and a high of at most one zero.
    with pytest.raises(PeerError, match="more than 20 bits"):
        read_rice(0b100 << 19, 1, 20)
