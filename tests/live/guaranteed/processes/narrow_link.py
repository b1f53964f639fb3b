"""A link that carries so many bytes a second, into a network namespace of its own.

Programs inside reach those outside by the link alone, and each other by the loopback interface.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

# What a router would keep of a burst, and what waits there at the most.
_BURST_BYTES = 16_384
_WAIT_MS = 200


class NoNamespacesError(Exception):
    """This machine or this user cannot have them; says why."""


class NarrowLink(NamedTuple):
    """Where its ends are."""

    namespace: str
    # Of this process, and of those inside.
    here: str
    there: str

    @property
    def inside(self) -> tuple[str, ...]:
        """What a command begins with to run inside; it keeps its process id."""
        return ("ip", "netns", "exec", self.namespace)


@contextmanager
def narrow_link(*, bytes_per_s: int) -> Iterator[NarrowLink]:
    """A link that is there until the block ends; raises `NoNamespacesError`."""
    number = os.getpid()
    link = NarrowLink(
        f"penstock-{number}", f"10.213.{number // 256 % 256}.1", f"10.213.{number // 256 % 256}.2"
    )
    here, there = f"pa{number}", f"pb{number}"
    _ip("netns", "add", link.namespace)
    try:
        _ip("link", "add", here, "type", "veth", "peer", "name", there, "netns", link.namespace)
        _ip("address", "add", f"{link.here}/30", "dev", here)
        _ip("-n", link.namespace, "address", "add", f"{link.there}/30", "dev", there)
        _ip("link", "set", here, "up")
        for device in ("lo", there):
            _ip("-n", link.namespace, "link", "set", device, "up")
        _run("tc", *_shaped(here, bytes_per_s))
        _run("tc", "-n", link.namespace, *_shaped(there, bytes_per_s))
        yield link
    finally:
        # With it goes its end of the link, and with that the other one.
        subprocess.run(["ip", "netns", "delete", link.namespace], check=False, capture_output=True)
        subprocess.run(["ip", "link", "delete", here], check=False, capture_output=True)


def _shaped(device: str, bytes_per_s: int) -> tuple[str, ...]:
    limits = ("rate", f"{8 * bytes_per_s}bit", "burst", str(_BURST_BYTES))
    return ("qdisc", "add", "dev", device, "root", "tbf", *limits, "latency", f"{_WAIT_MS}ms")


def _ip(*arguments: str) -> None:
    _run("ip", *arguments)


def _run(*command: str) -> None:
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True)
    except OSError as error:
        raise NoNamespacesError(f"{command[0]}: {error.strerror}") from None
    if done.returncode:
        raise NoNamespacesError(" ".join([*command[:3], "…", *done.stderr.split()]))
