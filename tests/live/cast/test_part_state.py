"""Who receives an object, and how far it is, from one start to the next."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.bloomcast.coding.block_layout import BlockLayout
from penstock.kernel.errors import UsageError
from penstock.live.cast.part_state import PartObject, PartState

OBJECT = PartObject(b"0123456789abcdef", BlockLayout(100_000, 1_280, 10), 77)


def test_a_receiver_that_is_killed_early_is_the_same_node(tmp_path: Path) -> None:
    path = str(tmp_path / "copy.part.state")
    first = PartState(path)
    # As if killed: the file stays.
    data = Path(path).read_bytes()
    first.close()
    assert not Path(path).exists(), "there was nothing to go on with"
    Path(path).write_bytes(data)
    second = PartState(path)
    assert second.node == first.node
    assert second.boot > first.boot
    assert second.object is None


def test_an_object_is_known_before_it_is_announced(tmp_path: Path) -> None:
    path = str(tmp_path / "copy.part.state")
    first = PartState(path)
    first.begin(OBJECT)
    first.set_verified(3)
    first.close()
    second = PartState(path)
    assert (second.object, second.node) == (OBJECT, first.node)
    second.begin(OBJECT)
    assert second.is_resumed
    assert list(second.verified.runs()) == [(3, 4)]
    second.close()
    third = PartState(path)
    third.begin(PartObject(b"another object!!", OBJECT.layout, 77))
    assert not third.is_resumed
    assert not len(third.verified)
    assert third.node == first.node


def test_a_state_that_cannot_be_is_not_believed(tmp_path: Path) -> None:
    path = tmp_path / "copy.part.state"
    first = PartState(str(path))
    first.begin(OBJECT)
    first.close()
    data = bytearray(path.read_bytes())
    # Symbols of 1281 bytes.
    data[36] += 1
    path.write_bytes(data)
    assert PartState(str(path)).object is None


def test_it_is_locked(tmp_path: Path) -> None:
    path = str(tmp_path / "copy.part.state")
    PartState(path)
    with pytest.raises(UsageError, match="another process receives"):
        PartState(path)
