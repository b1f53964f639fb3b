"""`penstock stream durables`: durable names, how far they are, and who reads them."""

from __future__ import annotations

from typing import Annotated, Any, Final

import typer

from penstock.cli.output import AsJson, print_json, print_rows
from penstock.cli.stream import texts
from penstock.cli.stream.session import (
    TIMEOUT,
    BrokerOption,
    TimeoutOption,
    YesOption,
    answers_in_json,
    ask_all,
    ask_once,
    confirm,
    run_once,
)

_FILTER_CHARACTERS_MAX: Final = 40


@answers_in_json
def durables(
    delete: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Delete this one, which frees its messages."),
    ] = None,
    yes: YesOption = False,
    broker: BrokerOption = None,
    timeout: TimeoutOption = TIMEOUT,
    as_json: AsJson = False,
) -> None:
    """Lists the durable names of a broker, or deletes one.

    Lag is what lies behind the last acknowledged message. It is shown as "at most" where it counts
    messages that may not match the filter, or that the stream has given up.

    \b
    Example:
      penstock stream durables
      penstock stream durables --delete billing
    """
    if delete is not None:
        confirm(f"Delete durable {delete}, with what it has not read?", yes=yes)
        ask_once(broker, timeout, "forget", {"durable": delete})
        if as_json:
            print_json({"deleted": delete})
        else:
            typer.echo(f"durable {delete} is deleted")
        return
    found = run_once(
        broker, timeout, lambda node: ask_all(node, "durables", "durables", timeout=timeout)
    )
    if as_json:
        print_json({"durables": [texts.durable_json(durable) for durable in found]})
    else:
        print_durables(found)


def print_durables(durables: list[dict[str, Any]]) -> None:
    """A row for each; parked messages only where there are any."""
    has_parked = any(durable["parked"] for durable in durables)
    headings = ["durable", "streams", "filter", "lag", "oldest", "of retention", "read by"]
    rows = []
    for durable in durables:
        filter_text = durable["filter"]
        if len(filter_text) > _FILTER_CHARACTERS_MAX:
            filter_text = filter_text[: _FILTER_CHARACTERS_MAX - 1] + "…"
        row = [
            texts.label(durable["name"]),
            ", ".join(_stream(name, durable) for name in durable["streams"]),
            filter_text,
            *_lag(durable),
            _reader(durable),
        ]
        rows.append([*row, str(durable["parked"])] if has_parked else row)
    print_rows([*headings, "parked"] if has_parked else headings, rows)


def _stream(name: str, durable: dict[str, Any]) -> str:
    return f"{name} (deleted)" if name in durable["deleted"] else name


def _lag(durable: dict[str, Any]) -> tuple[str, str, str]:
    """Three columns; nothing is behind the end of what is not there."""
    if durable["deleted"] == durable["streams"]:
        return ("nothing to read", "", "")
    lag = durable["lag"]
    return (texts.lag(lag), texts.age(lag["seconds"]), texts.share(lag["retention_share"]))


def _reader(durable: dict[str, Any]) -> str:
    if durable["reader"] is not None:
        return f"{durable['reader']} since {texts.at(durable['reader_since_ns'])}"
    if durable["stopped"]:
        return durable["stopped"]  # type: ignore[no-any-return]
    since_ns = durable["unread_since_ns"]
    return "nobody" if since_ns is None else f"nobody since {texts.at(since_ns)}"
