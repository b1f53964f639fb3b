from itertools import combinations_with_replacement
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.errors import PeerError, UsageError
from penstock.wire.codec.fingerprint_set import (
    check_width,
    high_bits_code,
    high_bits_code_bits,
    pack_low_bytes,
    read_fingerprints,
)
from tests.wire.strategies import ascending, unsigned


@given(st.integers(1, 64), st.data())
def test_a_set_comes_back(width_bits: int, data: st.DataObject) -> None:
    members = data.draw(ascending(unsigned(width_bits), most=min(40, 1 << width_bits)))
    code, lows = high_bits_code(members, width_bits), pack_low_bytes(members, width_bits)
    assert code >> high_bits_code_bits(len(members), width_bits) == 0
    assert len(lows) == len(members) * (width_bits // 8)
    assert read_fingerprints(code, len(members), lows, width_bits) == members


def test_codes_number_all_rows_without_a_gap() -> None:
    # Twelve bits, of which four are high: only those go into the code.
    rows = combinations_with_replacement(range(16), 3)
    codes = sorted(high_bits_code([high << 8 for high in row], 12) for row in rows)
    assert codes == list(range(comb(18, 3)))
    assert high_bits_code_bits(3, 12) == (comb(18, 3) - 1).bit_length()


def test_the_sum_is_that_of_the_page() -> None:
    # Highs 1, 1 and 4 of 20-bit members: C(1, 1) + C(2, 2) + C(6, 3).
    members = (0x1_0002, 0x1_BBAA, 0x4_0000)
    assert high_bits_code(members, 20) == 1 + 1 + 20
    assert pack_low_bytes(members, 20) == bytes.fromhex("0200 aabb 0000")


@pytest.mark.parametrize(("count", "bits"), [(0, 0), (1, 4), (5, 14), (7, 18), (10, 22)])
def test_so_many_high_parts_of_four_bits_take(count: int, bits: int) -> None:
    assert high_bits_code_bits(count, 20) == bits


def test_what_no_set_has_is_refused() -> None:
    with pytest.raises(PeerError, match="no 2 fingerprints have the code 136"):
        read_fingerprints(comb(17, 2), 2, bytes(4), 20)
    with pytest.raises(PeerError, match="not in order"):
        read_fingerprints(0, 2, b"\2\0\1\0", 20)
    with pytest.raises(PeerError, match="not in order"):
        read_fingerprints(0, 2, b"\1\0\1\0", 20)


def test_a_member_too_wide_is_refused() -> None:
    check_width(((1 << 20) - 1,), 20)
    with pytest.raises(UsageError, match="more than 20 bits"):
        check_width((1, 1 << 20), 20)
