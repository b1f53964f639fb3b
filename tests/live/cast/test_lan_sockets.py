"""What is said of a network before anything is sent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock.kernel.errors import UsageError
from penstock.live.cast import datagram_trains, lan_sockets
from penstock.live.cast.lan_sockets import LanAddress, buffer_note, receiver_socket, sender_socket
from penstock.live.cast.receiving_target import ReceivingTarget

# For documents (RFC 5737): no machine has it.
NOWHERE = LanAddress(interface="192.0.2.7")


def test_an_address_of_another_machine_is_refused() -> None:
    for make in (sender_socket, receiver_socket):
        with pytest.raises(UsageError, match=r"192\.0\.2\.7 is no address of this machine: write"):
            make(NOWHERE)


def test_a_small_receive_buffer_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    socket = receiver_socket(LanAddress(interface="127.0.0.1"))
    monkeypatch.setattr(lan_sockets, "BUFFER_BYTES", socket.buffer_bytes)
    assert buffer_note(socket) == ""
    monkeypatch.setattr(lan_sockets, "BUFFER_BYTES", 2 * socket.buffer_bytes)
    assert "raise net.core.rmem_max" in buffer_note(socket)
    socket.close()
    assert datagram_trains.BUFFER_BYTES == 4 << 20


def test_a_directory_that_cannot_be_written_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for those who are not root."""
    monkeypatch.setattr(os, "access", lambda _path, _mode: False)
    with pytest.raises(UsageError, match="cannot be written to: choose another directory"):
        ReceivingTarget(tmp_path, "copy")
    assert list(tmp_path.iterdir()) == []
