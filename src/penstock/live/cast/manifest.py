"""What an object consists of: its files, how it is cut into blocks, and what each block hashes to.

An object is one byte string: its regular files in the order of their paths. A single file has the
empty path; so has the root of a tree. The manifest is sent as a block of its own. Its hash names
the object, so that whoever knows the object id can check everything else.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final, TypeAlias

import msgspec
from blake3 import blake3

from penstock.bloomcast.coding.block_layout import BlockLayout, block_symbols_max
from penstock.kernel.errors import PeerError, UsageError
from penstock.wire.frames.cast.base import HASH_BYTES, OBJECT_ID_BYTES

FORMAT: Final = 1
MANIFEST_BYTES_MAX: Final = 10_000_000
# Who receives a file gets its permissions, but nothing that runs as somebody else.
MODES: Final = 0o777


class FileEntry(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A regular file."""

    path: str
    mode: int
    mtime_ns: int
    size_bytes: int


class LinkEntry(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A symbolic link; its target is a text, which nobody follows."""

    path: str
    target: str


class DirectoryEntry(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A directory; those of a tree are all listed, its root first."""

    path: str
    mode: int


Entry: TypeAlias = FileEntry | LinkEntry | DirectoryEntry


class Manifest(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    """Entries ascend by path."""

    format: int = FORMAT
    symbol_bytes: int
    block_symbols: int
    files: tuple[FileEntry, ...]
    directories: tuple[DirectoryEntry, ...] = ()
    links: tuple[LinkEntry, ...] = ()
    # Of all blocks, one behind the other; they cover the object's bytes, without padding.
    block_digests: bytes
    # Of the whole object.
    digest: bytes

    @property
    def is_tree(self) -> bool:
        """Whether it is a tree, maybe an empty one, rather than a single file."""
        return bool(self.directories)

    @property
    def layout(self) -> BlockLayout:
        """How the object is cut."""
        length_bytes = sum([each.size_bytes for each in self.files])
        return BlockLayout(length_bytes, self.symbol_bytes, self.block_symbols)

    def digest_of(self, block: int) -> bytes:
        """What a block hashes to."""
        return self.block_digests[block * HASH_BYTES : (block + 1) * HASH_BYTES]


def object_id_of(manifest: bytes) -> bytes:
    """The name of the object that an encoded manifest describes."""
    return blake3(manifest).digest(OBJECT_ID_BYTES)


def manifest_bytes_max(symbol_bytes: int) -> int:
    """How large a manifest may be, which has to fit into one block."""
    return min(MANIFEST_BYTES_MAX, block_symbols_max(symbol_bytes) * symbol_bytes)


def encode_manifest(manifest: Manifest) -> bytes:
    """As it is sent."""
    data = msgspec.msgpack.encode(manifest)
    if len(data) > manifest_bytes_max(manifest.symbol_bytes):
        raise UsageError(
            f"a list of {len(manifest.files):,} files is too long: send a tar of it"
            if manifest.is_tree
            else "the file is too large for one cast: cut it into parts"
        )
    return data


def decode_manifest(data: bytes, layout: BlockLayout) -> Manifest:
    """What a peer has sent for an object of this layout; refuses paths that leave the object."""
    try:
        # Later formats may look different behind their number.
        if msgspec.msgpack.decode(data, type=_Versioned).format != FORMAT:
            raise PeerError("the manifest has another format: use the sender's version of penstock")
        manifest = msgspec.msgpack.decode(data, type=Manifest)
    except msgspec.DecodeError:
        raise PeerError("the manifest cannot be read") from None
    if any(each.size_bytes < 0 for each in manifest.files) or manifest.layout != layout:
        raise PeerError("the manifest does not describe the object that was announced")
    if len(manifest.block_digests) != layout.blocks * HASH_BYTES:
        raise PeerError("the manifest has not one hash for each block")
    _check_entries(manifest)
    return manifest


def _check_entries(manifest: Manifest) -> None:
    _check_order([each.path for each in manifest.files])
    _check_order([each.path for each in manifest.directories])
    _check_order([each.path for each in manifest.links])
    if not manifest.is_tree:
        if len(manifest.files) != 1 or manifest.files[0].path or manifest.links:
            raise PeerError("the manifest describes neither a file nor a tree")
    else:
        _check_tree(manifest)
    modes = [each.mode for each in manifest.files] + [each.mode for each in manifest.directories]
    if any(mode & ~MODES for mode in modes):
        raise PeerError("the manifest has modes that are more than permissions")


def _check_order(paths: list[str]) -> None:
    if any(path >= following for path, following in pairwise(paths)):
        raise PeerError("the manifest is not in order")


def _check_tree(manifest: Manifest) -> None:
    """Every entry must be in a directory that is listed: no other way leads out, nor by a link."""
    directories = {each.path for each in manifest.directories}
    if "" not in directories:
        raise PeerError("the manifest has no root")
    others = [each.path for each in manifest.files] + [each.path for each in manifest.links]
    for path in [*sorted(directories - {""}), *others]:
        parent, _, name = path.rpartition("/")
        if name in ("", ".", "..") or "\0" in path or parent not in directories or path[0] == "/":
            raise PeerError(f"the manifest has the path {path!r}")
    if len(directories.union(others)) != len(directories) + len(others):
        raise PeerError("the manifest has a path twice")


class _Versioned(msgspec.Struct, array_like=True):
    format: int
