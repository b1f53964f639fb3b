import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.errors import PeerError, UsageError
from penstock.kernel.seeds import Seeds
from penstock.wire.codec.record import EntryCodec, pack_bloom, unpack_bloom
from penstock.wire.frames.record import BloomEntry, FingerprintEntry
from tests.wire.strategies import carriers, entries

CARRIER = FingerprintEntry.of([100, 200, 300], [1, 2, 3])


@given(st.sampled_from([8, 16, 20, 24, 32, 64]), st.data())
def test_an_entry_round_trips(width_bits: int, data: st.DataObject) -> None:
    carrier = data.draw(carriers(width_bits))
    entry = data.draw(entries(width_bits, carrier))
    codec = EntryCodec(carrier, width_bits)
    packed = codec.pack(entry)
    assert packed
    assert codec.unpack(packed) == entry


def test_the_bits_are_those_of_the_picture() -> None:
    codec = EntryCodec(CARRIER)
    # S, E, all three of the carrier's values: 1, 1, 111.
    assert codec.pack(CARRIER) == bytes([0b11111])
    # S, E, the first and last, then one member of 20 bits: low of 19, no zero, a one.
    assert codec.pack(FingerprintEntry.of([100, 200, 300], [1, 3, 7])) == (
        1 | 1 << 1 | 0b101 << 2 | (1 << 19 | 7) << 5
    ).to_bytes(4, "little")
    # Not S, no values, one presence tag, which is the carrier's second; E of values is 0.
    assert codec.pack(FingerprintEntry.of([200], [])) == (
        0 | 0 << 1 | 1 << 8 | 0 << 15 | 1 << 16 | 0b010 << 17
    ).to_bytes(3, "little")
    # As the first, with a number, 1.5, for the third name.
    numbered = FingerprintEntry.of(CARRIER.presence, CARRIER.values, [(300, 1.5)])
    assert codec.pack(numbered) == (0b11111 | 0b100 << 5 | 0x3E00 << 8).to_bytes(3, "little")


@pytest.mark.spec("§3.0")
def test_ten_attributes_take_23_bytes_and_rarely_one_more() -> None:
    rng = Seeds(1).rng("wire", "record")
    names = _draw(rng, 10)
    sizes = []
    for _ in range(2000):
        carrier = FingerprintEntry.of(names, _draw(rng, 10))
        sizes.append(len(EntryCodec(carrier).pack(FingerprintEntry.of(names, _draw(rng, 10)))))
    assert max(sizes) <= 24
    assert sorted(sizes)[int(0.9 * len(sizes))] <= 23


def test_every_shared_value_makes_an_entry_smaller() -> None:
    rng = Seeds(1).rng("wire", "shared")
    carrier = FingerprintEntry.of(_draw(rng, 10), _draw(rng, 10))
    fresh = _draw(rng, 10)
    packed = [
        EntryCodec(carrier).pack(
            FingerprintEntry.of(carrier.presence, carrier.values[:shared] + fresh[shared:])
        )
        for shared in range(11)
    ]
    sizes = [len(p) for p in packed]
    assert all(after <= before for before, after in pairwise(sizes))
    assert sizes[10] == 2


@pytest.mark.parametrize("count", [128, 200])
def test_an_entry_too_large_for_the_record_says_nothing(count: int) -> None:
    rng = Seeds(1).rng("wire", "large")
    large = FingerprintEntry.of([1], _draw(rng, count))
    packed = EntryCodec(CARRIER).pack(large)
    assert packed == b""
    assert EntryCodec(CARRIER).unpack(packed) is None
    assert unpack_bloom(b"") is None


def test_a_carrier_may_have_any_number_of_tags() -> None:
    rng = Seeds(1).rng("wire", "carrier")
    carrier = FingerprintEntry.of(_draw(rng, 60), _draw(rng, 600))
    entry = FingerprintEntry.of(carrier.presence, carrier.values[:590] + _draw(rng, 10))
    assert EntryCodec(carrier).unpack(EntryCodec(carrier).pack(entry)) == entry


MALFORMED = {
    "a byte too many": bytes([0b11111, 0]),
    "padding that is not zero": bytes([0b10011111]),
    "an empty bitmap": bytes([0b00011]) + bytes(8),
    "no members": bytes([0b01]) + bytes(8),
    "more shared than counted": (2 << 1 | 1 << 15 | 0b111 << 16).to_bytes(3, "little"),
    "a shared value spelt out": (1 | 1 << 1 | 0b011 << 2 | (1 << 19 | 3) << 5).to_bytes(
        4, "little"
    ),
    "a member too wide": (1 | 1 << 1 | 0b011 << 2 | 0b100 << 24).to_bytes(4, "little"),
    "the carrier's names spelt out": (
        3 << 1 | 3 << 8 | (1 | 0b111 << 1) << 15 | (1 | 0b111 << 1) << 19
    ).to_bytes(3, "little"),
    "a number that is NaN": (0b11111 | 0b100 << 5 | 0x7E00 << 8).to_bytes(3, "little"),
    "a number cut short": (0b11111 | 0b100 << 5 | 0x3E << 8).to_bytes(2, "little"),
    "127 and 127 members promised": (127 << 1 | 127 << 8).to_bytes(3, "little"),
}


@pytest.mark.parametrize("data", [pytest.param(data, id=name) for name, data in MALFORMED.items()])
def test_malformed_entries_are_refused(data: bytes) -> None:
    with pytest.raises(PeerError, match=r"^record entry: [^\n]+$"):
        EntryCodec(CARRIER).unpack(data)


def test_any_bytes_are_refused_or_packed_again_as_they_were() -> None:
    rng = Seeds(1).rng("wire", "entries")
    codec = EntryCodec(CARRIER)
    genuine = [
        codec.pack(FingerprintEntry.of([100, 200, 300], [1, 5, 9])),
        codec.pack(FingerprintEntry.of([100, 7], [1, 2, 77, 99], [(7, -2.5)])),
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
        assert codec.pack(entry) == data
        accepted += 1
    assert accepted > 1000


def test_the_width_of_fingerprints_is_bounded() -> None:
    for width_bits in (0, 65):
        with pytest.raises(UsageError, match="1 to 64 bits"):
            EntryCodec(CARRIER, width_bits)


@given(st.integers(1, 255), st.data())
def test_a_literal_entry_is_its_set(bloom_bytes: int, data: st.DataObject) -> None:
    bloom = data.draw(st.integers(0, (1 << 8 * bloom_bytes) - 1))
    entry = BloomEntry(bloom, bloom_bytes)
    assert len(pack_bloom(entry)) == bloom_bytes
    assert unpack_bloom(pack_bloom(entry)) == entry


def _draw(rng: random.Random, count: int) -> tuple[int, ...]:
    return tuple(rng.sample(range(1 << 20), count))
