"""Every frame comes back from its bytes as it was, and is as large as was said."""

from importlib import import_module
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.wire import FRAMES, OverlayFrame, TransportFrame, decode, encode, size_of
from penstock.wire.codec.overlay import OVERLAY
from penstock.wire.codec.transport import TRANSPORT
from penstock.wire.frames.carried_frame import CarriedFrame
from tests.wire.strategies import STRATEGIES

FRAME_TYPES = [pytest.param(row.frame_class, id=row.name) for row in FRAMES.rows]


def test_every_registered_frame_has_a_strategy() -> None:
    assert {row.frame_class for row in FRAMES.rows} == set(STRATEGIES)


def test_families_keep_their_numbers_and_bases() -> None:
    for row in TRANSPORT.rows:
        assert 0x01 <= row.type_code < 0x40
        assert issubclass(row.frame_class, TransportFrame)
    for row in OVERLAY.rows:
        assert 0x40 <= row.type_code < 0x80
        assert issubclass(row.frame_class, OverlayFrame)


def test_frames_and_codecs_are_in_parallel_files() -> None:
    for row in FRAMES.rows:
        name = row.frame_class.__module__.rpartition(".")[2]
        assert row.codec is import_module(f"penstock.wire.codec.{name}")


@pytest.mark.parametrize("frame_type", FRAME_TYPES)
@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)
@given(data=st.data())
def test_a_frame_round_trips(frame_type: type, data: st.DataObject) -> None:
    frame: Any = data.draw(STRATEGIES[frame_type])
    measured_first = size_of(frame)
    written = encode(frame)
    assert measured_first == len(written) == size_of(frame)
    again = decode(written)
    assert again == frame
    assert type(again) is frame_type
    assert encode(unremembered(again)) == written
    assert size_of(unremembered(again)) == len(written)


def unremembered(frame: Any) -> Any:
    """The frame without the bytes that its parcel kept."""
    parcel = getattr(frame, "carried", None)
    if parcel is None:
        return frame
    return msgspec.structs.replace(frame, carried=CarriedFrame(parcel.frame))
