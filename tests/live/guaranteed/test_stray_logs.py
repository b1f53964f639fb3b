"""A broker that starts without its store tells of the logs that it cannot use."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from penstock import streams
from penstock.live.log.store import STORE_NAME
from tests.live.guaranteed.programs import published, run


def test_logs_of_no_stream_are_told_and_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def write(node: streams.StreamNode) -> None:
        await published(node, 0, 1, 2)

    async def look(node: streams.StreamNode) -> None:
        assert await node.list_streams() == []

    with caplog.at_level(logging.WARNING, "penstock.streams"):
        run(tmp_path, write)
        run(tmp_path, write)
        assert caplog.records == []
        (log,) = (tmp_path / "logs").iterdir()
        for path in tmp_path.glob(f"{STORE_NAME}*"):
            path.unlink()
        run(tmp_path, look)
    (record,) = caplog.records
    assert f"has logs of no stream, {log.name}: " in record.getMessage()
    assert log.is_dir()
