"""`penstock stream check`: reads logs and says what is damaged."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.output import AsJson, print_json
from penstock.cli.stream.session import answers_in_json
from penstock.kernel.errors import UsageError

if TYPE_CHECKING:
    from penstock.live.log.check import LogReport


@answers_in_json
def check(
    directory: Annotated[Path, typer.Argument(help="The directory of a broker, or of one log.")],
    as_json: AsJson = False,
) -> None:
    """Reads every block of logs and says what is damaged; changes nothing.

    The exit code is 1 if anything is. A broker may be running meanwhile.

    \b
    Example:
      penstock stream check streams
    """
    from penstock.cli.progress import progress_of_bytes
    from penstock.live.guaranteed.directory import stream_names
    from penstock.live.log.check import check_log

    if not directory.is_dir():
        raise UsageError(f"{directory} is no directory: name that of a broker, or of one log")
    logs = directory / "logs"
    places = sorted(logs.iterdir()) if logs.is_dir() else [directory]
    streams = stream_names(directory if logs.is_dir() else directory.resolve().parent.parent)
    if not places and not as_json:
        typer.echo(f"{directory} has no streams")
    reports: dict[str, LogReport] = {}
    total_bytes = sum(file.stat().st_size for place in places for file in place.glob("*.log"))
    with progress_of_bytes("reading", total_bytes) as on_read:
        for place in places:
            log = place.resolve().name
            reports[log] = check_log(str(place), on_progress=_in_steps(on_read))
    if not as_json:
        for log, report in reports.items():
            first, *others = report.lines(partial(_position, log))
            stream = streams.get(log)
            typer.echo(f"{f'{stream} ({log})' if stream else log}: {first}")
            for line in others:
                typer.echo(f"{stream or log}: {line}")
    is_sound = all(report.is_sound for report in reports.values())
    if as_json:
        logs_json = [_log_json(log, streams.get(log), report) for log, report in reports.items()]
        print_json({"directory": str(directory), "is_sound": is_sound, "logs": logs_json})
    if not is_sound:
        raise typer.Exit(1)


def _log_json(log: str, stream: str | None, report: LogReport) -> dict[str, object]:
    return {
        "pubend": log,
        "stream": stream,
        "is_sound": report.is_sound,
        "segments": report.segments,
        "blocks": report.blocks,
        "messages": report.messages,
        "size_bytes": report.size_bytes,
        "torn_bytes": report.torn_bytes,
        "first_position": _position_or_none(log, report.first_tick),
        "last_position": _position_or_none(log, report.last_tick),
        "trimmed_upto": _position_or_none(log, report.trimmed_upto),
        "damage": [
            {
                "segment": each.segment,
                "offset": each.offset,
                "size_bytes": each.size_bytes,
                "messages_max": each.messages,
                "position_before": _position_or_none(log, each.tick_before),
                "position_behind": _position_or_none(log, each.tick_behind or 0),
            }
            for each in report.damage
        ],
    }


def _position(log: str, tick: int) -> str:
    """As all commands write it, where the directory has the name that its broker gave it."""
    from penstock.api.position import Position

    try:
        return str(Position(int(log, 16), tick))
    except ValueError:
        return f"tick {tick:x}"


def _position_or_none(log: str, tick: int) -> str | None:
    return _position(log, tick) if tick else None


def _in_steps(on_read: Callable[[int], None]) -> Callable[[int, int], None]:
    """Tells of what was read since the last time."""
    told_bytes = 0

    def on_progress(read_bytes: int, _total_bytes: int) -> None:
        nonlocal told_bytes
        on_read(read_bytes - told_bytes)
        told_bytes = read_bytes

    return on_progress
