"""`penstock cast send`: sends a file or directory to all who want it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.cast.options import (
    GROUP,
    INTERFACE,
    GroupOption,
    InsecureOption,
    InterfaceOption,
    lan_of,
)
from penstock.cli.output import AsJson, print_json
from penstock.kernel.errors import UsageError

if TYPE_CHECKING:
    from penstock.wire.frames.cast.transfer import RepairChoice


def send(
    path: Annotated[Path, typer.Argument(help="A file or directory.")],
    item: Annotated[
        str | None,
        typer.Option(
            "--as",
            metavar="ITEM",
            help="What receivers call it.",
            show_default="the name of the file",
        ),
    ] = None,
    receivers: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            help="Start when so many have joined; 0 if nobody knows.",
            show_default="0",
        ),
    ] = 0,
    wait: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION",
            help="Start so long after the first has joined, whoever is missing.",
            show_default="30s, without --receivers 5s",
        ),
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option(
            metavar="RATE",
            help="At most so much, such as 100Mbit/s.",
            show_default="what the slowest receiver bears",
        ),
    ] = None,
    min_rate: Annotated[
        str | None,
        typer.Option(
            metavar="RATE",
            help="At least so much; receivers that get much less are left behind.",
            show_default="no limit",
        ),
    ] = None,
    repair: Annotated[
        str,
        typer.Option(
            metavar="auto|exact|coded",
            help="How what was lost is sent again: exact saves receivers the decoding, with coded"
            " the same symbols serve all; auto is exact where little was lost.",
        ),
    ] = "auto",
    timeout: Annotated[
        str, typer.Option(metavar="DURATION", help="Give up when nobody joins for so long.")
    ] = "10m",
    interface: InterfaceOption = INTERFACE,
    group: GroupOption = GROUP,
    insecure: InsecureOption = False,
    as_json: AsJson = False,
) -> None:
    """Sends a file or directory to all receivers of a network, once, and what single ones missed.

    Prints the command that receivers run: its ticket encrypts the cast. The exit code is 1 if some
    did not get it.

    \b
    Example:
      penstock cast send debian.img --receivers 50
      penstock cast send /srv/models --as lab/models --rate 500Mbit/s
    """
    import asyncio
    from dataclasses import asdict

    from penstock.api.units import bit_rate, duration_ns, size_text
    from penstock.bloomcast.item_names import item_of
    from penstock.kernel.instant import to_seconds

    if not path.exists():
        raise UsageError(f"there is no {str(path)!r}")
    name = item or path.resolve().name
    item_of(name)
    wait_s = to_seconds(duration_ns("--wait", wait or ("30s" if receivers else "5s")))
    timeout_s = to_seconds(duration_ns("--timeout", timeout))
    rate_bps = bit_rate("--rate", rate) // 8 if rate else None
    rate_min_bps = bit_rate("--min-rate", min_rate) // 8 if min_rate else None
    if rate_bps and rate_min_bps and rate_min_bps > rate_bps:
        raise UsageError(f"--min-rate {min_rate} is above --rate {rate}: lower it")
    choice = _repair_choice(repair)
    lan = lan_of(interface, group)

    from penstock.cli.progress import progress_of_bytes
    from penstock.live.cast.cast_keys import NO_KEYS
    from penstock.live.cast.cast_sender import send_object
    from penstock.live.cast.object_source import ObjectSource
    from penstock.live.cast.ticket import keys_of, new_ticket

    total_bytes = path.stat().st_size if path.is_file() else 0
    with progress_of_bytes("hashing", total_bytes) as advance:
        before = 0

        def on_progress(done: int, _total: int) -> None:
            nonlocal before
            advance(done - before)
            before = done

        source = ObjectSource.of(path, on_progress=on_progress)
    ticket = None if insecure else new_ticket()
    what = f"{name} DIRECTORY --insecure" if ticket is None else f"{name}:{ticket} DIRECTORY"
    typer.echo(f"receivers run: penstock cast receive {what}", err=True)
    try:
        outcome = asyncio.run(
            send_object(
                source,
                name,
                receivers=receivers,
                wait_s=wait_s,
                timeout_s=timeout_s,
                rate_bps=rate_bps,
                rate_min_bps=rate_min_bps,
                repair=choice,
                keys=NO_KEYS if ticket is None else keys_of(ticket),
                lan=lan,
            )
        )
    finally:
        source.close()
    if as_json:
        print_json({"item": name, **asdict(outcome)})
    else:
        size = size_text(outcome.bytes)
        typer.echo(f"{outcome.done} receivers have {name}, {size}, in {outcome.seconds:.1f} s")
        if outcome.failed:
            why = "fell silent, or are slower than --min-rate," if min_rate else "fell silent"
            typer.echo(f"{len(outcome.failed)} {why} and have not got it", err=True)
    if outcome.failed or not outcome.done:
        raise typer.Exit(1)


def _repair_choice(name: str) -> RepairChoice:
    from penstock.wire.frames.cast.transfer import RepairChoice

    choices = {choice.name.lower(): choice for choice in RepairChoice}
    if name not in choices:
        raise UsageError(f"--repair {name!r} is none of {', '.join(choices)}")
    return choices[name]
