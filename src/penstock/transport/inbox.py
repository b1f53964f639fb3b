"""The network subscription by which an endpoint receives unicast frames.

Does not know which frames arrive by it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Generic

from penstock.kernel.instant import Instant
from penstock.transport.network import Carried, Network
from penstock.wire.frames.control_routing import endpoint_filter


class UnicastInbox(Generic[Carried]):
    """Subscribes, once, to the frames addressed to this endpoint."""

    __slots__ = ("_endpoint_id", "_is_open", "_network", "_subscription_ids")

    def __init__(
        self, endpoint_id: int, network: Network[Carried], subscription_ids: Iterator[int]
    ) -> None:
        self._endpoint_id: Final = endpoint_id
        self._network: Final = network
        self._subscription_ids: Final = subscription_ids
        self._is_open = False

    def open(self, now: Instant) -> None:
        """Subscribe, if not done yet, so that other endpoints can reply."""
        if not self._is_open:
            self._is_open = True
            self._network.subscribe(
                next(self._subscription_ids), endpoint_filter(self._endpoint_id), now=now
            )
