"""`penstock cast send`: sends a file or directory to all who want it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from penstock.cli.cast.options import (
    GROUP,
    INTERFACE,
    GroupOption,
    InsecureOption,
    InterfaceOption,
    bytes_per_s,
    check_item,
    lan_of,
    seconds_of,
)
from penstock.cli.cast.session import StoppedError, answers, run_stoppable
from penstock.cli.output import AsJson, print_json
from penstock.kernel.errors import UsageError

if TYPE_CHECKING:
    from penstock.cli.progress import Speed
    from penstock.live.cast.cast_sender import CastOutcome, SenderProgress
    from penstock.live.cast.object_source import ObjectSource
    from penstock.live.cast.receiver_table import FailedReceiver
    from penstock.wire.frames.cast.transfer import RepairChoice

RECEIVERS_MAX: Final = 65_535
_NAMED_MAX: Final = 10


@answers
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
    did not get it. Whatever stops it: the same command, run again, has the same ticket and goes on.

    \b
    Example:
      penstock cast send debian.img --receivers 50
      penstock cast send /srv/models --as lab/models --rate 500Mbit/s
    """
    from penstock.api.units import count

    if not path.exists():
        raise UsageError(f"there is no {str(path)!r}")
    name = item or path.resolve().name
    check_item(name)
    count("--receivers", receivers, high=RECEIVERS_MAX)
    wait_s = seconds_of("--wait", wait or ("30s" if receivers else "5s"))
    timeout_s = seconds_of("--timeout", timeout)
    rate_bps, rate_min_bps = bytes_per_s("--rate", rate), bytes_per_s("--min-rate", min_rate)
    if rate_bps and rate_min_bps and rate_min_bps > rate_bps:
        raise UsageError(f"--min-rate {min_rate} is above --rate {rate}: lower it")
    choice = _repair_choice(repair)
    lan = lan_of(interface, group)

    from penstock.cli.progress import Speed, progress_line
    from penstock.live.cast.cast_keys import NO_KEYS
    from penstock.live.cast.cast_sender import CastSender
    from penstock.live.cast.send_state import SendState
    from penstock.live.cast.ticket import keys_of

    source = _hashed(path, is_shown=not as_json)
    state = SendState(path, name)
    ticket = None if insecure else state.ticket
    speed = Speed()
    senders: list[CastSender] = []

    async def program() -> CastOutcome:
        def line() -> str:
            return _progress_text(senders[0].progress, receivers, speed) if senders else ""

        with progress_line(line, is_shown=not as_json) as say:
            sender = CastSender(
                source,
                name,
                receivers=receivers,
                wait_s=wait_s,
                rate_bps=rate_bps,
                rate_min_bps=rate_min_bps,
                repair=choice,
                keys=NO_KEYS if ticket is None else keys_of(ticket),
                lan=lan,
                node=state.node,
                boot=state.boot,
                note=say,
            )
            senders.append(sender)
            say(f"receivers run: {_receivers_command(name, ticket, group)}")
            if state.is_resumed:
                say("this goes on with the last run: receivers that still wait need nothing else")
            return await sender.run(timeout_s=timeout_s)

    try:
        outcome = run_stoppable(program())
        if outcome is not None and outcome.done and not outcome.failed:
            state.forget()
    finally:
        state.close()
        source.close()
    if outcome is None:
        again = "repeat the command, and theirs, to go on"
        raise StoppedError(
            f"stopped; receivers keep what they have: {again}"
            if state.is_kept or ticket is None
            else "stopped; the ticket could not be kept: the next run has another one"
        )
    _tell(outcome, name, receivers, as_json=as_json)
    if outcome.failed or not outcome.done:
        raise typer.Exit(1)


def _hashed(path: Path, *, is_shown: bool) -> ObjectSource:
    from contextlib import nullcontext

    from penstock.cli.progress import progress_of_bytes
    from penstock.live.cast.object_source import ObjectSource

    total_bytes = path.stat().st_size if path.is_file() else 0
    bar = progress_of_bytes("hashing", total_bytes) if is_shown else nullcontext(_ignore)
    with bar as advance:
        before = 0

        def on_progress(done: int, _total: int) -> None:
            nonlocal before
            advance(done - before)
            before = done

        return ObjectSource.of(path, on_progress=on_progress)


def _ignore(_size_bytes: int) -> None:
    """Nothing is shown."""


def _receivers_command(name: str, ticket: str | None, group: str) -> str:
    """What receivers run, with what they need of this command's options."""
    import shlex

    words = ["penstock", "cast", "receive", name if ticket is None else f"{name}:{ticket}"]
    options = ["--insecure"] if ticket is None else []
    if group != GROUP:
        options += ["--group", group]
    return shlex.join([*words, "DIRECTORY", *options])


def _progress_text(progress: SenderProgress, receivers: int, speed: Speed) -> str:
    from penstock.cli.stream.texts import some

    joined = some(progress.joined, "receiver")
    if not progress.has_begun:
        of = f" of {receivers:,}" if receivers else ""
        return f"waiting for receivers: {progress.joined:,}{of} joined"
    if not progress.joined:
        return "all receivers have left: waiting until one comes back"
    rate = speed.of(progress.sent_bytes)
    sent = f"{progress.sent_bytes / 1e6:,.1f} MB sent of {progress.total_bytes / 1e6:,.1f} MB"
    repairs = f", repairs {progress.generation}" if progress.generation else ""
    return f"{joined}, {progress.done:,} done: {sent}{repairs}, {rate / 1e6:,.1f} MB/s"


def _tell(outcome: CastOutcome, name: str, receivers: int, *, as_json: bool) -> None:
    from dataclasses import asdict

    from penstock.cli.stream.texts import size, some

    if as_json:
        print_json({"item": name, **asdict(outcome)})
    else:
        have = "has" if outcome.done == 1 else "have"
        took = f"{size(outcome.bytes)}, in {outcome.seconds:.1f} s"
        typer.echo(f"{some(outcome.done, 'receiver')} {have} {name}, {took}")
    if outcome.failed:
        have = "has" if len(outcome.failed) == 1 else "have"
        typer.echo(
            f"{_named(outcome.failed)} {have} not got it: repeat this command, and theirs;"
            " they keep what they have",
            err=True,
        )
    missing = receivers - outcome.done - len(outcome.failed)
    if missing > 0:
        typer.echo(f"{missing:,} of {some(receivers, 'receiver')} did not join", err=True)


def _named(failed: tuple[FailedReceiver, ...]) -> str:
    """Who they are, and why; with their addresses where names do not tell."""
    names = [each.name for each in failed]
    shown = [
        f"{each.name} ({each.reason})"
        if names.count(each.name) == 1
        else f"{each.name} at {each.address} ({each.reason})"
        for each in failed[:_NAMED_MAX]
    ]
    more = len(failed) - len(shown)
    return f"{', '.join(shown)}{f' and {more:,} more' if more else ''}"


def _repair_choice(name: str) -> RepairChoice:
    from penstock.wire.frames.cast.transfer import RepairChoice

    choices = {choice.name.lower(): choice for choice in RepairChoice}
    if name not in choices:
        raise UsageError(f"--repair {name!r} is none of {', '.join(choices)}")
    return choices[name]
