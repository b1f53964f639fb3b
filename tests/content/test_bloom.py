"""Bloom sets: what the formulas predict, what is measured, the table against its twin.

And the encoder, which makes sets and fingerprints of messages and filters by a schema.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TypedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.content import tags as tags_module
from penstock.content.bloom import BloomParams, FilterTable, subset
from penstock.content.constraint import Constraint, Op
from penstock.content.filter import Filter
from penstock.content.message import Message
from penstock.content.schema import LENGTHS, Encoding, Schema
from penstock.content.tags import Encoder, Fingerprints, filter_tags, message_tags
from penstock.kernel.errors import UsageError
from penstock.kernel.seeds import Seeds
from tests.content.strategies import filters, messages

SALT = b"a network's salt"


class Row(TypedDict):
    """One line of the published table."""

    m: int
    k: int
    n: int
    fill: float
    fpr: float


ROWS: list[Row] = json.loads(
    (Path(__file__).parent.parent / "vectors" / "bloom.json").read_text(encoding="utf-8")
)


@pytest.mark.spec("2.8")
@pytest.mark.parametrize("row", ROWS, ids=lambda r: f"{r['m']}-{r['k']}-{r['n']}")
def test_predictions_agree_with_the_vectors(row: Row) -> None:
    params = BloomParams(row["m"], row["k"])
    assert params.fill(row["n"]) == pytest.approx(row["fill"], rel=1e-9)
    assert params.false_positive_rate(row["n"]) == pytest.approx(row["fpr"], rel=1e-9)


@pytest.mark.spec("2.8")
@pytest.mark.parametrize("row", [r for r in ROWS if r["n"] in (10, 20, 40)], ids=str)
def test_sets_fill_and_err_as_predicted(row: Row) -> None:
    """Fill within 2 % of the vectors, false positives between 20 % below and 5 % above.

    The formulas let a tag's k positions coincide, ours are distinct. That fills
    a little more and, where few tags are tested, errs a little less.
    """
    params = BloomParams(row["m"], row["k"])
    rng = Seeds(1).rng("bloom", str(row["m"]), str(row["k"]), str(row["n"]))
    strangers: FilterTable[int] = FilterTable(params.m)
    for handle in range(10_000):
        strangers.add(handle, params.bits_of_fingerprint(rng.getrandbits(48)))
    sets = [
        params.bits_of_fingerprints(rng.getrandbits(48) for _ in range(row["n"]))
        for _ in range(400)
    ]
    fill = sum(bits.bit_count() for bits in sets) / len(sets) / params.m
    assert fill == pytest.approx(row["fill"], rel=0.02)
    rate = sum(len(strangers.matching(bits)) for bits in sets) / len(sets) / len(strangers)
    assert 0.8 * row["fpr"] < rate < 1.05 * row["fpr"]


@pytest.mark.spec("F17")
def test_sizes_follow_the_number_of_tags() -> None:
    assert BloomParams.for_tags(10) == BloomParams(256, 5)
    assert BloomParams.for_tags(11) == BloomParams(512, 7)
    assert BloomParams.for_tags(20).false_positive_rate(20) < 1e-4


@given(st.integers(8, 600), st.integers(1, 12), st.integers(0, 2**64 - 1))
@settings(deadline=None)
def test_every_fingerprint_has_k_bits(m: int, k: int, fingerprint: int) -> None:
    params = BloomParams(m, min(k, m // 2))
    bits = params.bits_of_fingerprint(fingerprint)
    assert bits.bit_count() == params.k
    assert bits < 1 << m


def test_positions_are_spread_evenly() -> None:
    params = BloomParams(248, 5)
    counts = [0] * 248
    for fingerprint in range(20_000):
        bits = params.bits_of_fingerprint(fingerprint)
        for position in range(248):
            counts[position] += bits >> position & 1
    expected = 20_000 * 5 / 248
    chi_squared = sum((count - expected) ** 2 / expected for count in counts)
    assert chi_squared < 247 + 5 * (2 * 247) ** 0.5


def test_patterns_are_as_many_as_fingerprints() -> None:
    """Double hashing over 256 bits would repeat itself after 16 384 patterns."""
    params = BloomParams(256, 5)
    assert len({params.bits_of_fingerprint(fp) for fp in range(1 << 16)}) > 0.9999 * (1 << 16)


@pytest.mark.parametrize(("m", "k"), [(4, 1), (5_000, 5), (256, 0), (256, 33), (16, 9)])
def test_impossible_sizes_are_refused(m: int, k: int) -> None:
    with pytest.raises(UsageError):
        BloomParams(m, k)


def test_subset() -> None:
    assert subset(0b0011, 0b0111)
    assert not subset(0b1011, 0b0111)
    assert subset(0, 0)


@pytest.mark.parametrize("m", [64, 248, 256, 512])
def test_a_table_finds_what_its_twin_finds(m: int) -> None:
    """Through growth, removals, compaction, and re-use of handles."""
    rng = Seeds(2).rng("table", str(m))
    params = BloomParams(m, 3)
    tags = [params.bits_of_fingerprint(fp) for fp in range(60)]
    table: FilterTable[int] = FilterTable(m)
    twin: dict[int, int] = {}
    found = 0
    for step in range(6_000):
        if twin and rng.random() < (0.3 if step % 3_000 < 2_000 else 0.8):
            gone = rng.choice(list(twin)) if step % 50 == 0 else next(iter(twin))
            table.remove(gone)
            del twin[gone]
        else:
            handle = rng.randrange(4_000)
            twin[handle] = rng.choice(tags) | rng.choice(tags)
            table.add(handle, twin[handle])
        if step % 20 == 0:
            message = 0
            for tag in rng.sample(tags, rng.choice((5, 12, 40))):
                message |= tag
            matching = table.matching(message)
            assert matching == [h for h, bits in twin.items() if subset(bits, message)]
            found += len(matching)
        assert len(table) == len(twin)
    assert found > 1_000


def test_a_full_message_matches_no_removed_filter() -> None:
    table: FilterTable[str] = FilterTable(256)
    for i in range(300):
        table.add(f"f{i}", 1 << i % 256)
    table.remove("f7")
    everything = (1 << 256) - 1
    assert table.matching(everything) == [f"f{i}" for i in range(300) if i != 7]
    assert "f7" not in table
    assert "f8" in table
    with pytest.raises(KeyError):
        table.remove("f7")


def test_the_empty_filter_matches_every_message() -> None:
    table: FilterTable[int] = FilterTable(256)
    for i in range(400):
        table.add(i, 0 if i == 250 else 1)
    assert table.matching(0) == [250]


def schemas() -> st.SearchStrategy[Schema]:
    grids = st.builds(
        Encoding,
        width=st.sampled_from([None, 0.25, 10.0]),
        prefixes=st.sampled_from([(), (1,), LENGTHS]),
        suffixes=st.sampled_from([(), (2, 1)]),
    )
    return st.builds(Schema, st.dictionaries(st.sampled_from("abc"), grids))


@given(st.lists(messages(), max_size=6), schemas(), st.sampled_from([8, 20, 64]))
@settings(deadline=None)
def test_sets_are_rebuilt_from_fingerprints(
    sent: list[Message], schema: Schema, fingerprint_bits: int
) -> None:
    encoder = Encoder(SALT, schema, fingerprint_bits=fingerprint_bits)
    for message in sent + sent:
        known = encoder.message_fingerprints(message)
        tags = message_tags(message, schema)
        assert encoder.bits_of_fingerprints(known) == encoder.message_bits(message)
        assert {*known.presence, *known.values} == set(map(encoder.fingerprint, tags))
        assert list(known.values) == sorted(set(known.values))
        assert all(fingerprint < 1 << fingerprint_bits for fingerprint in known.values)


@given(filters(), schemas())
@settings(deadline=None)
def test_a_filters_set_is_rebuilt_from_fingerprints(interest: Filter, schema: Schema) -> None:
    encoder = Encoder(SALT, schema)
    known = encoder.filter_fingerprints(interest)
    assert encoder.bits_of_fingerprints(known) == encoder.filter_bits(interest)
    assert {*known.presence, *known.values} == set(
        map(encoder.fingerprint, filter_tags(interest, schema))
    )


def test_the_encoding_never_changes_unnoticed() -> None:
    """Nodes of different versions must agree on these: a change needs a new protocol version."""
    encoder = Encoder(b"golden", Schema({"price": Encoding(width=0.5, levels=2, prefixes=(1,))}))
    message = Message({"price": 101.25, "symbol": "IBM", "open": True, "size": 7})
    assert encoder.message_fingerprints(message) == Fingerprints(
        presence=(533588, 534917, 722097, 757298),
        values=(178073, 221381, 485660, 845784, 1001622, 1004253),
    )
    assert encoder.message_bits(message) == (
        0x46044268100801400010104440090120209000008680920030C0028001A4170
    )
    interest = Filter([Constraint("symbol", Op.PREFIX, "IB"), Constraint("size", Op.EQ, 7.0)])
    assert encoder.filter_fingerprints(interest) == Fingerprints((534917, 757298), (178073,))
    bits = {
        (params.m, params.k): params.bits_of_fingerprint(0xBEEF)
        for params in (BloomParams(256, 5), BloomParams(248, 5), BloomParams(512, 7))
    }
    assert bits[256, 5] == 0x1000000000000000000000000000000000000800000000000000012001
    assert bits[248, 5] == 0x600000000000000000000000020200000000000000001000000000000
    positions = [i for i in range(512) if bits[512, 7] >> i & 1]
    assert positions == [13, 20, 46, 128, 321, 363, 392]


def test_another_salt_gives_other_fingerprints() -> None:
    message = Message({"a": 1, "b": 2})
    one, other = (Encoder(salt).message_fingerprints(message) for salt in (b"one", b"other"))
    assert not {*one.presence, *one.values} & {*other.presence, *other.values}


def test_true_and_one_are_remembered_apart() -> None:
    encoder = Encoder(SALT)
    sets = [encoder.message_bits(Message({"x": value})) for value in (1, True, 0, False, 1.0)]
    assert len(set(sets)) == 4
    assert sets[0] == sets[4]


def test_memory_is_bounded_and_forgetting_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tags_module, "_ITEMS_CACHED_MAX", 8)
    monkeypatch.setattr(tags_module, "_NAMES_CACHED_MAX", 4)
    encoder = Encoder(SALT)
    rng = Seeds(9).rng("cache")
    for _ in range(400):
        message = Message({f"a{rng.randrange(8)}": rng.randrange(8) for _ in range(3)})
        assert encoder.message_bits(message) == Encoder(SALT).message_bits(message)
        assert len(encoder._young) + len(encoder._old) <= 16
        assert len(encoder._names) <= 4


def test_an_encoder_refuses_what_cannot_be() -> None:
    with pytest.raises(UsageError, match="at most 64 bytes"):
        Encoder(b"s" * 65)
    with pytest.raises(UsageError, match="8 to 64 bits"):
        Encoder(SALT, fingerprint_bits=4)


def test_a_schema_is_read_from_plain_data() -> None:
    schema = Schema.from_dict(
        {"price": {"origin": 0, "width": 0.25, "levels": 8}, "symbol": {"prefixes": [1, 2]}}
    )
    assert schema.attributes["price"] == Encoding(origin=0.0, width=0.25, levels=8)
    assert schema.attributes["symbol"] == Encoding(prefixes=(1, 2))
    assert Schema.from_dict({}) == Schema()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ([], "maps attribute names to options"),
        ({"": {}}, "name must be 1 to"),
        ({1: {}}, "name must be a string"),
        ({"price": 5}, "schema of attribute 'price'"),
        ({"price": {"width": "x"}}, "'price': width: Expected"),
        ({"price": {"size": 1}}, "unknown field `size`"),
        ({"price": {"width": 0}}, "'price': width must be above 0"),
        ({"price": {"width": math.nan}}, "width must be above 0"),
        ({"price": {"width": 1e308, "levels": 6}}, "doubled 5 times"),
        ({"price": {"origin": math.inf}}, "origin must be a finite number"),
        ({"price": {"levels": 0}}, "levels must be 1 to 32"),
        ({"symbol": {"prefixes": [0]}}, "prefixes must be at most 8 lengths"),
        ({"symbol": {"suffixes": [1, 1]}}, "suffixes must differ"),
        ({f"a{i}": {} for i in range(65)}, "at most 64 attributes"),
    ],
)
def test_a_wrong_schema_says_what_is_wrong(options: object, text: str) -> None:
    with pytest.raises(UsageError, match=text):
        Schema.from_dict(options)
