"""`penstock stream status`: what a broker is doing, and who waits for whom."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from penstock.cli.output import AsJson, on_terminal, print_json, print_rows
from penstock.cli.stream import texts
from penstock.cli.stream.durables import print_durables
from penstock.cli.stream.listing import print_streams
from penstock.cli.stream.session import (
    TIMEOUT,
    BrokerOption,
    TimeoutOption,
    answers_in_json,
    ask,
    ask_all,
    connected,
    errors_for_a_shell,
    run_once,
)
from penstock.kernel.errors import UsageError

if TYPE_CHECKING:
    from penstock.live.guaranteed.node import StreamNode

_EVERY: Final = "2s"


@answers_in_json
def status(
    watch: Annotated[
        bool, typer.Option("--watch", help="Again and again, until it is stopped.")
    ] = False,
    every: Annotated[
        str | None,
        typer.Option(metavar="DURATION", help="With --watch: how often.", show_default=_EVERY),
    ] = None,
    broker: BrokerOption = None,
    timeout: TimeoutOption = TIMEOUT,
    as_json: AsJson = False,
) -> None:
    """Shows a broker: its streams, who keeps them from being trimmed, and how far readers are.

    With --watch and --json it prints one object a line.

    \b
    Example:
      penstock stream status
      penstock stream status --watch --json | jq .sync_p99_seconds
    """
    if every is not None and not watch:
        raise UsageError("--every is about --watch: add --watch")
    if not watch:
        found = run_once(broker, timeout, lambda node: _ask_everything(node, timeout))
        if as_json:
            print_json(_status_json(found))
        else:
            _print(found)
        return
    from penstock.api.units import duration_ns
    from penstock.cli.run_until_stopped import run

    every_s = duration_ns("--every", every or _EVERY, low_ns=100_000_000) / 1e9
    with errors_for_a_shell():
        run(_watch(broker, timeout, every_s, as_json))


async def _watch(brokers: list[str] | None, timeout: str, every_s: float, as_json: bool) -> None:
    import asyncio

    async with connected(brokers, timeout=timeout) as node:
        while True:
            found = await _ask_everything(node, timeout)
            if as_json:
                print_json(_status_json(found))
            else:
                if on_terminal():
                    typer.echo("\x1b[2J\x1b[H", nl=False)
                _print(found)
            await asyncio.sleep(every_s)


async def _ask_everything(node: StreamNode, timeout: str) -> dict[str, Any]:
    found: dict[str, Any] = await ask(node, "status", {}, timeout=timeout)
    found["streams"] = await ask_all(node, "list", "streams", timeout=timeout)
    found["durables"] = await ask_all(node, "durables", "durables", timeout=timeout)
    return found


def _status_json(found: dict[str, Any]) -> dict[str, object]:
    return {
        **found,
        "type": "status",
        # As text, because many readers of JSON have no integers of 64 bits.
        "life": str(found["life"]),
        "streams": [texts.stream_json(stream) for stream in found["streams"]],
        "alarms": [
            {"at": texts.at(each["at_ns"]), "kind": each["kind"], "text": each["text"]}
            for each in found["alarms"]
        ],
        "durables": [texts.durable_json(durable) for durable in found["durables"]],
    }


def _print(found: dict[str, Any]) -> None:
    for line in _head(found):
        typer.echo(line)
    if found["streams"]:
        typer.echo("")
        print_streams(found["streams"])
    for line in _other_hosts(found["streams"]):
        typer.echo(line)
    _print_throttled(found["streams"])
    _print_recovering(found["streams"])
    if found["durables"]:
        typer.echo("")
        print_durables(found["durables"])


def _head(found: dict[str, Any]) -> list[str]:
    gap = found["oldest_gap_seconds"]
    p50, p99 = found["sync_p50_seconds"], found["sync_p99_seconds"]
    missing = "nothing is missing" if gap is None else f"the oldest gap is {gap:.1f} s old"
    lines = [
        f"broker {found['broker']}: {texts.some(found['clients'], 'client')},"
        f" {texts.some(len(found['streams']), 'stream')},"
        f" {texts.some(len(found['durables']), 'durable')}",
        "disk: nothing written yet"
        if p99 is None
        else f"disk: syncs take {1e3 * p50:.2f} ms, 99 % of them at most {1e3 * p99:.2f} ms",
        f"repairs: {missing},"
        f" {texts.share(found['repeated_share'])} came more than once,"
        f" {found['catch_up_readers']:,} readers catch up, {found['waiting_readers']:,} wait",
    ]
    if found["parents"] or found["parents_away"]:
        lines.append(f"parents: {_parents(found['parents'], found['parents_away'])}")
    if found["queue_dropped"]:
        lines.append(
            f"links: {found['queue_dropped']:,} frames did not fit and are repaired,"
            f" {texts.size(found['queue_bytes'])} wait"
        )
    return lines + [
        f"alarm at {texts.at(alarm['at_ns'])}: {alarm['text']}" for alarm in found["alarms"]
    ]


def _parents(names: list[str], away: int) -> str:
    if not names:
        return "none is linked, their streams stand still: the log of this broker says why"
    others = f"; {away:,} {'is' if away == 1 else 'are'} away" if away else ""
    return f"linked to {', '.join(names)}{others}"


def _print_throttled(streams: list[dict[str, Any]]) -> None:
    """Those of which publishers are slowed down now, and for whom."""
    rows = [
        (
            _pubend_name(stream, each),
            each["limited_by"] or "?",
            f"{each['rate_limit_per_second']:,.1f}",
            f"{each['demand_per_second']:,.1f}",
            f"{each['throttled_seconds']:,.1f}",
        )
        for stream in streams
        for each in stream["throttles"]
        if each["rate_limit_per_second"] is not None
    ]
    if rows:
        typer.echo("")
        headings = ("slowed down", "by", "allowed, 1/s", "wanted, 1/s", "so far, s")
        print_rows(headings, rows)


def _print_recovering(streams: list[dict[str, Any]]) -> None:
    """Those of which the readers here are so far behind that they slow publishers down."""
    rows = [
        (
            _pubend_name(stream, each),
            "no parent"
            if each["doubt_horizon_rate"] is None
            else f"{each['doubt_horizon_rate']:.2f}",
        )
        for stream in streams
        for each in stream["readings"]
        if each["is_recovering"]
    ]
    if rows:
        typer.echo("")
        print_rows(("recovering", "seconds of the stream a second"), rows)


def _pubend_name(stream: dict[str, Any], of: dict[str, Any]) -> str:
    """The stream, and which of its logs if it has several."""
    name = str(stream["name"])
    return f"{name} {of['pubend']}" if len(stream["pubends"]) > 1 else name


def _other_hosts(streams: list[dict[str, Any]]) -> list[str]:
    """Those that are behind, besides the one that the table names."""
    return [
        f"{stream['name']}: also held by {texts.holder(host)}"
        for stream in streams
        for host in stream["hosts"]
        if host["messages"] and host != stream["held_by"]
    ]
