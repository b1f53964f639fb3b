"""`penstock cache`: runs a node that caches messages and repairs losses of others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Final

import typer

from penstock.cli import new_app
from penstock.cli.inputs import read_filter
from penstock.cli.node_options import (
    BROKER,
    NETWORK,
    TIMEOUT_S,
    BrokerOption,
    NetworkOption,
    ScopeOption,
    TimeoutOption,
    connected,
)
from penstock.cli.output import AsJson, print_json
from penstock.kernel.errors import UsageError

if TYPE_CHECKING:
    from penstock.live.node.repair_cache import Volunteer
    from penstock.transport.recovery.settings import RecoverySettings

app = new_app("A node that keeps messages for others.")

_MESSAGES: Final = 1_000
_MESSAGES_MAX: Final = 1_000_000
_MEMORY_MB: Final = 64
_REPORT_INTERVAL_S: Final = 10.0


@app.command()
def cache(
    text: Annotated[
        str, typer.Argument(metavar="FILTER", help="Filter text, its JSON form, or @FILE.")
    ],
    broker: BrokerOption = BROKER,
    keep: Annotated[
        int,
        typer.Option(
            metavar="N", min=1, max=_MESSAGES_MAX, help="The last so many of each publisher."
        ),
    ] = _MESSAGES,
    memory: Annotated[
        int, typer.Option(metavar="MB", min=1, help="All of them together, as they are written.")
    ] = _MEMORY_MB,
    scope: ScopeOption = None,
    every: Annotated[
        float, typer.Option(metavar="SECONDS", help="How often to say what is kept, if it changed.")
    ] = _REPORT_INTERVAL_S,
    timeout: TimeoutOption = TIMEOUT_S,
    network: NetworkOption = NETWORK,
    as_json: AsJson = False,
) -> None:
    """Keeps matching messages, and gives them to subscribers that lost them.

    It has no application: nothing is printed but how much it keeps, and how many
    requests it answered. Ends by Ctrl-C or SIGTERM.

    \b
    Example:
      penstock cache 'exists symbol'
      penstock cache 'symbol = "IBM"' --keep 5000 --broker 127.0.0.1:7400
    """
    if not every > 0:
        raise UsageError(f"--every must be above 0 seconds, not {every:g}")
    from penstock.cli.run_until_stopped import run

    predicate = read_filter(text)
    recovery = _settings(keep, memory, scope)
    counters: dict[str, int] = {}

    async def program() -> None:
        async with (
            connected(broker, network=network, timeout=timeout, recovery=recovery) as node,
            node.volunteer(predicate) as handle,
        ):
            # Tells scripts that publishing may start.
            typer.echo(f"keeping at {broker}", err=True)
            try:
                await _report(handle, every, err=as_json)
            finally:
                counters.update(handle.counters)

    run(program())
    if as_json:
        print_json(counters)
    else:
        typer.echo(f"ends: {_in_words(counters)}")


def _settings(keep: int, memory_mb: int, scope: str | None) -> RecoverySettings:
    """Recovery settings of a cache, which requests nothing itself and needs no digests."""
    from penstock.transport.recovery.cache_size import CacheSettings
    from penstock.transport.recovery.settings import RecoverySettings

    cache_settings = CacheSettings(k_min=keep, k_max=keep, bytes_max=memory_mb * 1_000_000)
    return RecoverySettings(cache=cache_settings, digests=False, scope=scope)


async def _report(handle: Volunteer, every_s: float, *, err: bool) -> None:
    """Waits until the node ends, and prints its counters when they have changed."""
    import asyncio

    ended = asyncio.create_task(handle.wait())
    reported: Mapping[str, int] = handle.counters
    try:
        while not ended.done():
            await asyncio.wait([ended], timeout=every_s)
            counters = handle.counters
            if counters != reported:
                reported = counters
                typer.echo(_in_words(counters), err=err)
        await ended
    finally:
        ended.cancel()


def _in_words(counters: Mapping[str, int]) -> str:
    """The counters as text, as in '1200 kept of 3 publishers (340 kB), 7 answered'."""
    if not counters:
        return "nothing happened"
    messages, publishers = counters["kept"], counters["publishers"]
    of = f"{publishers} publisher{'' if publishers == 1 else 's'}"
    size_kb = -(-counters["kept_bytes"] // 1_000)
    return f"{messages} kept of {of} ({size_kb} kB), {counters['answered']} answered"
