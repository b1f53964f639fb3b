"""Lines of standard input, while the loop goes on."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from penstock.cli import line_io as module
from penstock.cli.line_io import LineWriter, lines
from tests.live.loopback import run


async def all_of(descriptor: int) -> list[bytes]:
    return [line async for line in lines(descriptor)]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (b"", []),
        (b"a\nb\n", [b"a", b"b"]),
        (b"a\n\nb", [b"a", b"", b"b"]),
        (b"a\r\n", [b"a\r"]),
    ],
)
def test_lines_of_a_pipe_and_of_a_file(written: bytes, read: list[bytes], tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.write(writing, written)
    os.close(writing)
    assert run(all_of(reading)) == read
    os.close(reading)
    file = tmp_path / "lines"
    file.write_bytes(written)
    with file.open("rb") as opened:
        assert run(all_of(opened.fileno())) == read


def test_the_loop_goes_on_while_nothing_is_written() -> None:
    async def program() -> None:
        reading, writing = os.pipe()
        reader = asyncio.create_task(all_of(reading))
        for piece in (b"on", b"e\ntw", b"o\n"):
            for _ in range(5):
                await asyncio.sleep(0)
            assert not reader.done()
            os.write(writing, piece)
        os.close(writing)
        assert await reader == [b"one", b"two"]
        os.close(reading)

    run(program())


def test_a_reader_can_be_stopped_while_it_waits() -> None:
    async def program() -> None:
        reading, writing = os.pipe()
        reader = asyncio.create_task(all_of(reading))
        await asyncio.sleep(0)
        reader.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reader
        assert not asyncio.get_running_loop().remove_reader(reading)
        os.close(reading)
        os.close(writing)

    run(program())


def test_a_line_without_end_does_not_fill_the_memory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(module, "LINE_BYTES_MAX", 10)
    file = tmp_path / "lines"
    file.write_bytes(b"x" * 200_000 + b"\nshort\n")
    with file.open("rb") as opened:
        read = run(all_of(opened.fileno()))
    assert b"".join(read[:-1]) == b"x" * 200_000
    assert max(map(len, read)) <= 1 << 16
    assert read[-1] == b"short"


LINES = [b"x" * length for length in (0, 1, 4_095, 4_096, 100_000, 7)]


def test_a_slow_reader_holds_up_who_writes_and_nobody_else() -> None:
    async def program() -> None:
        reading, writing = os.pipe()
        writer = LineWriter(writing)

        async def write() -> None:
            for line in LINES:
                await writer.write(line)
            os.close(writing)

        task = asyncio.create_task(write())
        for _ in range(100):
            await asyncio.sleep(0)
        # More than a pipe holds.
        assert not task.done()
        assert await all_of(reading) == LINES
        await task
        os.close(reading)

    run(program())


def test_who_is_stopped_does_not_leave_half_a_line() -> None:
    async def program() -> None:
        reading, writing = os.pipe()
        writer = LineWriter(writing)
        stopped = asyncio.create_task(writer.write(LINES[4]))
        for _ in range(100):
            await asyncio.sleep(0)
        stopped.cancel()
        reader = asyncio.create_task(all_of(reading))
        await writer.write(b"next")
        os.close(writing)
        assert await reader == [LINES[4], b"next"]
        os.close(reading)

    run(program())


def test_two_may_write_and_files_take_all(tmp_path: Path) -> None:
    async def program(descriptor: int) -> None:
        writer = LineWriter(descriptor)
        await asyncio.gather(*(writer.write(line) for line in LINES))

    file = tmp_path / "lines"
    with file.open("wb") as opened:
        run(program(opened.fileno()))
    assert file.read_bytes().split(b"\n") == [*LINES, b""]


def test_who_has_gone_is_an_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)

    async def program() -> None:
        with pytest.raises(BrokenPipeError):
            await LineWriter(writing).write(b"x")

    run(program())
    os.close(writing)
