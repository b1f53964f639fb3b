"""Golden bytes of every frame type, as data: no renaming of a class or field can touch them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.wire import decode, encode
from tests.wire.codec import test_data, test_overlay, test_transport

VECTORS = Path(__file__).parents[1] / "vectors" / "frames.json"
FRAMES: dict[str, str] = json.loads(VECTORS.read_text())


@pytest.mark.parametrize("name", FRAMES)
def test_golden_bytes_are_read_and_written_again(name: str) -> None:
    data = bytes.fromhex(FRAMES[name])
    assert encode(decode(data)) == data
    # Named after the frame's type number, the second byte.
    assert name.startswith(f"{data[1]:02x}.")


def test_the_vectors_are_those_of_the_pictures() -> None:
    pictured = [
        test_data.GOLDEN,
        *(bytes.fromhex(written) for _, written in test_transport.GOLDEN),
        *(bytes.fromhex(written) for _, written in test_overlay.GOLDEN),
    ]
    assert sorted(pictured) == sorted(bytes.fromhex(written) for written in FRAMES.values())


def test_every_frame_type_has_a_vector() -> None:
    types = {int(name[:2], 16) for name in FRAMES}
    assert types == {*range(0x01, 0x0C), *range(0x40, 0x45), *range(0x50, 0x54)}
