"""What a sender keeps from one start to the next."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.live.cast.send_state import SendState, state_directory


@pytest.fixture(autouse=True)
def _state_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def test_the_same_sender_has_the_same_ticket_and_a_later_start() -> None:
    first = SendState("image", "lab/image")
    first.close()
    second = SendState("./image", "lab/image")
    assert (second.ticket, second.node) == (first.ticket, first.node)
    assert second.boot > first.boot
    assert second.is_resumed
    assert not first.is_resumed
    second.close()
    [file] = state_directory().iterdir()
    assert file.stat().st_mode & 0o777 == 0o600


def test_another_item_or_a_finished_cast_has_another_ticket() -> None:
    first = SendState("image", "image")
    assert SendState("image", "other").ticket != first.ticket
    first.forget()
    first.close()
    assert SendState("image", "image").ticket != first.ticket


def test_a_sender_that_runs_is_not_taken_over() -> None:
    first = SendState("image", "image")
    second = SendState("image", "image")
    assert second.ticket != first.ticket
    assert second.node != first.node
    assert not second.is_kept
    second.forget()
    assert list(state_directory().iterdir())


@pytest.mark.parametrize("text", ["", "{}", "[1]", "no JSON", '{"ticket": 7}'])
def test_what_is_damaged_is_not_believed(text: str) -> None:
    first = SendState("image", "image")
    first.close()
    [file] = state_directory().iterdir()
    file.write_text(text)
    second = SendState("image", "image")
    assert second.ticket != first.ticket
    assert second.is_kept


def test_where_nothing_can_be_kept_a_cast_runs_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    state = SendState("image", "image")
    assert not state.is_kept
    state.forget()
    state.close()
