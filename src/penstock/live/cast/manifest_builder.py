"""Lists and hashes what is to be sent.

Files are read once, a block at a time.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from typing import Final, TypeAlias

from blake3 import blake3

from penstock.bloomcast.coding.block_layout import SYMBOL_BYTES, BlockLayout, cut_into_blocks
from penstock.kernel.errors import UsageError
from penstock.live.cast.concatenated_files import ConcatenatedFiles
from penstock.live.cast.manifest import (
    MODES,
    DirectoryEntry,
    Entry,
    FileEntry,
    LinkEntry,
    Manifest,
    encode_manifest,
    manifest_bytes_max,
    object_id_of,
)
from penstock.live.error_text import in_words

# Bytes done, and all of them.
OnProgress: TypeAlias = Callable[[int, int], None]

# What an entry takes beside its texts, at least: a long list is refused before it is complete.
_ENTRY_BYTES_MIN: Final = 4


def build_manifest(
    path: str | os.PathLike[str],
    *,
    symbol_bytes: int = SYMBOL_BYTES,
    block_symbols: int | None = None,
    on_progress: OnProgress | None = None,
) -> Manifest:
    """Of a file or a tree; `block_symbols` makes blocks smaller than they need to be."""
    root = os.fspath(path)
    entries = _listed(root, entries_bytes_max=manifest_bytes_max(symbol_bytes))
    files = tuple([each for each in entries if isinstance(each, FileEntry)])
    layout = cut_into_blocks(
        sum([each.size_bytes for each in files]),
        symbol_bytes=symbol_bytes,
        block_symbols=block_symbols,
    )
    block_digests, digest = _hashed(root, files, layout, on_progress)
    return Manifest(
        symbol_bytes=symbol_bytes,
        block_symbols=layout.block_symbols,
        files=files,
        directories=tuple([each for each in entries if isinstance(each, DirectoryEntry)]),
        links=tuple([each for each in entries if isinstance(each, LinkEntry)]),
        block_digests=block_digests,
        digest=digest,
    )


def holds_object(
    path: str | os.PathLike[str],
    object_id: bytes,
    layout: BlockLayout,
    *,
    on_progress: OnProgress | None = None,
) -> bool:
    """Whether a file or tree is this object already, down to its times; reads it to find out."""
    root = os.fspath(path)
    try:
        if os.path.islink(root) or not os.path.exists(root):
            return False
        if os.path.isfile(root) and os.path.getsize(root) != layout.length_bytes:
            return False
        manifest = build_manifest(
            root,
            symbol_bytes=layout.symbol_bytes,
            block_symbols=layout.block_symbols or None,
            on_progress=on_progress,
        )
        return object_id_of(encode_manifest(manifest)) == object_id
    except (OSError, UsageError):
        return False


def _hashed(
    root: str, files: tuple[FileEntry, ...], layout: BlockLayout, on_progress: OnProgress | None
) -> tuple[bytes, bytes]:
    """The hashes of all blocks, and that of the whole."""
    whole = blake3()
    digests = []
    source = ConcatenatedFiles(root, files)
    try:
        for block in range(layout.blocks):
            data = source.read(layout.offset_of(block), layout.bytes_of(block))
            whole.update(data)
            digests.append(blake3(data).digest())
            if on_progress is not None:
                on_progress(layout.offset_of(block) + len(data), layout.length_bytes)
    finally:
        source.close()
    return b"".join(digests), whole.digest()


def _listed(root: str, *, entries_bytes_max: int) -> list[Entry]:
    """The entries of a file or tree by their paths; follows no link but `root`."""
    found: list[Entry] = []
    entries_bytes = 0
    waiting = [""]
    try:
        while waiting:
            path = waiting.pop()
            entry = _entry(root, path)
            found.append(entry)
            entries_bytes += _ENTRY_BYTES_MIN + len(path)
            if entries_bytes > entries_bytes_max:
                raise UsageError(f"{root} has too many files: send a tar of it")
            if isinstance(entry, DirectoryEntry):
                names = os.listdir(os.path.join(root, path))
                waiting += [f"{path}/{name}" if path else name for name in names]
    except OSError as error:
        raise UsageError(f"cannot send what cannot be read: {in_words(error)}") from None
    return sorted(found, key=_path)


def _entry(root: str, path: str) -> Entry:
    full = os.path.join(root, path) if path else root
    status = os.lstat(full) if path else os.stat(full)
    if stat.S_ISDIR(status.st_mode):
        return DirectoryEntry(_as_text(path), status.st_mode & MODES)
    if stat.S_ISREG(status.st_mode):
        return FileEntry(_as_text(path), status.st_mode & MODES, status.st_mtime_ns, status.st_size)
    if stat.S_ISLNK(status.st_mode):
        return LinkEntry(_as_text(path), _as_text(os.readlink(full)))
    raise UsageError(f"{full} is no file, directory or link: leave it out")


def _as_text(path: str) -> str:
    try:
        path.encode()
    except UnicodeEncodeError:
        name = os.fsencode(path).decode(errors="replace")
        raise UsageError(f"{name} is not in UTF-8: rename it, or send a tar of it") from None
    return path


def _path(entry: Entry) -> str:
    return entry.path
