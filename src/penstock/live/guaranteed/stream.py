"""A stream by name: publish into it until the message is on disk, and subscribe to it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from math import isfinite
from typing import Final, Literal

from penstock.api.confirmation import Confirmation
from penstock.api.errors import NotConfirmedError, RefusedError, TooLargeError, UnreachableError
from penstock.api.filter import Filter
from penstock.api.opening import Opening
from penstock.api.start import Start
from penstock.api.units import Duration, count, duration_ns, one_of
from penstock.content.value import Value
from penstock.kernel.errors import UsageError
from penstock.kernel.instant import SECOND
from penstock.live.guaranteed.client_link import ClientLink
from penstock.live.guaranteed.pending import Pending
from penstock.live.guaranteed.subscription import StreamSubscription, open_subscription
from penstock.live.guaranteed.subscription_terms import subscription_terms
from penstock.wire.codec.guaranteed.body import write_body
from penstock.wire.frames.guaranteed.base import MESSAGE_BYTES_MAX, check_stream_name

_TIMEOUT_S: Final = 30.0
# The size is checked here, for an error that carries it.
_ANY_SIZE: Final = 1 << 40
_U64_MAX: Final = 2**64 - 1


class Stream:
    """A stream by name; nothing is sent before it is used."""

    def __init__(
        self, link: ClientLink, name: str, *, create: bool, confirm: Literal["synced", "received"]
    ) -> None:
        check_stream_name(name)
        one_of("confirm", confirm, ("synced", "received"))
        self.name: Final = name
        self._link: Final = link
        self._is_to_create = create
        # The broker says that it has a message; the node keeps it until it is on disk all the same,
        # and repeats it if the broker crashes: it is lost only if both do.
        self._wants_receipt: Final = confirm == "received"
        # Whether the node has chosen numbers of publications.
        self._has_numbered = False

    async def publish(
        self,
        attributes: Mapping[str, Value],
        payload: bytes = b"",
        *,
        publication: int | None = None,
        timeout: Duration = _TIMEOUT_S,
    ) -> Confirmation:
        """Stores a message; returns when it is on disk.

        Raises `NotConfirmedError` when there is no answer in time, `UnreachableError` when the
        message has not even left, `RefusedError`, `TooLargeError` and `ClosedError`.
        """
        timeout_s = duration_ns("timeout", timeout) / SECOND
        pending: Pending | None = None
        try:
            async with asyncio.timeout(timeout_s):
                pending = await self.submit(attributes, payload, publication=publication)
                return await pending
        except TimeoutError:
            if pending is None:
                raise UnreachableError(
                    f"a message for stream {self.name!r} has not left: no credit from"
                    f" {self._link.address} for {timeout_s:g} s: publish it again"
                ) from None
            if pending.is_done:
                raise
            why = f"no confirmation for {timeout_s:g} s"
            raise NotConfirmedError(pending.publication, why) from None

    async def submit(
        self,
        attributes: Mapping[str, Value],
        payload: bytes = b"",
        *,
        publication: int | None = None,
    ) -> Pending:
        """Sends a message as soon as there is credit; await the result for its confirmation."""
        body = write_body(attributes, payload, bytes_max=_ANY_SIZE)
        for name, value in attributes.items():
            if type(value) is float and not isfinite(value):
                raise UsageError(f"{name} is {value}: write a finite number, or leave it out")
        if len(body) > MESSAGE_BYTES_MAX:
            raise TooLargeError(len(body), MESSAGE_BYTES_MAX)
        link = self._link
        link.raise_if_ended()
        if self._is_to_create:
            await self._create()
        if publication is not None:
            again = await self._find_open(publication)
            if again is not None:
                return again
        else:
            self._has_numbered = True
        if not link.pending.has_room:
            await link.pending.wait_room()
        return link.publish(self.name, body, publication, self._wants_receipt)

    def subscribe(
        self,
        filter: str | Filter = "true",
        *,
        durable: str | None = None,
        start: Start = "now",
        ack: Literal["next", "manual"] = "next",
        window: int = 1_000,
        expire: Duration | None = None,
        attempts: int = 5,
        poison: Literal["stop", "park"] = "stop",
        on_gap: Literal["raise", "continue"] = "raise",
        checkpoint: str | None = None,
        change_filter: bool = False,
        takeover: bool = False,
    ) -> Opening[StreamSubscription]:
        """Reads what the filter matches; a durable name is remembered with how far it has read.

        Opening raises `DurableError`, `RefusedError`, `UnreachableError`; iterating `GapError`,
        `PoisonError`.
        """
        terms = subscription_terms(
            [self.name],
            filter,
            durable=durable,
            start=start,
            ack=ack,
            window=window,
            expire=expire,
            attempts=attempts,
            poison=poison,
            on_gap=on_gap,
            checkpoint=checkpoint,
            change_filter=change_filter,
            takeover=takeover,
        )
        before = self._create if self._is_to_create else None
        return open_subscription(self._link, terms, before=before)

    async def _create(self) -> None:
        try:
            await self._link.request("create", {"stream": self.name})
        except RefusedError as error:
            if error.reason != "exists":
                raise
        self._is_to_create = False

    async def _find_open(self, publication: int) -> Pending | None:
        """One with this number that is on its way; None if there is none, and it may be used."""
        count("publication", publication, low=1, high=_U64_MAX)
        if self._has_numbered:
            raise UsageError(
                f"publication={publication} comes after messages without a number:"
                " number all messages of a node, or none"
            )
        while (found := self._link.pending.find(publication)) is not None:
            if found.stream == self.name:
                return found
            # Numbers of other streams are others, but on their way they are told apart by them.
            await found.wait()
        return None
