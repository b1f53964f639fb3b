import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.errors import PeerError, UsageError
from penstock.kernel.seeds import Seeds
from penstock.wire.codec.record import (
    SAME_NAMES,
    SHARES_VALUES,
    EntryCodec,
    EntryDraft,
    pack_bloom,
    read_value,
    read_values,
    unpack_bloom,
)
from penstock.wire.frames.record import BloomEntry, FingerprintEntry
from tests.wire.strategies import Carried, carriers, entries

NAMES = (100, 200, 300)
# Values have places, in any order.
CARRIER = Carried(NAMES, (2, 0x1_0001, 3))
WIDTHS = [1, 5, 8, 12, 16, 20, 24, 32, 33, 64]


@given(st.sampled_from(WIDTHS), st.data())
def test_an_entry_round_trips(width_bits: int, data: st.DataObject) -> None:
    carrier = data.draw(carriers(width_bits))
    entry = data.draw(entries(width_bits, carrier))
    codec = EntryCodec(*carrier, width_bits)
    for is_spelt_out in (False, True):
        packed = codec.pack(entry, is_standalone=is_spelt_out)
        assert packed
        assert codec.unpack(packed) == entry
        assert not packed[0] & SHARES_VALUES or not is_spelt_out


@given(st.sampled_from(WIDTHS), st.data())
def test_values_can_be_read_without_the_rest(width_bits: int, data: st.DataObject) -> None:
    carrier = data.draw(carriers(width_bits))
    entry = data.draw(entries(width_bits, carrier))
    codec = EntryCodec(*carrier, width_bits)
    packed, places = codec.pack(entry), len(carrier.values)
    told = read_values(packed, places, width_bits)
    shared = [value for place, value in enumerate(carrier.values) if told.bitmap >> place & 1]
    assert shared == [value for value in carrier.values if value in entry.values]
    assert told.unshared == tuple(v for v in entry.values if v not in carrier.values)
    for from_end, value in enumerate(reversed(told.unshared), 1):
        assert read_value(packed, places, from_end, width_bits) == value
    assert read_value(packed, places, len(told.unshared) + 1, width_bits) is None
    if packed[0] & SAME_NAMES:
        assert codec.numeric_values_of(packed) == entry.numeric_values


@given(st.data())
def test_a_draft_packs_for_one_carrier_after_another(data: st.DataObject) -> None:
    entry = data.draw(entries(20, data.draw(carriers(20))))
    draft = EntryDraft(entry)
    for _ in range(4):
        codec = EntryCodec(*data.draw(st.sampled_from([CARRIER, Carried(entry.presence, (7, 7))])))
        assert draft.pack(codec, draft.value_set & codec.value_set) == codec.pack(entry)


def test_the_bits_are_those_of_the_picture() -> None:
    codec = EntryCodec(*CARRIER)
    # S, E, all three of the carrier's values: 1, 1, 111.
    assert codec.pack(FingerprintEntry.of(NAMES, CARRIER.values)) == bytes([0b11111])
    # S, E, the first and last place, the code for one member, which is its high part of 4 bits.
    assert codec.pack(FingerprintEntry.of(NAMES, [2, 3, 0x5_AABB])) == (
        1 | 1 << 1 | 0b101 << 2 | 5 << 5
    ).to_bytes(2, "little") + bytes([0xBB, 0xAA])
    # S, nothing shared: the code C(0, 1) + C(2 + 1, 2) + C(2 + 2, 3) in 10 bits.
    assert codec.pack(FingerprintEntry.of(NAMES, [4, 0x2_0005, 0x2_0006])) == (
        1 | 0 << 1 | (0 + 3 + 4) << 2
    ).to_bytes(2, "little") + bytes([4, 0, 5, 0, 6, 0])
    # Not S, nothing shared, no value, two names: E, the carrier's second, and 0x1_0203.
    assert codec.pack(FingerprintEntry.of([200, 0x1_0203], [])) == (
        0 | 0 << 1 | 0 << 2 | 2 << 9 | 1 << 16 | 0b010 << 17 | 1 << 20
    ).to_bytes(3, "little") + bytes([3, 2])
    # As the first, with a number, 1.5, for the third name.
    numbered = FingerprintEntry.of(NAMES, CARRIER.values, [(300, 1.5)])
    assert codec.pack(numbered) == bytes([0b11111 | 0b100 << 5 & 0xFF, 0x00, 0x3E])


def test_a_value_that_the_carrier_has_twice_has_two_places() -> None:
    codec = EntryCodec(NAMES, (7, 8, 7))
    # The map 101 counts as two, and with 9 the entry has as many as the carrier.
    packed = codec.pack(FingerprintEntry.of(NAMES, [7, 9]))
    assert packed == (1 | 1 << 1 | 0b101 << 2).to_bytes(2, "little") + bytes([9, 0])
    with pytest.raises(PeerError, match="one place of two"):
        codec.unpack((1 | 1 << 1 | 0b011 << 2).to_bytes(2, "little") + bytes([9, 0]))


@pytest.mark.spec("§3.0")
@pytest.mark.parametrize(("attributes", "size_bytes"), [(5, 12), (10, 23), (20, 45)])
def test_attributes_that_share_nothing_take(attributes: int, size_bytes: int) -> None:
    rng = Seeds(1).rng("wire", "record")
    names = tuple(sorted(_draw(rng, attributes)))
    for _ in range(200):
        codec = EntryCodec(names, _draw(rng, attributes))
        entry = FingerprintEntry.of(names, _draw(rng, attributes))
        assert len(codec.pack(entry)) == size_bytes


