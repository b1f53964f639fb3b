"""Reading files with holes."""

from __future__ import annotations

import os
from pathlib import Path

from penstock.live.cast import file_io
from penstock.live.cast.file_io import open_own, read_at, write_at


def test_holes_and_data_read_as_ever(tmp_path: Path) -> None:
    hole = 1 << 20
    fd = open_own(str(tmp_path / "file"))
    os.ftruncate(fd, 3 * hole)
    write_at(fd, b"data", hole)
    data = (tmp_path / "file").read_bytes()
    for offset in (0, 5, hole - 5, hole, hole + 4, 2 * hole, 3 * hole - 5, 3 * hole, 4 * hole):
        for size_bytes in (0, 5, hole, 4 * hole):
            assert read_at(fd, size_bytes, offset) == data[offset : offset + size_bytes]
    os.close(fd)


def test_holes_are_not_read(tmp_path: Path) -> None:
    fd = open_own(str(tmp_path / "file"))
    os.ftruncate(fd, 1 << 20)
    assert file_io._is_hole(fd, 1 << 20, 0)
    write_at(fd, b"x", 1 << 19)
    assert not file_io._is_hole(fd, 1 << 20, 0)
    os.close(fd)
