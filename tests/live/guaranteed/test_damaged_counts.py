"""Messages that damage has taken are not counted, and an alarm says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from penstock import streams
from tests.live.guaranteed.programs import numbers_of, published, run

MESSAGES = 150


async def write(node: streams.StreamNode) -> None:
    """A log of two segments, of which only the second is read at a start."""
    orders = await published(node, 0)
    for number in range(1, MESSAGES):
        await orders.publish({"n": number}, bytes(10_000))
    async with orders.subscribe(durable="d", start="first"):
        # It reads nothing.
        pass


def damage(directory: Path, *, segment: int) -> None:
    """A byte within a message in the middle of a segment is another one."""
    file = sorted(directory.glob("logs/*/*.log"))[segment]
    data = bytearray(file.read_bytes())
    second = data.index(b"\xa1n", data.index(b"\xa1n") + 1)
    data[second] ^= 0x40
    file.write_bytes(data)


async def counts(node: streams.StreamNode) -> tuple[int, int | None, list[str]]:
    """Messages of the stream, the lag of the name, and alarms."""
    (stream,), (durable,) = await node.list_streams(), await node.list_durables()
    status: Any = await node.request("status", {})
    return stream.messages, durable.lag.messages, [alarm["text"] for alarm in status["alarms"]]


def says(lost: int) -> list[str]:
    some = "1 message is" if lost == 1 else f"{lost} messages are"
    return [f"stream 'orders' is damaged, at most {some} lost: see 'penstock stream check DIR'"]


def test_damage_that_a_start_finds_is_not_counted(tmp_path: Path) -> None:
    async def look(node: streams.StreamNode) -> None:
        assert await counts(node) == (MESSAGES - 1, MESSAGES - 1, says(1))

    run(tmp_path, write)
    damage(tmp_path, segment=-1)
    for _ in range(2):
        run(tmp_path, look)


def test_damage_in_a_full_segment_is_not_counted_once_it_was_read(tmp_path: Path) -> None:
    async def read(node: streams.StreamNode) -> None:
        assert await counts(node) == (MESSAGES, MESSAGES, [])
        async with node.stream("orders").subscribe(start="first", on_gap="continue") as inbox:
            assert len(await numbers_of(inbox, MESSAGES - 1)) == MESSAGES - 1
        assert await counts(node) == (MESSAGES - 1, MESSAGES - 1, says(1))

    async def look(node: streams.StreamNode) -> None:
        assert await counts(node) == (MESSAGES - 1, MESSAGES - 1, says(1))

    run(tmp_path, write)
    damage(tmp_path, segment=0)
    run(tmp_path, read)
    run(tmp_path, look)
