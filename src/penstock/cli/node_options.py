"""Options that `publish`, `subscribe` and `cache` share, and the connection to the broker."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

import typer

from penstock.kernel.errors import UsageError

if TYPE_CHECKING:
    from penstock.live.node.node import Node
    from penstock.transport.congestion.settings import CongestionSettings
    from penstock.transport.recovery.settings import RecoverySettings
    from penstock.transport.settings import RecordSettings

BROKER: Final = "127.0.0.1:7400"
NETWORK: Final = "penstock"
TIMEOUT_S: Final = 5.0

BrokerOption: TypeAlias = Annotated[
    str, typer.Option(metavar="HOST:PORT", help="Where the broker listens.")
]
NetworkOption: TypeAlias = Annotated[
    str, typer.Option(metavar="NAME", help="The network that the broker is of.")
]
TimeoutOption: TypeAlias = Annotated[
    float,
    typer.Option(metavar="SECONDS", min=0, help="How long to wait for the broker at the start."),
]

RecoverOption: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--recover", help="Get back what was lost, from others who ask for the same and have it."
    ),
]

ControlOption: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--control",
        help="Congestion control: publishers send what the network bears. Both sides need it.",
    ),
]

ScopeOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="WORD", help="Answer only those with the same scope.", show_default="none"
    ),
]


def recovery_of(recover: bool, scope: str | None) -> RecoverySettings | None:
    """Default recovery settings with the given scope; None without --recover."""
    if not recover:
        if scope is not None:
            raise UsageError("--scope says who is given what was lost: add --recover")
        return None
    from penstock.transport.recovery.settings import RecoverySettings

    return RecoverySettings(scope=scope)


def congestion_of(control: bool) -> CongestionSettings | None:
    """Default congestion settings; None without --control."""
    if not control:
        return None
    from penstock.transport.congestion.settings import CongestionSettings

    return CongestionSettings()


@contextmanager
def errors_name_option(option: str) -> Iterator[None]:
    """Prefixes a UsageError with the name of the option."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"{option}: {error}") from None


@asynccontextmanager
async def connected(
    where: str,
    *,
    network: str,
    timeout: float,
    publisher: int | None = None,
    record: RecordSettings | None = None,
    recovery: RecoverySettings | None = None,
    congestion: CongestionSettings | None = None,
) -> AsyncIterator[Node]:
    """Connects a node; reports on standard error when its broker is silent or back."""
    import asyncio

    from penstock.live.net import address
    from penstock.live.network_config import Agreement
    from penstock.live.node.node import connect

    with errors_name_option("--broker"):
        address.parse(where)
    agreement = Agreement(name=network)
    async with connect(
        where,
        publisher=publisher,
        record=record,
        recovery=recovery,
        congestion=congestion,
        agreement=agreement,
        timeout=timeout,
    ) as node:
        reporting = asyncio.create_task(_report_silence(node, where))
        try:
            yield node
        finally:
            reporting.cancel()


async def _report_silence(node: Node, where: str) -> None:
    while True:
        await node.wait_silent()
        typer.echo(f"broker at {where} is silent", err=True)
        await node.wait_heard()
        typer.echo(f"broker at {where} is back", err=True)
