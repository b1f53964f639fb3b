"""Bloom sets: what the formulas predict, what is measured, and the table against its twin."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.content.bloom import BloomParams, FilterTable, subset
from penstock.kernel.errors import UsageError
from penstock.kernel.seeds import Seeds


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
