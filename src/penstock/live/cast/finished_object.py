"""Puts an object into its place when every block of it is right.

A file is renamed. The files of a tree are copied out of the part into a directory beside it, which
is renamed then: until that is removed a tree takes its room twice. Everything is on disk before it
has its name. No link is followed: the part of a tree, its directory, and all in it are made here.
"""

from __future__ import annotations

import os
import shutil
import stat
from typing import Final

from penstock.kernel.errors import UsageError
from penstock.live.cast.file_io import read_at, write_at
from penstock.live.cast.manifest import FileEntry, Manifest

_COPY_BYTES: Final = 1 << 20
# Each sync waits for the journal: for more files, one sync of the whole system is quicker.
_SYNCED_FILES_MAX: Final = 1_000


def check_vacant(destination: str, *, overwrite: bool) -> None:
    """Refuses to replace what is there, unless that is wanted."""
    if not overwrite and os.path.lexists(destination):
        raise UsageError(f"{destination} exists: add --overwrite to replace it")


def check_kind(destination: str, *, is_tree: bool) -> None:
    """Refuses to replace a directory by a file, or a file by a directory."""
    if os.path.lexists(destination) and is_tree != stat.S_ISDIR(os.lstat(destination).st_mode):
        kind = "no directory" if is_tree else "a directory"
        raise UsageError(f"{destination} is {kind}: remove it first")


def place_object(part: str, destination: str, manifest: Manifest, *, overwrite: bool) -> None:
    """Gives the object in this file its name; the part of a tree stays behind."""
    check_kind(destination, is_tree=manifest.is_tree)
    if manifest.is_tree:
        stage = f"{part}.tree"
        _build_tree(part, stage, manifest)
        check_vacant(destination, overwrite=overwrite)
        _replace_tree(stage, destination, old=f"{part}.old")
    else:
        _finish_file(part, manifest.files[0])
        check_vacant(destination, overwrite=overwrite)
        os.rename(part, destination)
    _sync_directory(os.path.dirname(destination))


def _finish_file(part: str, entry: FileEntry) -> None:
    fd = os.open(part, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        # The slow part first: whoever is killed later may find a file that he must not write to.
        os.fsync(fd)
        _set_attributes(fd, entry)
    finally:
        os.close(fd)


def _set_attributes(fd: int, entry: FileEntry) -> None:
    os.utime(fd, ns=(entry.mtime_ns, entry.mtime_ns))
    os.fchmod(fd, entry.mode)


def _build_tree(part: str, stage: str, manifest: Manifest) -> None:
    _remove_tree(stage)
    syncs_each = len(manifest.files) <= _SYNCED_FILES_MAX
    # A directory comes before what is in it.
    for directory in manifest.directories:
        os.mkdir(_inside(stage, directory.path), 0o700)
    source = os.open(part, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        offset = 0
        for entry in manifest.files:
            _copy_file(source, offset, _inside(stage, entry.path), entry, syncs=syncs_each)
            offset += entry.size_bytes
    finally:
        os.close(source)
    for link in manifest.links:
        os.symlink(link.target, _inside(stage, link.path))
    for directory in reversed(manifest.directories):
        path = _inside(stage, directory.path)
        if syncs_each:
            _sync_directory(path)
        os.chmod(path, directory.mode)
    if not syncs_each:
        os.sync()


def _copy_file(source: int, offset: int, path: str, entry: FileEntry, *, syncs: bool) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    fd = os.open(path, flags, 0o600)
    try:
        done = 0
        while done < entry.size_bytes:
            size_bytes = min(_COPY_BYTES, entry.size_bytes - done)
            write_at(fd, read_at(source, size_bytes, offset + done), done)
            done += size_bytes
        if syncs:
            os.fsync(fd)
        _set_attributes(fd, entry)
    finally:
        os.close(fd)


def _replace_tree(stage: str, destination: str, *, old: str) -> None:
    """A tree that is there is moved away first: nothing renames one in place of the other."""
    if os.path.lexists(destination):
        _remove_tree(old)
        os.rename(destination, old)
    os.rename(stage, destination)
    _remove_tree(old)


def _remove_tree(path: str) -> None:
    """Removes a directory, if it is there; follows no link."""
    if os.path.lexists(path):
        shutil.rmtree(path)


def _inside(stage: str, path: str) -> str:
    return f"{stage}/{path}" if path else stage


def _sync_directory(path: str) -> None:
    fd = os.open(path or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
