"""Every frame comes back from its bytes as it was, and is as large as was said."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.wire import FRAMES
from penstock.wire.codec.codec_table import CodecRow, CodecTable
from penstock.wire.codec.guaranteed.broker_frames import BROKER_FRAMES
from penstock.wire.codec.guaranteed.client_frames import CLIENT_FRAMES
from penstock.wire.frames.guaranteed.base import BrokerFrame, ClientFrame
from tests.wire.codec.guaranteed.strategies import STRATEGIES

TABLES: list[CodecTable[Any]] = [BROKER_FRAMES, CLIENT_FRAMES]
ROWS = [
    pytest.param(table, row, id=f"{row.type_code:02x}-{row.name}")
    for table in TABLES
    for row in table.rows
]


def test_every_registered_frame_has_a_strategy() -> None:
    assert {row.frame_class for table in TABLES for row in table.rows} == set(STRATEGIES)


def test_families_keep_their_numbers_and_bases() -> None:
    for row in BROKER_FRAMES.rows:
        assert 0x80 <= row.type_code < 0xA0
        assert issubclass(row.frame_class, BrokerFrame)
    for row in CLIENT_FRAMES.rows:
        assert 0xA0 <= row.type_code < 0xC0
        assert issubclass(row.frame_class, ClientFrame)
    assert all(row.type_code < 0x80 for row in FRAMES.rows)


def descendants(base: type) -> set[type]:
    below: set[type] = set(base.__subclasses__())
    return below.union(*map(descendants, below))


def test_every_class_of_frame_is_registered() -> None:
    assert descendants(BrokerFrame) == {row.frame_class for row in BROKER_FRAMES.rows}
    assert descendants(ClientFrame) == {row.frame_class for row in CLIENT_FRAMES.rows}


def test_frames_and_codecs_are_in_parallel_files() -> None:
    for table in TABLES:
        for row in table.rows:
            parallel = row.frame_class.__module__.replace("wire.frames", "wire.codec")
            assert row.codec.__module__ == parallel


@pytest.mark.parametrize(("table", "row"), ROWS)
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_a_frame_round_trips(table: CodecTable[Any], row: CodecRow, data: st.DataObject) -> None:
    frame: Any = data.draw(STRATEGIES[row.frame_class])
    written = table.encode(frame)
    assert table.size_of(frame) == len(written)
    again = table.decode(written)
    assert again == frame
    assert type(again) is row.frame_class
    assert table.encode(again) == written
