"""Checkpoints: short texts that come back whole, or not at all."""

from __future__ import annotations

import pickle
import string
from base64 import urlsafe_b64encode
from typing import Any
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.api.checkpoint import PUBENDS_MAX, Checkpoint
from penstock.api.position import Position
from penstock.kernel.errors import UsageError
from tests.api.test_position import positions

checkpoints = st.builds(Checkpoint, st.lists(positions, max_size=8))


@given(checkpoints)
def test_a_checkpoint_survives_its_text(checkpoint: Checkpoint) -> None:
    text = str(checkpoint)
    assert Checkpoint.parse(text) == checkpoint
    assert len(text) <= 7 + 24 * len(checkpoint)
    assert set(text) <= set(string.ascii_letters + string.digits + "-_")
    assert pickle.loads(pickle.dumps(checkpoint)) == checkpoint


@given(checkpoints, positions)
def test_to_advance_leaves_the_old_checkpoint_alone(old: Checkpoint, position: Position) -> None:
    before = dict(old)
    assert old.advanced(position) == {**before, position.pubend: position.tick}
    assert old == before


@given(checkpoints, st.data())
def test_a_text_with_one_mistake_is_refused(checkpoint: Checkpoint, data: st.DataObject) -> None:
    text = str(checkpoint)
    at = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.sampled_from(string.ascii_letters + "-_=é "))
    for wrong in (text[:at] + other + text[at + 1 :], text[:at], text[:at] + other + text[at:]):
        if wrong != text:
            with pytest.raises(UsageError, match=r"is no checkpoint, .*: pass a text of message"):
                Checkpoint.parse(wrong)


@given(st.text(max_size=60))
def test_nonsense_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is no checkpoint"):
        Checkpoint.parse(text)


@pytest.mark.parametrize(
    "body",
    [
        b"\2",
        b"\1" + bytes(8),
        b"\1" + bytes(7),
        b"\1" + bytes(8) + b"\x80",
        b"\1" + bytes(8) + b"\xff" * 9 + b"\x7f",
        b"\1" + bytes(9) * 2,
        b"\1" + bytes(8) + b"\x80\x00",
    ],
)
def test_what_has_the_right_sum_and_the_wrong_form_is_refused(body: bytes) -> None:
    data = body + crc32(body).to_bytes(4, "big")
    with pytest.raises(UsageError, match="is no checkpoint"):
        Checkpoint.parse(urlsafe_b64encode(data).rstrip(b"=").decode())


@pytest.mark.parametrize("given_", [None, 7, b"AQ", "x" * 1_000_000])
def test_what_is_no_text_or_too_long_is_refused(given_: Any) -> None:
    with pytest.raises(UsageError, match="is no checkpoint"):
        Checkpoint.parse(given_)


def test_pubends_are_bounded() -> None:
    Checkpoint.parse(str(Checkpoint(Position(n, 2**64 - 1) for n in range(PUBENDS_MAX))))
    with pytest.raises(UsageError, match="at most 4096 pubends, not 4097: subscribe to fewer"):
        Checkpoint(Position(n, 1) for n in range(PUBENDS_MAX + 1))
