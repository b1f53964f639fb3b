"""Files of other versions, damaged files and files of others, each made by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from penstock.kernel.errors import UsageError
from penstock.trace.fates import DropReason, HopDecision
from penstock.trace.records import Drop, Hop
from penstock.tracefile.reader import TraceReader
from tests.tracefile.test_round_trip import record

# Version 1.0 as it is, and stays: written out so that a change of the code cannot change it.
# It must be read by every program of major version 1.
HOPS_1_0: dict[str, Any] = {
    "decided_ns": pa.array([10, 20], pa.int64()),
    "broker": pa.array(["B1", "B2"], pa.string()),
    "publisher": pa.array(["p", "p"], pa.string()),
    "epoch": pa.array([1, 1], pa.int64()),
    "seq": pa.array([5, 5], pa.int64()),
    "decision": pa.array(["forwarded", "dropped"], pa.string()),
    "towards": pa.array(["B2", None], pa.string()),
    "reason": pa.array([None, "ttl"], pa.string()),
    "packet_origin": pa.array([1, 1], pa.int64()),
    "packet_epoch": pa.array([0, 0], pa.int64()),
    "packet_counter": pa.array([77, 77], pa.int64()),
}
ROWS_1_0 = [
    Hop(10, "B1", "p", 1, 5, HopDecision.FORWARDED, "B2", None, 1, 0, 77),
    Hop(20, "B2", "p", 1, 5, HopDecision.DROPPED, None, DropReason.TTL, 1, 0, 77),
]


def write(directory: Path, columns: dict[str, Any], version: str | None = "1.0") -> Path:
    path = directory / "run=a" / "hops.parquet"
    path.parent.mkdir()
    says = {} if version is None else {"penstock.schema": version, "penstock.table": "hops"}
    pq.write_table(pa.table(columns).replace_schema_metadata(says), path, compression="zstd")
    return path


def read(directory: Path) -> list[Hop]:
    return list(TraceReader(directory).records(Hop, "a"))


def without(*names: str) -> dict[str, Any]:
    return {name: column for name, column in HOPS_1_0.items() if name not in names}


def test_version_1_0_is_read_for_ever(tmp_path: Path) -> None:
    write(tmp_path, HOPS_1_0)
    assert read(tmp_path) == ROWS_1_0


def test_columns_of_a_newer_minor_version_are_ignored_and_said_once(tmp_path: Path) -> None:
    path = write(tmp_path, {"colour": pa.array(["red", "blue"]), **HOPS_1_0}, "1.9")
    reader = TraceReader(tmp_path)
    assert list(reader.records(Hop, "a")) == list(reader.records(Hop, "a")) == ROWS_1_0
    assert reader.notes == [f"{path} (schema 1.9): ignored column colour"]


def test_optional_columns_that_an_older_file_lacks_take_their_defaults(tmp_path: Path) -> None:
    write(tmp_path, without("reason", "packet_counter"))
    first, second = read(tmp_path)
    assert (second.reason, second.packet_counter) == (None, None)
    assert first.towards == "B2"


def test_a_required_column_that_is_lacking_is_named(tmp_path: Path) -> None:
    path = write(tmp_path, without("broker", "seq"))
    with pytest.raises(UsageError, match="lacks column broker, seq") as caught:
        read(tmp_path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("version", ["2.0", "0.9", "11.0"])
def test_another_major_version_is_refused_naming_both(tmp_path: Path, version: str) -> None:
    path = write(tmp_path, HOPS_1_0, version)
    with pytest.raises(
        UsageError, match=rf"version {version} and this program reads 1\."
    ) as caught:
        read(tmp_path)
    assert str(path) in str(caught.value)


def test_a_parquet_file_of_others_is_refused(tmp_path: Path) -> None:
    write(tmp_path, HOPS_1_0, None)
    with pytest.raises(UsageError, match="no trace of ours"):
        read(tmp_path)


def test_a_file_under_another_name_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, HOPS_1_0)
    path.rename(path.with_name("drops.parquet"))
    with pytest.raises(UsageError, match="holds hops, not drops"):
        list(TraceReader(tmp_path).records(Drop, "a"))


@pytest.mark.parametrize("kept", [0, 3, 0.5, 0.99])
def test_a_truncated_file_is_named(tmp_path: Path, kept: float) -> None:
    path = write(tmp_path, HOPS_1_0)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(kept * len(whole)) if isinstance(kept, float) else kept])
    with pytest.raises(UsageError, match="damaged") as caught:
        read(tmp_path)
    assert str(path) in str(caught.value)


def test_a_narrower_number_is_read(tmp_path: Path) -> None:
    write(tmp_path, {**HOPS_1_0, "epoch": pa.array([1, 1], pa.int16())})
    assert read(tmp_path) == ROWS_1_0


@pytest.mark.parametrize(
    ("column", "values"),
    [("epoch", ["a", "b"]), ("broker", [1, 2]), ("decided_ns", [0.5, 1.5])],
)
def test_a_column_of_another_type_is_refused(
    tmp_path: Path, column: str, values: list[Any]
) -> None:
    write(tmp_path, {**HOPS_1_0, column: pa.array(values)})
    with pytest.raises(UsageError, match="another type"):
        read(tmp_path)


def test_a_null_where_none_may_be_is_refused(tmp_path: Path) -> None:
    write(tmp_path, {**HOPS_1_0, "seq": pa.array([1, None], pa.int64())})
    with pytest.raises(UsageError, match="no value in some rows of column seq"):
        read(tmp_path)


def test_a_word_that_is_none_of_ours_is_named(tmp_path: Path) -> None:
    write(tmp_path, {**HOPS_1_0, "decision": pa.array(["forwarded", "eaten"])})
    with pytest.raises(UsageError, match="decision cannot be 'eaten'"):
        read(tmp_path)


def test_a_flipped_bit_is_refused_or_shown_by_the_hash(tmp_path: Path) -> None:
    stated = record(tmp_path, [*ROWS_1_0]).trace_hash
    path = tmp_path / "run=a" / "hops.parquet"
    whole = path.read_bytes()
    refused = 0
    for at in range(4, len(whole) // 2, 7):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        try:
            rows = read(tmp_path)
        except UsageError:
            refused += 1
        else:
            assert len(rows) == len(ROWS_1_0)
            # Parquet's checksums do not cover its headers.
            assert (TraceReader(tmp_path).trace_hash("a") == stated) == (rows == ROWS_1_0)
    assert refused > 10
