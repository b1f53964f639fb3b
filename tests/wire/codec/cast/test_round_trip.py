"""Every frame comes back from its bytes as it was, and is as large as was said."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.kernel.errors import PeerError, UsageError
from penstock.wire.codec.cast.cast_codec import CastCodec
from penstock.wire.codec.cast.cast_frames import BODIES, NEIGHBOUR_FRAMES
from penstock.wire.codec.cast.frame_table import CastRow
from penstock.wire.codec.cast.mac import Blake2Sealer
from penstock.wire.codec.cast.symbols import (
    DATA_TYPE,
    next_symbol,
    read_symbol,
    size_of_train,
    train_headers,
    write_symbol,
)
from penstock.wire.frames.cast.base import CastBody, CastFrame
from penstock.wire.frames.cast.header import Flag, Header
from penstock.wire.frames.cast.packet import Packet
from penstock.wire.frames.cast.plan import HeadConfig
from penstock.wire.frames.cast.symbols import Symbols
from tests.wire.codec.cast import strategies
from tests.wire.codec.guaranteed.test_round_trip import descendants

CODEC = CastCodec(Blake2Sealer(b"domain key"))
SIMULATED = CastCodec(Blake2Sealer(b""), has_trains=True)
ROWS = sorted((*NEIGHBOUR_FRAMES.rows, *BODIES.rows), key=lambda row: row.type_code)
QUICK = settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])


def test_every_frame_has_a_strategy() -> None:
    assert {row.frame_class for row in ROWS} == set(strategies.FRAMES)


def test_every_class_is_registered() -> None:
    bodies = {row.frame_class for row in BODIES.rows}
    assert descendants(CastBody) == {*bodies, HeadConfig, Symbols}
    frames = {row.frame_class for row in NEIGHBOUR_FRAMES.rows}
    assert descendants(CastFrame) == {*frames, Packet}


def test_the_family_keeps_its_numbers() -> None:
    codes = [row.type_code for row in ROWS]
    # That of DATA is kept.
    assert sorted([*codes, DATA_TYPE]) == [*range(0xC0, 0xDA)]


def test_frames_and_codecs_are_in_parallel_files() -> None:
    for row in ROWS:
        parallel = row.frame_class.__module__.replace("wire.frames", "wire.codec")
        kind = row.codec if isinstance(row.codec, type) else type(row.codec)
        assert kind.__module__ == parallel


@pytest.mark.parametrize("row", [pytest.param(row, id=row.name) for row in ROWS])
@QUICK
@given(data=st.data())
def test_a_frame_round_trips(row: CastRow, data: st.DataObject) -> None:
    frame: Any = data.draw(strategies.FRAMES[row.frame_class])
    written = CODEC.encode(frame)
    assert written[1] == row.type_code
    assert CODEC.size_of(frame) == len(written) <= row.bytes_max
    again = CODEC.decode(written)
    assert again == frame
    assert type(again) is type(frame)
    if isinstance(again, Packet):
        assert type(again.body) is row.frame_class
    assert CODEC.encode(again) == written


@QUICK
@given(packet=strategies.trains())
def test_a_train_round_trips_in_a_simulation(packet: Packet) -> None:
    written = SIMULATED.encode(packet)
    assert SIMULATED.size_of(packet) == len(written)
    assert SIMULATED.decode(written) == packet


@QUICK
@given(header=strategies.HEADERS, payload=st.binary(max_size=40), as_view=st.booleans())
def test_a_symbol_round_trips(header: Header, payload: bytes, as_view: bool) -> None:
    tag = bytes(range(4 if Flag.PLAIN in header.flags else 16))
    written = write_symbol(header, payload, tag)
    assert len(written) == 68 + len(payload) + len(tag)
    assert read_symbol(memoryview(written) if as_view else written) == (header, payload, tag)


@QUICK
@given(packet=strategies.trains())
def test_the_headers_of_a_train_are_those_of_its_symbols(packet: Packet) -> None:
    assert isinstance(packet.body, Symbols)
    tag = bytes(4 if Flag.PLAIN in packet.header.flags else 16)
    headers = train_headers(packet)
    for number, header in zip(packet.body.numbers, headers, strict=True):
        own = msgspec.structs.replace(packet.header, symbol=number)
        assert read_symbol(header + b"symbol" + tag) == (own, b"symbol", tag)
        assert next_symbol(memoryview(header + b"symbol" + tag), headers[0]) == number


def test_another_block_is_another_train() -> None:
    header = Header(ttl=1, choice=0, links=1, block=7, symbol=5)
    first = write_symbol(header, b"", bytes(16))
    for other in ({"block": 8}, {"stamp_us": 1}, {"generation": 1}, {"ttl": 2}):
        changed = msgspec.structs.replace(header, symbol=6, **other)
        assert next_symbol(write_symbol(changed, b"", bytes(16)), first) is None
    assert next_symbol(first[:67], first) is None


def test_a_train_is_as_large_as_its_datagrams() -> None:
    header = Header(ttl=1, choice=0, links=1, symbol=5)
    packet = Packet(header=header, body=Symbols(numbers=(5, 7, 8)), origin=None)
    assert size_of_train(packet, 1_280, is_plain=False) == 3 * 1_364
    assert size_of_train(packet, 1_280, is_plain=True) == 3 * 1_352


def test_only_simulations_take_trains_for_frames() -> None:
    header = Header(ttl=1, choice=0, links=1, symbol=5)
    packet = Packet(header=header, body=Symbols(numbers=(5, 7)), origin=None)
    with pytest.raises(UsageError, match="use write_symbol"):
        CODEC.encode(packet)
    with pytest.raises(UsageError, match="use write_symbol"):
        CODEC.size_of(packet)
    with pytest.raises(PeerError, match="DATA"):
        CODEC.decode(SIMULATED.encode(packet))
