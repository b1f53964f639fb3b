"""`penstock cast receive`: receives an item into a directory."""

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
    check_item,
    lan_of,
    seconds_of,
)
from penstock.cli.cast.session import StoppedError, answers, run_stoppable
from penstock.cli.output import AsJson, print_json
from penstock.kernel.errors import UsageError

if TYPE_CHECKING:
    from penstock.cli.progress import Speed
    from penstock.live.cast.cast_receiver import ReceiverProgress


@answers
def receive(
    item: Annotated[str, typer.Argument(metavar="ITEM[:TICKET]", help="What the sender calls it.")],
    directory: Annotated[Path, typer.Argument(help="Where it goes, under its own name.")],
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace what is there under that name.")
    ] = False,
    wait: Annotated[
        str, typer.Option(metavar="DURATION", help="Give up when nothing begins for so long.")
    ] = "10m",
    interface: InterfaceOption = INTERFACE,
    group: GroupOption = GROUP,
    insecure: InsecureOption = False,
    as_json: AsJson = False,
) -> None:
    """Receives a file or directory; until it is complete it is called NAME.part.

    Whatever stops it: the same command, run again, goes on with the blocks that are there.

    \b
    Example:
      penstock cast receive debian.img:K7QF2M9XW3TB6HJDPA5C /srv/images
    """
    from penstock.live.cast.ticket import has_ticket, keys_of, split_ticket

    name, ticket = (item, None) if insecure and not has_ticket(item) else split_ticket(item)
    check_item(name)
    if (ticket is None) is not insecure:
        raise UsageError(
            f"{name!r} has no ticket: copy the command that 'cast send' printed, or add --insecure"
            if ticket is None
            else "a ticket and --insecure exclude each other: leave one out"
        )
    wait_s = seconds_of("--wait", wait)
    lan = lan_of(interface, group)

    from penstock.cli.progress import Speed, progress_line
    from penstock.live.cast.cast_keys import NO_KEYS
    from penstock.live.cast.cast_receiver import CastReceiver

    receivers: list[CastReceiver] = []
    speed = Speed()

    async def program() -> str:
        def line() -> str:
            return _progress_text(receivers[0].progress, speed) if receivers else ""

        with progress_line(line, is_shown=not as_json) as say:
            keys = NO_KEYS if ticket is None else keys_of(ticket)
            receiver = CastReceiver(
                name, directory, overwrite=overwrite, keys=keys, lan=lan, note=say
            )
            receivers.append(receiver)
            return await receiver.run(timeout_s=wait_s)

    path = run_stoppable(program()) or (receivers[0].path if receivers else None)
    if path is None:
        kept = receivers[0].kept_text() if receivers else ""
        raise StoppedError(
            f"stopped; {kept}: repeat the command to go on"
            if kept
            else "stopped before a block was complete: repeat the command to begin again"
        )
    if as_json:
        [receiver] = receivers
        size_bytes, kept_bytes = receiver.progress.total_bytes, receiver.kept_bytes
        print_json({"item": name, "path": path, "bytes": size_bytes, "kept_bytes": kept_bytes})
    else:
        typer.echo(path)


def _progress_text(progress: ReceiverProgress, speed: Speed) -> str:
    from penstock.live.cast.cast_receiver import ReceiverStage

    stage = progress.stage
    done = f"{progress.done_bytes / 1e6:,.1f} of {(progress.total_bytes or 0) / 1e6:,.1f} MB"
    if stage is ReceiverStage.RECEIVING:
        return f"{done}, {speed.of(progress.done_bytes) / 1e6:,.1f} MB/s"
    return {
        ReceiverStage.RESUMING: "verifying what is here already",
        ReceiverStage.SEARCHING: "waiting for a sender",
        ReceiverStage.WAITING: "joined, waiting for the sender to begin",
        ReceiverStage.VERIFYING: f"{done}, verifying",
        ReceiverStage.COMPLETE: "complete, waiting for the others",
    }[stage]
