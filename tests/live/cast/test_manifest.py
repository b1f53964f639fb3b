"""What is listed and hashed, and which manifests of others are refused."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import msgspec
import pytest
from blake3 import blake3

from penstock.bloomcast.coding.block_layout import BlockLayout
from penstock.kernel.errors import PeerError, UsageError
from penstock.live.cast import manifest as manifest_module
from penstock.live.cast.manifest import (
    DirectoryEntry,
    FileEntry,
    LinkEntry,
    Manifest,
    decode_manifest,
    encode_manifest,
    manifest_bytes_max,
    object_id_of,
)
from penstock.live.cast.manifest_builder import build_manifest, holds_object
from tests.live.cast.objects import make_file, make_tree


def test_a_file_is_hashed_as_a_whole_and_block_by_block(tmp_path: Path) -> None:
    data = make_file(tmp_path / "file", 1_000).read_bytes()
    told: list[tuple[int, int]] = []
    manifest = build_manifest(
        tmp_path / "file",
        symbol_bytes=64,
        block_symbols=8,
        on_progress=lambda done, total: told.append((done, total)),
    )
    assert manifest.layout == BlockLayout(1_000, 64, 8)
    assert [manifest.digest_of(block) for block in range(2)] == [
        blake3(data[:512]).digest(),
        blake3(data[512:]).digest(),
    ]
    assert manifest.digest == blake3(data).digest()
    assert told == [(512, 1_000), (1_000, 1_000)]
    assert not manifest.is_tree


def test_a_tree_is_its_regular_files_in_the_order_of_their_paths(tmp_path: Path) -> None:
    root = make_tree(tmp_path / "tree")
    manifest = build_manifest(root)
    assert [each.path for each in manifest.files] == [
        "large",
        "sub/deeper/last é",
        "sub/none",
        "sub/small",
    ]
    assert [each.path for each in manifest.directories] == ["", "empty", "sub", "sub/deeper"]
    assert [(each.path, each.target) for each in manifest.links] == [
        ("dangling", "nowhere"),
        ("link", "sub/small"),
        ("sub/outside", "/etc/passwd"),
    ]
    data = b"".join((root / each.path).read_bytes() for each in manifest.files)
    assert manifest.digest == blake3(data).digest()
    assert decode_manifest(encode_manifest(manifest), manifest.layout) == manifest


def test_the_object_id_tells_whether_a_file_is_there_already(tmp_path: Path) -> None:
    path = make_file(tmp_path / "file", 1_000)
    manifest = build_manifest(path, symbol_bytes=64, block_symbols=8)
    object_id = object_id_of(encode_manifest(manifest))
    assert holds_object(path, object_id, manifest.layout)
    path.chmod(0o600 if manifest.files[0].mode != 0o600 else 0o644)
    assert not holds_object(path, object_id, manifest.layout)
    assert not holds_object(tmp_path / "other", object_id, manifest.layout)
    assert not holds_object(make_file(tmp_path / "short", 999), object_id, manifest.layout)


def test_what_cannot_be_sent_is_refused_in_one_line(tmp_path: Path) -> None:
    def refusal() -> str:
        with pytest.raises(UsageError) as caught:
            build_manifest(tmp_path / "tree")
        assert "\n" not in str(caught.value)
        return str(caught.value)

    assert "No such file" in refusal()
    (tmp_path / "tree").mkdir()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "tree/socket"))
        assert "no file, directory or link: leave it out" in refusal()
    (tmp_path / "tree/socket").unlink()
    Path(os.fsdecode(os.fsencode(tmp_path / "tree") + b"/\xff")).touch()
    assert "not in UTF-8: rename it" in refusal()


def test_a_long_list_is_refused_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_tree(tmp_path / "tree")
    assert manifest_bytes_max(1_280) == 10_000_000
    assert manifest_bytes_max(64) == 640_000, "it must fit into one block"
    monkeypatch.setattr(manifest_module, "MANIFEST_BYTES_MAX", 40)
    with pytest.raises(UsageError, match="send a tar of it"):
        build_manifest(tmp_path / "tree")
    # Its list is short, but with its hashes it is too long.
    make_file(tmp_path / "file", 3_000)
    with pytest.raises(UsageError, match="too large for one cast"):
        encode_manifest(build_manifest(tmp_path / "file", symbol_bytes=64, block_symbols=8))


TREE = Manifest(
    symbol_bytes=64,
    block_symbols=1,
    directories=(DirectoryEntry("", 0o755), DirectoryEntry("a", 0o755)),
    files=(FileEntry("a/b", 0o644, 5, 10),),
    links=(LinkEntry("c", "a"),),
    block_digests=bytes(32),
    digest=bytes(32),
)
LAYOUT = BlockLayout(10, 64, 1)
FILE = msgspec.structs.replace(TREE, directories=(), files=(FileEntry("", 0o644, 5, 10),), links=())


@pytest.mark.parametrize("manifest", [TREE, FILE])
def test_a_manifest_is_read_as_it_was_written(manifest: Manifest) -> None:
    assert decode_manifest(encode_manifest(manifest), LAYOUT) == manifest


@pytest.mark.parametrize(
    "path",
    [
        *("", ".", "..", "../x", "/x", "a/../../x", "a//x", "a/", "/etc/passwd", "a/\0"),
        # Below a link, below a file, in no directory, and twice.
        *("c/x", "a/b/x", "n/x", "a/b", "c"),
    ],
)
def test_paths_that_leave_the_tree_are_refused(path: str) -> None:
    entry = FileEntry(path, 0o644, 5, 0)
    files = tuple(sorted((*TREE.files, entry), key=lambda each: each.path))
    data = msgspec.msgpack.encode(msgspec.structs.replace(TREE, files=files))
    with pytest.raises(PeerError, match="manifest"):
        decode_manifest(data, LAYOUT)
    link = LinkEntry(path, "x")
    links = tuple(sorted((*TREE.links, link), key=lambda each: each.path))
    data = msgspec.msgpack.encode(msgspec.structs.replace(TREE, links=links))
    with pytest.raises(PeerError, match="manifest"):
        decode_manifest(data, LAYOUT)
    directory = DirectoryEntry(path, 0o755)
    directories = tuple(sorted((*TREE.directories, directory), key=lambda each: each.path))
    data = msgspec.msgpack.encode(msgspec.structs.replace(TREE, directories=directories))
    with pytest.raises(PeerError, match="manifest"):
        decode_manifest(data, LAYOUT)


@pytest.mark.parametrize(
    "changed",
    [
        msgspec.structs.replace(TREE, block_digests=bytes(64)),
        msgspec.structs.replace(TREE, block_symbols=2),
        msgspec.structs.replace(TREE, format=2),
        msgspec.structs.replace(TREE, files=()),
        msgspec.structs.replace(
            TREE, files=(FileEntry("a/b", 0, 5, 20), FileEntry("d", 0, 5, -10))
        ),
        msgspec.structs.replace(TREE, files=(FileEntry("a/b", 0o4755, 5, 10),)),
        msgspec.structs.replace(TREE, directories=()),
        msgspec.structs.replace(TREE, directories=TREE.directories[::-1]),
        msgspec.structs.replace(FILE, links=TREE.links),
        msgspec.structs.replace(FILE, files=TREE.files),
    ],
)
def test_manifests_that_contradict_themselves_are_refused(changed: Manifest) -> None:
    with pytest.raises(PeerError, match="manifest"):
        decode_manifest(msgspec.msgpack.encode(changed), LAYOUT)


@pytest.mark.parametrize("data", [b"", b"\xc1", b"\x93\x01\x02", b"\x91\x02", b"\x00"])
def test_what_is_no_manifest_is_refused(data: bytes) -> None:
    with pytest.raises(PeerError, match="manifest"):
        decode_manifest(data, LAYOUT)
