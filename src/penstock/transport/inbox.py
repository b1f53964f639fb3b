"""Where an endpoint can be spoken to alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Generic

from penstock.kernel.instant import Instant
from penstock.transport.network import Carried, Network
from penstock.wire.frames.control_routing import to_endpoint


class Address(Generic[Carried]):
    """Asks the network, once, for what is sent to this endpoint."""

    __slots__ = ("_is_known", "_me", "_network", "_numbers")

    def __init__(self, me: int, network: Network[Carried], numbers: Iterator[int]) -> None:
        self._me: Final = me
        self._network: Final = network
        self._numbers: Final = numbers
        self._is_known = False

    def make_known(self, now: Instant) -> None:
        """From now on others can answer."""
        if not self._is_known:
            self._is_known = True
            self._network.subscribe(next(self._numbers), to_endpoint(self._me), now=now)
