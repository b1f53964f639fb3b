"""Every frame of the pictures but DATA: its bytes, and what is less or more than these."""

import pytest

from penstock.content.message import Message
from penstock.kernel.errors import PeerError
from penstock.wire import Frame, decode, encode, size_of
from penstock.wire.frames.repair import Repair
from tests.wire.codec import test_overlay, test_transport

GOLDEN = [
    pytest.param(frame, bytes.fromhex(written), id=f"{type(frame).__name__}-{i}")
    for table in (test_transport.GOLDEN, test_overlay.GOLDEN)
    for i, (frame, written) in enumerate(table)
]


@pytest.mark.parametrize(("frame", "data"), GOLDEN)
def test_the_bytes_are_those_of_the_pictures(frame: Frame, data: bytes) -> None:
    assert encode(frame) == data
    assert size_of(frame) == len(data)
    assert decode(data) == frame


@pytest.mark.parametrize(("frame", "data"), GOLDEN)
def test_truncated_frames_are_refused(frame: Frame, data: bytes) -> None:
    for end in range(len(data)):
        with pytest.raises(PeerError, match=r"^[^\n]+$"):
            decode(data[:end])


@pytest.mark.parametrize(
    ("frame", "data"), [row for row in GOLDEN if not hasattr(row.values[0], "carried")]
)
def test_trailing_bytes_are_refused_or_payload(frame: Frame, data: bytes) -> None:
    longer = data + b"\0"
    if isinstance(frame, Repair):
        again = decode(longer)
        assert isinstance(again, Repair)
        assert again.original.message == Message({"a": 1}, b"\0")
    else:
        with pytest.raises(PeerError, match="bytes left: 1"):
            decode(longer)
