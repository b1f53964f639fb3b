"""Symbols of what is sent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.bloomcast.coding.raptor import RaptorEncoder
from penstock.kernel.errors import UsageError
from penstock.live.cast import concatenated_files, object_source
from penstock.live.cast.concatenated_files import ConcatenatedFiles
from penstock.live.cast.manifest_builder import build_manifest
from penstock.live.cast.object_source import ObjectSource
from penstock.wire.frames.cast.base import MANIFEST_BLOCK
from tests.live.cast.objects import SYMBOL_BYTES, make_file, make_tree, source_of


def test_source_symbols_are_the_bytes_of_the_file_and_zeros_behind_its_end(tmp_path: Path) -> None:
    data = make_file(tmp_path / "file", 1_000).read_bytes()
    source = source_of(tmp_path / "file", block_symbols=9)
    assert (source.layout.blocks, source.layout.block_symbols) == (2, 8)
    assert source.symbols(0, [1, 2, 5]) == [data[at : at + 64] for at in (64, 128, 320)]
    assert source.symbols(1, [7]) == [data[960:] + bytes(24)]
    repair = RaptorEncoder(data[512:], symbol_bytes=64).symbols(8, 30)
    assert source.symbols(1, [8, 9, 29]) == [repair[0], repair[1], repair[21]]
    assert source.symbols(1, [6, 7, 8]) == [data[896:960], data[960:] + bytes(24), repair[0]]
    source.close()


def test_the_manifest_is_a_block_like_any_other(tmp_path: Path) -> None:
    source = source_of(make_tree(tmp_path / "tree"))
    count = source.manifest_layout.block_symbols
    data = b"".join(source.symbols(MANIFEST_BLOCK, range(count)))
    assert data == source.manifest_data.ljust(count * SYMBOL_BYTES, b"\0")
    encoder = RaptorEncoder(source.manifest_data, symbol_bytes=SYMBOL_BYTES)
    assert source.symbols(MANIFEST_BLOCK, [count]) == encoder.symbols(count, count + 1)
    source.close()


@given(st.integers(0, 3_008), st.integers(0, 3_008))
def test_a_tree_reads_as_its_files_one_behind_the_other(
    tmp_path_factory: pytest.TempPathFactory, start: int, stop: int
) -> None:
    root = tmp_path_factory.getbasetemp() / "tree_read_at_all_places"
    if not root.exists():
        make_tree(root)
    entries = build_manifest(root).files
    data = b"".join((root / each.path).read_bytes() for each in entries)
    files = ConcatenatedFiles(str(root), entries)
    assert files.length_bytes == len(data) == 3_008
    assert (
        files.read(min(start, stop), abs(start - stop)) == data[min(start, stop) : max(start, stop)]
    )
    files.close()


def test_few_files_and_few_encoders_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []

    def counted(data: bytes, *, symbol_bytes: int) -> RaptorEncoder:
        made.append(len(data))
        return RaptorEncoder(data, symbol_bytes=symbol_bytes)

    monkeypatch.setattr(object_source, "RaptorEncoder", counted)
    monkeypatch.setattr(concatenated_files, "_OPEN_MAX", 2)
    (tmp_path / "tree").mkdir()
    for name in "abcdefgh":
        make_file(tmp_path / f"tree/{name}", 100)
    before = len(os.listdir("/proc/self/fd"))
    source = source_of(tmp_path / "tree", block_symbols=1)
    assert source.layout.blocks == 13
    for block in (0, 1, 2, 3, 0, 1, 2, 3, 0):
        source.symbols(block, [1])
    assert len(made) == 4
    source.symbols(4, [1])
    source.symbols(0, [1])
    assert len(made) == 5, "the one used longest ago is gone"
    source.symbols(1, [1])
    assert len(made) == 6
    assert len(os.listdir("/proc/self/fd")) == before + 2
    source.close()
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("how", ["grown", "cut", "rewritten", "removed", "replaced by a link"])
def test_a_file_that_changes_while_it_is_sent_ends_the_cast(tmp_path: Path, how: str) -> None:
    root = tmp_path / "tree"
    root.mkdir()
    path = make_file(root / "file", 1_000)
    manifest = build_manifest(root, symbol_bytes=64)
    source = ObjectSource(root, manifest)
    match how:
        case "grown":
            path.write_bytes(path.read_bytes() + b"more")
        case "cut":
            path.write_bytes(b"")
        case "rewritten":
            path.write_bytes(bytes(1_000))
            os.utime(path, ns=(1, 1))
        case "removed":
            path.unlink()
        case _:
            path.rename(tmp_path / "elsewhere")
            path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match=r"^[^\n]*(has changed|cannot be read)[^\n]*$"):
        source.symbols(0, [3])
    source.close()


def test_no_repair_symbol_is_made_of_bytes_that_were_not_hashed(tmp_path: Path) -> None:
    path = make_file(tmp_path / "file", 1_000)
    source = source_of(path)
    before = path.stat()
    path.write_bytes(bytes(1_000))
    # As where the clock of the file system is coarse.
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(UsageError, match="has changed"):
        source.symbols(0, [20])
    source.close()


def test_source_symbols_are_sent_again_only_if_they_are_what_was_hashed(tmp_path: Path) -> None:
    """Else receivers would find them false and ask for them for ever."""
    path = tmp_path / "file"
    make_file(path, 1_000)
    source = source_of(path, block_symbols=9)
    before = path.stat()
    with path.open("r+b") as file:
        file.write(b"something else")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    source.symbols(0, range(8))
    with pytest.raises(UsageError, match="has changed"):
        source.symbols(0, [1])
    source.close()
