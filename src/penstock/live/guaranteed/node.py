"""A program's connection to guaranteed streams: what `penstock.streams.connect` gives it."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping, Sequence
from secrets import token_hex
from typing import Any, Final, Literal

import msgspec

from penstock.api.durable_info import DurableInfo
from penstock.api.errors import UnreachableError
from penstock.api.filter import Filter
from penstock.api.opening import Opening
from penstock.api.retention import Retention
from penstock.api.start import Start
from penstock.api.stream_info import StreamInfo
from penstock.api.stream_statistics import StreamNodeStatistics
from penstock.api.units import Duration, duration_ns, one_of
from penstock.guaranteed.status import StreamStatus
from penstock.kernel.instant import SECOND
from penstock.live.guaranteed import durables
from penstock.live.guaranteed.addresses import broker_addresses
from penstock.live.guaranteed.answers import retention_setting, stream_info
from penstock.live.guaranteed.client_link import ClientLink
from penstock.live.guaranteed.durables import Parked, check_durable
from penstock.live.guaranteed.stream import Stream
from penstock.live.guaranteed.stream_names import stream_statuses
from penstock.live.guaranteed.subscription import StreamSubscription, open_subscription
from penstock.live.guaranteed.subscription_terms import subscription_terms
from penstock.live.net.address import HostPort
from penstock.wire.frames.guaranteed.base import check_name, check_stream_name

_log: Final = logging.getLogger("penstock.link")


def connect(
    address: str | Sequence[str] | None = None,
    *,
    name: str | None = None,
    timeout: Duration = 5.0,
    drain: Duration = 5.0,
) -> Opening[StreamNode]:
    """Connects to a broker of streams; of several addresses the first that answers is used.

    `name` keeps a publisher's identity over reconnects and restarts. Raises `UsageError`,
    `UnreachableError`, `RefusedError`.
    """
    addresses = broker_addresses(address)
    if name is not None:
        check_name("the name of a node", name)
    timeout_s = duration_ns("timeout", timeout) / SECOND
    drain_s = duration_ns("drain", drain) / SECOND

    async def open_() -> StreamNode:
        node = StreamNode(addresses, name)
        try:
            async with asyncio.timeout(timeout_s):
                await node.wait_connected()
        except TimeoutError:
            await node.aclose()
            where = " or ".join(map(str, addresses))
            to_do = "start one with 'penstock stream broker'"
            if unresolved := node._link.unresolved:
                to_do = f"the host name {unresolved[0]!r} cannot be resolved: check the address"
            raise UnreachableError(f"no broker answers at {where}: {to_do}") from None
        except BaseException:
            await node.aclose()
            raise
        return node

    async def close(node: StreamNode, error: BaseException | None) -> None:
        if error is None:
            await node.aclose(drain=drain_s)
        else:
            node.abandon()

    return Opening("connect()", open_, close)


class StreamNode:
    """One program's way to streams; `connect` makes it."""

    def __init__(self, addresses: Sequence[HostPort], name: str | None) -> None:
        self.name: Final = name
        self._link: Final = ClientLink(addresses, name or f"anonymous-{token_hex(8)}")

    @property
    def address(self) -> str:
        """Where its broker is."""
        return self._link.address

    @property
    def is_connected(self) -> bool:
        """Whether the broker answers now."""
        return self._link.is_connected

    # Streams

    def stream(
        self,
        name: str,
        *,
        create: bool = False,
        confirm: Literal["synced", "received"] = "synced",
    ) -> Stream:
        """A stream by name; nothing is sent before it is used.

        With `create` it is created then, unless it is there. `confirm="received"` confirms what the
        broker has, before it is on disk: a message is lost if broker and program crash at once.
        """
        return Stream(self._link, name, create=create, confirm=confirm)

    def subscribe(
        self,
        filter: str | Filter,
        *,
        streams: Sequence[str],
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
        """Reads several streams at once, as `Stream.subscribe`; each of them is in order."""
        terms = subscription_terms(
            streams,
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
        return open_subscription(self._link, terms)

    async def create_stream(
        self,
        name: str,
        *,
        retention: Retention | None = None,
        slow_host: Literal["throttle", "lag"] = "throttle",
    ) -> StreamInfo:
        """Creates a stream at this broker; raises `RefusedError` if it is there (`exists`)."""
        check_stream_name(name)
        one_of("slow_host", slow_host, ("throttle", "lag"))
        arguments: dict[str, Any] = {"stream": name, "slow_host": slow_host}
        if retention is not None:
            arguments["retention"] = retention_setting(retention)
        answer = await self._link.request("create", arguments)
        return stream_info(msgspec.json.decode(answer, type=StreamStatus))

    async def list_streams(self) -> list[StreamInfo]:
        """The streams that this broker knows, with sizes, and who keeps them from being trimmed."""
        return [stream_info(status) for status in await stream_statuses(self._link)]

    async def delete_stream(self, name: str) -> None:
        """Deletes a stream with all its messages."""
        check_name("the name of a stream", name)
        await self._link.request("delete", {"stream": name})

    # Durable names

    async def list_durables(self) -> list[DurableInfo]:
        """The durable names of this broker: filter, position, lag, and who reads them."""
        return await durables.list_durables(self._link)

    async def seek(self, durable: str, start: Start) -> None:
        """Moves the cursor of a durable name; whoever reads it goes on there."""
        await durables.seek(self._link, durable, start)

    async def delete_durable(self, durable: str) -> None:
        """Forgets a durable name, which frees its messages at once."""
        check_durable(durable)
        await durables.ask_of_durable(self._link, "forget", durable, {"durable": durable})

    async def forget_host(self, host: str) -> None:
        """Forgets a broker that will not come back, with all its durable names."""
        check_name("the name of a host", host)
        await self._link.request("forget", {"host": host})

    def parked(self, durable: str) -> Parked:
        """The messages that were put aside for a durable name: iterate, then retry or discard."""
        check_durable(durable)
        return Parked(self._link, durable)

    # The node itself

    async def request(self, verb: str, arguments: Mapping[str, Any]) -> Any:
        """Asks the broker for one of its rare verbs, as `guaranteed.requests` names them."""
        return json.loads(await self._link.request(verb, arguments))

    async def wait_connected(self) -> None:
        """Waits until the broker answers; raises if it has refused this node."""
        await self._link.wait_connected()

    async def wait_disconnected(self) -> None:
        """Waits until the connection is gone."""
        await self._link.wait_disconnected()

    async def drain(self, timeout: Duration | None = None) -> int:
        """Waits until everything is on disk, so long at most; returns how many are not."""
        seconds = None if timeout is None else duration_ns("timeout", timeout) / SECOND
        try:
            async with asyncio.timeout(seconds):
                await self._link.pending.wait_all()
        except TimeoutError:
            pass
        return len(self._link.pending)

    def statistics(self) -> StreamNodeStatistics:
        """What has happened so far; nobody is asked."""
        pending = self._link.pending
        return StreamNodeStatistics(
            published=pending.published,
            confirmed=pending.confirmed,
            refused=pending.refused,
            unconfirmed=len(pending),
            waiting=pending.waiting,
            subscriptions=len(self._link.subscriptions),
            reconnects=self._link.reconnects,
        )

    async def aclose(self, *, drain: Duration = 0.0) -> None:
        """Ends subscriptions, waits so long for confirmations, and closes; twice is no error."""
        if self._link.is_ended:
            self._link.close()
            return
        for subscription in self._link.subscriptions:
            await subscription.finish()
        if duration_ns("drain", drain):
            await self.drain(drain)
        self._close()
        # Whoever was ended runs now.
        await asyncio.sleep(0)

    def abandon(self) -> None:
        """Closes at once: what is in hand is not acknowledged."""
        for subscription in self._link.subscriptions:
            subscription.abandon()
        self._close()

    def _close(self) -> None:
        unconfirmed = len(self._link.pending)
        if unconfirmed and not self._link.is_ended:
            _log.warning(
                "%s publications are not confirmed: they may or may not be stored",
                f"{unconfirmed:,}",
                extra={"unconfirmed": unconfirmed, "address": self.address},
            )
        self._link.close()
