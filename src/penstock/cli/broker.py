"""`penstock broker`: runs one broker of a network on a UDP socket."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Final

import typer

from penstock.cli import new_app
from penstock.cli.node_options import BROKER, NETWORK, errors_name_option
from penstock.cli.output import AsJson, print_json
from penstock.kernel.errors import UsageError

if TYPE_CHECKING:
    from penstock.live.daemon.broker import RunningBroker

app = new_app("A broker on a UDP socket.")

_BROKER_ID_MAX: Final = 2**32 - 1
_CHECK_INTERVAL_S: Final = 0.5
_SILENT_S: Final = 5.0

# Texts for people, by counter; --json prints the counters' own names (docs/overlay.md).
_WORDS: Final = {
    # Includes requests, repairs and digests, which a broker treats like messages.
    "published": "{} frames published",
    "forwarded": "{} sent on to neighbours",
    "delivered": "{} delivered",
    "filtered": "nobody had asked for {}",
    "no_match": "{} came for nobody here",
    "no_route": "{} found no way",
    "ttl": "{} went in circles",
    "duplicate": "{} came twice",
    "malformed": "{} frames made no sense",
    "stranger": "{} frames of brokers that are no neighbours",
    "foreign": "{} greetings of other networks",
    "own_number": "{} greetings of a neighbour with our number",
}


@app.command()
def broker(
    listen: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Where to listen; port 0 for any.")
    ] = BROKER,
    neighbour: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Another broker, which must name this one too; once for each.",
        ),
    ] = None,
    number: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=_BROKER_ID_MAX,
            help="Its name in the network: another for each broker.",
            show_default="1",
        ),
    ] = None,
    network: Annotated[
        str, typer.Option(metavar="NAME", help="Brokers and clients of other networks are ignored.")
    ] = NETWORK,
    mark_above: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            min=0,
            max=1,
            help="Marks messages while more of the send queue is taken (docs/congestion.md).",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Runs a broker until it is stopped, by Ctrl-C or SIGTERM; then says what it did.

    \b
    Example:
      penstock broker --listen 127.0.0.1:7400
      penstock broker --listen 127.0.0.1:7401 --number 1 --neighbour 127.0.0.1:7402
      penstock broker --listen 127.0.0.1:7402 --number 2 --neighbour 127.0.0.1:7401
    """
    if neighbour and number is None:
        raise UsageError("brokers with neighbours need numbers: add --number 2, or 3 and so on")
    from penstock.cli.run_until_stopped import run

    broker_id = 1 if number is None else number
    run(_serve(listen, broker_id, neighbour or [], network, mark_above, as_json))


async def _serve(
    listen: str,
    broker_id: int,
    neighbours: list[str],
    network: str,
    mark_above: float | None,
    as_json: bool,
) -> None:
    from penstock.live.daemon.broker import serve
    from penstock.live.net import address
    from penstock.live.network_config import Agreement

    with errors_name_option("--listen"):
        address.parse(listen, port_min=0)
    agreement = Agreement(name=network)
    async with serve(
        listen, number=broker_id, agreement=agreement, mark_above=mark_above
    ) as running:
        for where in neighbours:
            with errors_name_option("--neighbour"):
                await running.add_neighbour(where)
        # With port 0, programs read the address from this line.
        typer.echo(f"broker {broker_id} listens at {running.address}", err=as_json)
        try:
            await _report_neighbours(running, broker_id, err=as_json)
        finally:
            counters = {part: dict(counts) for part, counts in running.counters.items()}
            if as_json:
                print_json({"broker": broker_id, "address": running.address, "counters": counters})
            else:
                typer.echo(f"broker {broker_id} ends: {_in_words(counters['broker'])}")


def _in_words(counts: Mapping[str, int]) -> str:
    parts = [_WORDS.get(name, f"{name} {{}}").format(n) for name, n in counts.items() if n]
    return ", ".join(parts) or "nothing happened"


async def _report_neighbours(running: RunningBroker, broker_id: int, *, err: bool) -> None:
    """Waits until the broker ends, and prints changes of its neighbours' state."""
    import asyncio

    now_s = asyncio.get_running_loop().time
    report = NeighbourReport(broker_id, running.neighbours, now_s())
    ended = asyncio.create_task(running.wait())
    try:
        while running.neighbours and not ended.done():
            for line in report.changes(running.neighbours, running.counters["broker"], now_s()):
                typer.echo(line, err=err)
            await asyncio.wait([ended], timeout=_CHECK_INTERVAL_S)
        await ended
    finally:
        ended.cancel()


class NeighbourReport:
    """Turns the state of neighbours into lines for the user, each event once."""

    def __init__(self, broker_id: int, neighbours: Mapping[str, bool], now_s: float) -> None:
        self._broker_id: Final = broker_id
        self._is_duplicate_id_reported = False
        # When each became silent; None if it answers, or if its silence was reported.
        self._silent_since_s: Final[dict[str, float | None]] = dict.fromkeys(neighbours, now_s)
        self._connected: Final[set[str]] = set()

    def changes(
        self, neighbours: Mapping[str, bool], counts: Mapping[str, int], now_s: float
    ) -> Iterator[str]:
        """Yields a line for each change since the last call."""
        for where, is_answering in neighbours.items():
            if is_answering and where not in self._connected:
                self._connected.add(where)
                self._silent_since_s[where] = None
                yield f"neighbour {where} answers"
            elif not is_answering:
                yield from self._report_silence(where, now_s)
        if counts["own_number"] and not self._is_duplicate_id_reported:
            self._is_duplicate_id_reported = True
            yield (
                f"a neighbour is number {self._broker_id} too:"
                " give each broker a --number of its own"
            )

    def _report_silence(self, where: str, now_s: float) -> Iterator[str]:
        if where in self._connected:
            self._connected.remove(where)
            self._silent_since_s[where] = now_s
        since_s = self._silent_since_s[where]
        if since_s is not None and now_s - since_s >= _SILENT_S:
            self._silent_since_s[where] = None
            yield (
                f"neighbour {where} has been silent for {_SILENT_S:g} s:"
                " does it run, and does it name this broker?"
            )
