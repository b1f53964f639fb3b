"""Where brokers are, as users write it, and what they are warned of."""

from __future__ import annotations

import logging
import socket

import pytest

from penstock.live.guaranteed.addresses import broker_addresses


def own_address() -> str:
    """An address of this machine that others reach, without asking anybody."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("203.0.113.1", 9))
        except OSError:
            pytest.skip("this machine has no network")
        return str(probe.getsockname()[0])


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "[::1]", "localhost", "0.0.0.0"])
def test_of_this_machine_nobody_is_warned(host: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    broker_addresses(f"{host}:7451")
    assert not caplog.messages


def test_an_address_of_this_machine_need_not_be_loopback(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    broker_addresses([f"{own_address()}:7451", f"{socket.gethostname()}:7451"])
    assert not caplog.messages


@pytest.mark.parametrize("host", ["203.0.113.7", "[2001:db8::7]", "host7.example"])
def test_of_another_machine_users_are_warned(host: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    broker_addresses(f"{host}:7451")
    (line,) = caplog.messages
    assert line.startswith(f"{host}:7451 is not on this machine, and nothing is encrypted")
