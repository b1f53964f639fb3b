"""`penstock stream list`: the streams that a broker knows."""

from __future__ import annotations

from typing import Any

from penstock.cli.output import AsJson, print_json, print_rows
from penstock.cli.stream import texts
from penstock.cli.stream.session import (
    TIMEOUT,
    BrokerOption,
    TimeoutOption,
    answers_in_json,
    ask_all,
    run_once,
)


@answers_in_json
def list_streams(
    broker: BrokerOption = None,
    timeout: TimeoutOption = TIMEOUT,
    as_json: AsJson = False,
) -> None:
    """Lists streams: how much they have and keep, and who has not read them.

    Of a stream that another broker stores, only the name is known, and the
    parent that it is taken from.

    \b
    Example:
      penstock stream list
    """
    found = run_once(
        broker, timeout, lambda node: ask_all(node, "list", "streams", timeout=timeout)
    )
    if as_json:
        print_json({"streams": [texts.stream_json(stream) for stream in found]})
    else:
        print_streams(found)


def print_streams(streams: list[dict[str, Any]]) -> None:
    """A row for each."""
    headings = ("stream", "messages", "size", "keeps", "held by")
    print_rows(headings, [_row(stream) for stream in streams])


def _row(stream: dict[str, Any]) -> tuple[str, ...]:
    if not stream["is_here"]:
        parents = ", ".join(stream["taken_from"])
        served = f"taken from {parents}" if parents else "no parent serves it now"
        return (stream["name"], "", "", "", f"another broker stores it, {served}")
    return (
        stream["name"],
        f"{stream['messages']:,}",
        texts.size(stream["bytes"]) + (" (disk full)" if stream["is_disk_full"] else ""),
        texts.retention(stream["retention"], stream["slow_host"]),
        texts.holder(stream["held_by"]),
    )
