"""`penstock cast receive`: receives an item into a directory."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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


def receive(
    item: Annotated[str, typer.Argument(metavar="ITEM[:TICKET]", help="What the sender calls it.")],
    directory: Annotated[Path, typer.Argument(help="Where it goes, under its own name.")],
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace what is there under that name.")
    ] = False,
    wait: Annotated[
        str, typer.Option(metavar="DURATION", help="Give up when nobody sends for so long.")
    ] = "10m",
    interface: InterfaceOption = INTERFACE,
    group: GroupOption = GROUP,
    insecure: InsecureOption = False,
    as_json: AsJson = False,
) -> None:
    """Receives a file or directory; until it is complete it is called NAME.part.

    \b
    Example:
      penstock cast receive debian.img:K7QF2M9XW3TB6HJDPA5C /srv/images
    """
    import asyncio

    from penstock.api.units import duration_ns
    from penstock.bloomcast.item_names import item_of
    from penstock.kernel.instant import to_seconds
    from penstock.live.cast.ticket import keys_of, split_ticket

    name, ticket = split_ticket(item)
    item_of(name)
    if (ticket is None) is not insecure:
        raise UsageError(
            f"{name!r} has no ticket: copy the command that 'cast send' printed, or add --insecure"
            if ticket is None
            else "a ticket and --insecure exclude each other: leave one out"
        )
    if not directory.is_dir():
        raise UsageError(f"{str(directory)!r} is no directory: create it first")
    wait_s = to_seconds(duration_ns("--wait", wait))
    lan = lan_of(interface, group)

    from penstock.live.cast.cast_keys import NO_KEYS
    from penstock.live.cast.cast_receiver import CastReceiver

    async def program() -> str:
        keys = NO_KEYS if ticket is None else keys_of(ticket)
        receiver = CastReceiver(name, directory, overwrite=overwrite, keys=keys, lan=lan)
        return await receiver.run(timeout_s=wait_s)

    path = asyncio.run(program())
    if as_json:
        print_json({"item": name, "path": path})
    else:
        typer.echo(path)
