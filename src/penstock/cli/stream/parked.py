"""`penstock stream parked`: messages that failed too often, and what becomes of them."""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.output import AsJson, print_json, print_rows
from penstock.cli.stream import texts
from penstock.cli.stream.session import (
    TIMEOUT,
    BrokerOption,
    TimeoutOption,
    answers_in_json,
    ask,
    ask_once,
    run_once,
)
from penstock.kernel.errors import UsageError

if TYPE_CHECKING:
    from penstock.live.guaranteed.node import StreamNode


@answers_in_json
def parked(
    durable: Annotated[str, typer.Argument(help="A durable name.")],
    retry: Annotated[
        str | None,
        typer.Option(metavar="POSITION|all", help="Hand it to the reader once more."),
    ] = None,
    discard: Annotated[
        str | None, typer.Option(metavar="POSITION|all", help="Delete it for good.")
    ] = None,
    broker: BrokerOption = None,
    timeout: TimeoutOption = TIMEOUT,
    as_json: AsJson = False,
) -> None:
    """Lists messages that a durable name has put aside, hands them out again, or deletes them.

    A message is put aside when it has failed too often and the name is read with --poison park.

    \b
    Example:
      penstock stream parked billing
      penstock stream parked billing --retry all
      penstock stream parked billing --discard 00f9c03bb1d25a4e.1a04
    """
    if retry is not None and discard is not None:
        raise UsageError("--retry and --discard exclude each other: write one of them")
    chosen = retry if retry is not None else discard
    if chosen is None:
        found = run_once(broker, timeout, lambda node: _all(node, durable, timeout))
        _print(durable, found, as_json)
        return
    action, done = ("retry", "handed out again") if retry is not None else ("discard", "deleted")
    arguments = {"durable": durable, "action": action, **_which(chosen)}
    messages = ask_once(broker, timeout, "parked", arguments)["messages"]
    if as_json:
        print_json({"durable": durable, "action": action, "messages": messages})
    else:
        typer.echo(f"{texts.some(messages, 'message')} {done}")


def _which(chosen: str) -> dict[str, object]:
    if chosen == "all":
        return {}
    from penstock.api.position import Position

    position = Position.parse(chosen)
    return {"pubend": f"{position.pubend:016x}", "tick": position.tick}


async def _all(node: StreamNode, durable: str, timeout: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    while True:
        arguments = {"durable": durable, "skip": len(found)}
        page = await ask(node, "parked", arguments, timeout=timeout)
        found += page["messages"]
        if not page["more"] or not page["messages"]:
            return found


def _print(durable: str, found: list[dict[str, Any]], as_json: bool) -> None:
    import json

    messages = [_message(each) for each in found]
    if as_json:
        print_json({"durable": durable, "messages": messages})
        return
    if not messages:
        typer.echo(f"durable {durable} has no parked messages", err=True)
        return
    headings = ("position", "published", "attempts", "reason", "message")
    rows = [
        (
            str(each["position"]),
            str(each["published_at"]),
            str(each["attempts"]),
            str(each["reason"]),
            "too large to show" if each["attributes"] is None else json.dumps(each["attributes"]),
        )
        for each in messages
    ]
    print_rows(headings, rows)


def _message(parked: dict[str, Any]) -> dict[str, object]:
    from penstock.wire.codec.guaranteed.body import read_attributes_of, read_payload_of

    body = None if parked["body"] is None else b64decode(parked["body"])
    return {
        "position": texts.position(parked["pubend"], parked["tick"]),
        "published_at": texts.instant(parked["published_ns"]),
        "attempts": parked["attempts"],
        "reason": parked["reason"],
        "attributes": None if body is None else dict(read_attributes_of(body)),
        "payload": None if body is None else b64encode(read_payload_of(body)).decode(),
    }