def test_every_shared_value_makes_an_entry_smaller() -> None:
    rng = Seeds(1).rng("wire", "shared")
    names = tuple(sorted(_draw(rng, 10)))
    own, fresh = _draw(rng, 10), _draw(rng, 10)
    codec = EntryCodec(names, own)
    sizes = [
        len(codec.pack(FingerprintEntry.of(names, own[:shared] + fresh[shared:])))
        for shared in range(11)
    ]
    assert all(after <= before for before, after in pairwise(sizes))
    assert sizes[10] == 2


@pytest.mark.parametrize("count", [128, 200])
def test_an_entry_too_large_for_the_record_says_nothing(count: int) -> None:
    rng = Seeds(1).rng("wire", "large")
    large = FingerprintEntry.of([1], _draw(rng, count))
    packed = EntryCodec(*CARRIER).pack(large)
    assert packed == b""
    assert EntryCodec(*CARRIER).unpack(packed) is None
    assert unpack_bloom(b"") is None


def test_a_carrier_may_have_any_number_of_tags() -> None:
    rng = Seeds(1).rng("wire", "carrier")
    codec = EntryCodec(tuple(sorted(_draw(rng, 60))), _draw(rng, 600))
    entry = FingerprintEntry.of(codec.presence, codec.values[:590] + _draw(rng, 10))
    assert codec.unpack(codec.pack(entry)) == entry


def _bytes(head: int, size_bytes: int, tail: bytes = b"") -> bytes:
    return head.to_bytes(size_bytes, "little") + tail


MALFORMED = {
    "a byte too many": _bytes(0b11111, 2),
    "padding that is not zero": _bytes(0b10011111, 1),
    "an empty map": _bytes(0b00011, 3, bytes(6)),
    "no members": _bytes(0b01, 3),
    "more shared than counted": _bytes(0b10 | 0b111 << 2 | 2 << 5, 3),
    "one shared value in the map and one spelt out": _bytes(0b11 | 0b011 << 2, 2, b"\3\0"),
    "a code that no two have": _bytes(0b11 | 0b001 << 2 | 136 << 5, 2, bytes([0, 0, 1, 0])),
    "values out of order": _bytes(0b11 | 0b001 << 2, 2, bytes([9, 0, 8, 0])),
    "a value twice": _bytes(0b11 | 0b001 << 2, 2, bytes([9, 0, 9, 0])),
    "the carrier's names spelt out": _bytes(
        0b10 | 0b111 << 2 | 3 << 5 | 3 << 12 | (1 | 0b111 << 1) << 19, 3
    ),
    "an empty map of names": _bytes(0 | 1 << 9 | 1 << 16, 3, bytes(2)),
    "a shared name spelt out": _bytes(0 | 1 << 9, 3, bytes([100, 0])),
    "more names shared than counted": _bytes(0 | 1 << 9 | (1 | 0b011 << 1) << 16, 3),
    "a number that is NaN": _bytes(0b11111 | 0b100 << 5, 1, bytes([0x00, 0x7E])),
    "a number cut short": _bytes(0b11111 | 0b100 << 5, 1, bytes([0x3E])),
    "no numbers": _bytes(0b11111, 1, bytes(2)),
    "127 and 127 members promised": _bytes(127 << 2 | 127 << 9, 3),
}


@pytest.mark.parametrize("data", [pytest.param(data, id=name) for name, data in MALFORMED.items()])
def test_malformed_entries_are_refused(data: bytes) -> None:
    with pytest.raises(PeerError, match=r"^record entry: [^\n]+$"):
        EntryCodec(*CARRIER).unpack(data)


def test_any_bytes_are_refused_or_packed_again_as_they_were() -> None:
    rng = Seeds(1).rng("wire", "entries")
    codec = EntryCodec(*CARRIER)
    genuine = [
        codec.pack(FingerprintEntry.of(NAMES, [2, 5, 0x2_0009])),
        codec.pack(FingerprintEntry.of([100, 7], [2, 3, 77, 99], [(7, -2.5)])),
    ]
    accepted = 0
    for i in range(20_000):
        data = bytearray(rng.choice(genuine) if i % 2 else rng.randbytes(rng.randint(1, 40)))
        for _ in range(rng.randint(0, 3)):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        try:
            entry = codec.unpack(bytes(data))
        except PeerError:
            continue
        assert entry is not None
        assert data in (codec.pack(entry), codec.pack(entry, is_standalone=True))
        accepted += 1
    assert accepted > 1000


def test_the_width_of_fingerprints_is_bounded() -> None:
    for width_bits in (0, 65):
        with pytest.raises(UsageError, match="1 to 64 bits"):
            EntryCodec(*CARRIER, width_bits)


@given(st.integers(1, 255), st.data())
def test_a_literal_entry_is_its_set(bloom_bytes: int, data: st.DataObject) -> None:
    bloom = data.draw(st.integers(0, (1 << 8 * bloom_bytes) - 1))
    entry = BloomEntry(bloom, bloom_bytes)
    assert len(pack_bloom(entry)) == bloom_bytes
    assert unpack_bloom(pack_bloom(entry)) == entry


def _draw(rng: random.Random, count: int) -> tuple[int, ...]:
    return tuple(rng.sample(range(1 << 20), count))
