"""The commands of streams for operators."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import sys
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from penstock import streams
from penstock.cli import output, progress
from penstock.cli.main import app
from penstock.cli.stream import session, status

from .broker_thread import running_broker
from .conftest import Penstock


def only(rows: list[Any], name: str) -> Any:
    (found,) = [row for row in rows if row["name"] == name]
    return found


def read(penstock: Penstock, stream: str, durable: str, count: int, *options: str) -> None:
    start = ["--durable", durable, "--start", "first", "--count", str(count)]
    penstock("subscribe", stream, *start, *options)


def test_streams_are_created_with_limits_listed_and_deleted(penstock: Penstock) -> None:
    limits = ["--retention-size", "1GB", "--retention-age", "none", "--overflow", "drop"]
    created = penstock("create", "limited", *limits, "--slow-host", "lag")
    assert created.stdout == "stream limited is there now (1GB, any age, drop, lag)\n"
    again = penstock("create", "limited", "--json", code=1)
    assert again.stderr == "stream limited was there already, and stays as it is\n"
    found = json.loads(again.stdout)
    assert (found["name"], found["is_created"]) == ("limited", False)
    assert found["retention"]["size_bytes"] == 1_000_000_000
    listed = only(json.loads(penstock("list", "--json").stdout)["streams"], "limited")
    assert listed["retention"] == {
        "size_bytes": 1_000_000_000,
        "age_seconds": None,
        "overflow": "drop",
    }
    assert listed["slow_host"] == "lag"
    assert (listed["is_here"], listed["messages"], listed["held_by"]) == (True, 0, None)
    assert "limited\t0\t0 B\t1GB, any age, drop, lag\tnobody\n" in penstock("list").stdout
    changed = penstock("create", "limited", "--retention-size", "2GB", "--change")
    assert changed.stdout == "stream limited is changed (2GB, any age, drop, lag)\n"
    assert penstock("delete", "limited").stdout == "stream limited is deleted\n"
    assert "limited" not in penstock("list").stdout
    refused = penstock("delete", "limited", code=4).stderr
    assert refused.startswith(
        "penstock: no stream 'limited' is stored here: 'penstock stream list'"
    )
    change = ["create", "limited", "--retention-size", "2GB", "--change"]
    assert "no stream 'limited'" in penstock(*change, code=4).stderr
    as_json = json.loads(penstock(*change, "--json", code=4).stdout)
    assert (as_json["stream"], as_json["reason"]) == ("limited", "unknown_stream")
    assert as_json["error"].startswith("no stream 'limited' is stored here")
    assert json.loads(penstock("create", "new", "--json").stdout)["is_created"]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--retention-size", "0"], "--retention-size is 1 B or more"),
        (["--retention-size", "big"], "--retention-size is 1 B or more"),
        (["--retention-age", "-1s"], '--retention-age is a duration, not "-1s"'),
        (["--overflow", "burst"], "'--overflow': 'burst' is not one of 'refuse', 'drop'."),
        (["--change"], "--change changes limits: add --retention-size, --retention-age or"),
        (["--change", "--slow-host", "lag"], "--slow-host cannot be changed: leave it out"),
    ],
)
def test_limits_that_nothing_can_keep_are_refused(
    penstock: Penstock, options: list[str], text: str
) -> None:
    assert text in penstock("create", "x", *options, code=2).stderr


def test_a_name_with_other_characters_is_refused(penstock: Penstock) -> None:
    refused = penstock("create", "bad name", code=2).stderr
    assert refused.startswith("penstock: 'bad name' is no name of a stream: use 1 to 64 letters")
    assert refused.endswith("and begin with a letter or digit\n")
    publish = penstock("publish", "_x", "{}", "--create", code=2).stderr
    assert "'_x' is no name of a stream" in publish


def test_a_durable_name_with_spaces_is_quoted_in_tables(penstock: Penstock, stream: str) -> None:
    read(penstock, stream, "two words", 4)
    assert f"'two words'\t{stream}\t" in penstock("durables").stdout
    assert "'two words' at b1: holds " in penstock("list").stdout
    penstock("durables", "--delete", "two words")


@pytest.mark.parametrize("again", ["127.0.0.1:7998", "tcp://127.0.0.1:7998"])
def test_a_parent_is_named_once(penstock: Penstock, tmp_path: Path, again: str) -> None:
    options = ["--directory", str(tmp_path), "--parent", "127.0.0.1:7998", "--parent", again]
    assert penstock("broker", *options, code=2).stderr == (
        "penstock: --parent 127.0.0.1:7998 is there twice: leave one of them out\n"
    )


@pytest.mark.parametrize("parent", ["127.0.0.1:7999", "tcp://localhost:7999", "0.0.0.0:7999"])
def test_a_broker_is_not_its_own_parent(penstock: Penstock, tmp_path: Path, parent: str) -> None:
    options = ["--directory", str(tmp_path), "--listen", "127.0.0.1:7999", "--parent", parent]
    refused = penstock("broker", *options, code=2).stderr
    assert refused.endswith(
        f"penstock: parent {parent.removeprefix('tcp://')} is this broker itself, which listens at"
        " 127.0.0.1:7999: name another, or none\n"
    )


def test_a_port_in_use_is_said_once(penstock: Penstock, address: str, tmp_path: Path) -> None:
    options = ["--directory", str(tmp_path / "other"), "--listen", address]
    assert penstock("broker", *options, code=2).stderr == (
        f"penstock: cannot listen on {address}: Address already in use:"
        " stop what runs there, or choose another port\n"
    )


def test_durables_tell_how_far_they_are(penstock: Penstock, stream: str) -> None:
    read(penstock, stream, "exact", 4)
    found = only(json.loads(penstock("durables", "--json").stdout)["durables"], "exact")
    assert (found["streams"], found["host"], found["filter"]) == ([stream], "b1", "true")
    assert found["lag"]["messages"] == 6
    assert not found["lag"]["is_upper_bound"]
    assert (found["reader"], found["parked"], found["stopped"]) == (None, 0, None)
    assert f"exact\t{stream}\ttrue\t6\t" in penstock("durables").stdout
    held_by = only(json.loads(penstock("list", "--json").stdout)["streams"], stream)["held_by"]
    assert (held_by["host"], held_by["durables"]) == ("b1", ["exact"])
    # The row of a host follows its cursors a moment later.
    assert 6 <= held_by["messages"] <= 10
    assert penstock("durables", "--delete", "exact").stdout == "durable exact is deleted\n"
    assert "exact" not in penstock("durables").stdout
    assert "no durable 'exact'" in penstock("durables", "--delete", "exact", code=4).stderr


def test_a_durable_name_of_a_deleted_stream_says_so(penstock: Penstock, stream: str) -> None:
    read(penstock, stream, "bereft", 4)
    penstock("delete", stream)

    def found() -> Any:
        return only(json.loads(penstock("durables", "--json").stdout)["durables"], "bereft")

    assert (found()["deleted"], found()["lag"]["messages"]) == ([stream], None)
    shown = penstock("durables").stdout
    assert f"bereft\t{stream} (deleted)\ttrue\tnothing to read\t\t\tnobody since " in shown
    # Its first message is the next one of a stream that is created anew.
    penstock("publish", stream, '{"n": 1}', '{"n": 2}', "--create")
    assert (found()["deleted"], found()["lag"]["messages"]) == ([], 2)
    penstock("durables", "--delete", "bereft")


def test_seek_moves_a_cursor(penstock: Penstock, stream: str) -> None:
    read(penstock, stream, "moved", 5)

    def lag() -> int:
        rows = json.loads(penstock("durables", "--json").stdout)["durables"]
        return int(only(rows, "moved")["lag"]["messages"])

    assert lag() == 5
    assert penstock("seek", "moved", "first").stdout == "durable moved goes on from first\n"
    assert lag() == 10
    penstock("seek", "moved", "now")
    assert lag() == 0
    # Neither an option nor a cry for help.
    penstock("seek", "moved", "-2h")
    assert lag() == 10
    last = json.loads(penstock("publish", stream, '{"n": 10}', "--json").stdout)
    penstock("seek", "moved", last["last_position"])
    assert lag() == 0
    assert "is of another stream" in penstock("seek", "moved", "3f.1", code=4).stderr
    assert 'start cannot be "soon"' in penstock("seek", "moved", "soon", code=2).stderr
    assert "no durable 'nobody'" in penstock("seek", "nobody", "now", code=4).stderr


def test_status_shows_everything_at_once(penstock: Penstock, stream: str) -> None:
    read(penstock, stream, "behind", 7, "--name", "r1")
    found = json.loads(penstock("status", "--json").stdout)
    assert (found["type"], found["broker"]) == ("status", "b1")
    assert found["clients"] >= 1
    assert found["sync_p99_seconds"] >= found["sync_p50_seconds"] > 0
    assert found["oldest_gap_seconds"] is None
    assert only(found["durables"], "behind")["lag"]["messages"] == 3
    assert only(found["streams"], stream)["held_by"]["durables"] == ["behind"]
    shown = penstock("status").stdout
    assert shown.startswith("broker b1: ")
    assert "disk: syncs take " in shown
    assert "repairs: nothing is missing, " in shown
    assert "behind at b1: " in shown


def test_watching_prints_an_object_a_line_until_it_is_stopped(
    penstock: Penstock, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed: list[Any] = []

    def stop_at_the_third(document: object) -> None:
        printed.append(document)
        if len(printed) == 3:
            signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(status, "print_json", stop_at_the_third)
    penstock("status", "--watch", "--every", "100ms", "--json")
    assert [each["type"] for each in printed] == ["status"] * 3
    assert (
        "--every is 100 ms or more" in penstock("status", "--watch", "--every", "0", code=2).stderr
    )


def test_how_often_is_about_watching(penstock: Penstock) -> None:
    refused = penstock("status", "--every", "5s", code=2).stderr
    assert refused == "penstock: --every is about --watch: add --watch\n"


def test_a_name_without_parked_messages_says_so(penstock: Penstock, stream: str) -> None:
    read(penstock, stream, "sound", 1)
    assert penstock("parked", "sound").stderr == "durable sound has no parked messages\n"
    assert json.loads(penstock("parked", "sound", "--json").stdout)["messages"] == []
    assert penstock("parked", "sound", "--discard", "all").stdout == "0 messages deleted\n"
    assert (
        "no parked message 000000000000003f.1:"
        in penstock("parked", "sound", "--retry", "3f.1", code=4).stderr
    )
    assert '"x" is no position' in penstock("parked", "sound", "--discard", "x", code=2).stderr
    both = ["--retry", "all", "--discard", "all"]
    assert "exclude each other" in penstock("parked", "sound", *both, code=2).stderr


def park(address: str, stream: str, durable: str) -> None:
    """Lets the first message of a stream fail, and then one that is published behind it come."""

    async def main() -> None:
        options: Any = {"durable": durable, "start": "first", "attempts": 1, "poison": "park"}
        async with streams.connect(address) as node:
            orders = node.stream(stream)
            async with orders.subscribe(**options) as inbox:
                first = await anext(inbox)
                await first.fail("no good")
                await orders.publish({"n": 10})
                async for message in inbox:
                    if message["n"] == 10:
                        break

    asyncio.run(main())


def test_parked_messages_are_listed_handed_out_again_and_deleted(
    penstock: Penstock, address: str, stream: str
) -> None:
    park(address, stream, "parks")
    first, *others = json.loads(penstock("parked", "parks", "--json").stdout)["messages"]
    assert (first["attributes"], first["reason"], first["attempts"]) == ({"n": 0}, "no good", 1)
    shown = penstock("parked", "parks").stdout.splitlines()
    assert shown[0] == "position\tpublished\tattempts\treason\tmessage"
    assert shown[1].endswith('\tno good\t{"n": 0}')
    found = only(json.loads(penstock("durables", "--json").stdout)["durables"], "parks")
    assert (found["parked"], found["poison"]) == (1 + len(others), "park")
    assert "\tparked\n" in penstock("durables").stdout
    unread = penstock("parked", "parks", "--retry", first["position"], code=4)
    assert "nobody reads durable 'parks': start its reader" in unread.stderr
    deleted = penstock("parked", "parks", "--discard", first["position"])
    assert deleted.stdout == "1 message deleted\n"
    assert (
        "no parked message"
        in penstock("parked", "parks", "--discard", first["position"], code=4).stderr
    )
    penstock("parked", "parks", "--discard", "all")
    assert "has no parked messages" in penstock("parked", "parks").stderr


def test_a_host_is_forgotten_only_if_it_is_another_one(penstock: Penstock) -> None:
    assert "'b1' is this broker itself" in penstock("forget", "b1", code=4).stderr
    assert "no host 'b9' holds a stream" in penstock("forget", "b9", code=4).stderr


def test_on_a_terminal_it_asks_before_it_deletes(
    penstock: Penstock, stream: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def refuse(question: str, **_options: object) -> bool:
        asked.append(question)
        return False

    monkeypatch.setattr(session, "_stdin_is_terminal", lambda: True)
    monkeypatch.setattr(typer, "confirm", refuse)
    assert penstock("delete", stream, code=1).stderr == "nothing was changed\n"
    penstock("forget", "b9", code=1)
    penstock("durables", "--delete", "x", code=1)
    assert len(asked) == 3
    assert asked[0] == f"Delete stream {stream} with all its messages?"
    penstock("delete", stream, "--yes")


def test_check_reads_every_block(penstock: Penstock, tmp_path: Path) -> None:
    with running_broker(tmp_path, name="b2") as other:
        published = ["checked", '{"n": 1}', "--create", "--broker", other, "--json"]
        stored = json.loads(penstock("publish", *published).stdout)
        # Beside a broker, too.
        assert "checked (" in penstock("check", str(tmp_path)).stdout
    files = sorted(tmp_path.iterdir())
    sound = penstock("check", str(tmp_path))
    (log,) = json.loads(penstock("check", str(tmp_path), "--json").stdout)["logs"]
    assert (log["messages"], log["damage"], log["stream"]) == (1, [], "checked")
    label = f"checked ({log['pubend']}): "
    size, messages, verdict = sound.stdout.splitlines()
    assert re.fullmatch(rf"{re.escape(label)}1 segment, [0-9,]+ bytes, \d+ blocks?", size)
    assert messages == f"checked: 1 message at {log['first_position']}"
    assert log["last_position"] == log["first_position"] == stored["last_position"]
    assert verdict == "checked: sound"
    one = penstock("check", str(tmp_path / "logs" / log["pubend"])).stdout
    assert one == sound.stdout
    assert sorted(tmp_path.iterdir()) == files
    elsewhere = penstock("check", str(tmp_path.parent), code=2).stderr
    assert "is no log, nor the directory of a broker: name what" in elsewhere
    assert json.loads(penstock("check", "/no/such", "--json", code=2).stdout)["reason"] is None
    assert "is no directory" in penstock("check", "/no/such", code=2).stderr


def test_damage_is_a_line_that_says_where(penstock: Penstock, tmp_path: Path) -> None:
    with running_broker(tmp_path, name="b2") as other:
        for n in range(3):
            penstock("publish", "orders", f'{{"n": {n}}}', "--create", "--broker", other)
    (segment,) = tmp_path.glob("logs/*/*.log")
    data = bytearray(segment.read_bytes())
    # In the block of the second message.
    at = data.index(b"n", data.index(b"n", 512) + 512)
    data[at] ^= 1
    segment.write_bytes(data)
    lines = penstock("check", str(tmp_path), code=1).stdout.splitlines()
    (log,) = json.loads(penstock("check", str(tmp_path), "--json", code=1).stdout)["logs"]
    (place,) = log["damage"]
    before, behind = place["position_before"], place["position_behind"]
    assert f"orders: {segment.name} damaged at byte" in lines[2]
    assert lines[2].endswith(f": at most 1 message behind {before}")
    assert lines[1] == f"orders: 2 messages from {before} to {behind}"
    assert max(map(len, lines)) - len(segment.name) <= 100


@pytest.fixture(scope="module")
def two_brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """One that stores a stream, and one that reads it from there."""
    top, edge = tmp_path_factory.mktemp("top"), tmp_path_factory.mktemp("edge")
    with running_broker(top, name="top") as above:
        CliRunner().invoke(
            app, ["stream", "publish", "far", '{"n": 1}', '{"n": 2}', "--create", "--broker", above]
        )
        with running_broker(edge, name="edge", parents=(above,)) as below:
            yield above, below


def test_a_stream_elsewhere_is_read_but_not_written(
    penstock: Penstock, two_brokers: tuple[str, str]
) -> None:
    above, below = two_brokers
    at_edge = ["--broker", below]
    read(penstock, "far", "afar", 1, *at_edge)
    refused = penstock("publish", "far", "{}", *at_edge, code=4)
    assert f"stream 'far' is stored at {above}: publish there" in refused.stderr
    (listed,) = json.loads(penstock("list", "--json", *at_edge).stdout)["streams"]
    assert (listed["name"], listed["is_here"], listed["messages"]) == ("far", False, None)
    assert listed["taken_from"] == ["top"]
    row = "far\t\t\t\tanother broker stores it, taken from top\n"
    assert row in penstock("list", *at_edge).stdout
    assert "\nparents: linked to top\n" in penstock("status", *at_edge).stdout
    status = json.loads(penstock("status", "--json", *at_edge).stdout)
    assert (status["parents"], status["parents_away"]) == (["top"], 0)
    assert "parents" not in penstock("status", "--broker", above).stdout
    (durable,) = json.loads(penstock("durables", "--json", *at_edge).stdout)["durables"]
    assert (durable["host"], durable["lag"]["messages"]) == ("edge", 1)
    (stored,) = json.loads(penstock("list", "--json", "--broker", above).stdout)["streams"]
    assert (stored["held_by"]["host"], stored["held_by"]["durables"]) == ("edge", ["afar"])
    refused = penstock("forget", "edge", "--broker", above, code=4)
    assert "broker 'edge' is linked to this one: end it" in refused.stderr


def test_a_broker_that_listens_everywhere_is_said_to_be_where_its_child_has_reached_it(
    penstock: Penstock, tmp_path: Path
) -> None:
    with running_broker(tmp_path / "top", name="top", listen="0.0.0.0:0") as everywhere:
        port = everywhere.removeprefix("0.0.0.0:")
        penstock("publish", "wild", "{}", "--create", "--broker", f"127.0.0.1:{port}")
        with (
            running_broker(tmp_path / "e1", name="e1", parents=(f"localhost:{port}",)) as near,
            running_broker(tmp_path / "e2", name="e2", parents=(near,)) as far,
            running_broker(tmp_path / "e3", name="e3", parents=(f"0.0.0.0:{port}",)) as third,
        ):
            for edge, host in ((near, "localhost"), (far, "127.0.0.1"), (third, "127.0.0.1")):
                # From then on it knows the stream.
                penstock("subscribe", "wild", "--start", "first", "--count", "1", "--broker", edge)
                refused = penstock("publish", "wild", "{}", "--broker", edge, code=4)
                assert f"stream 'wild' is stored at {host}:{port}: publish there" in refused.stderr


def test_tables_on_a_terminal_have_at_most_100_columns(
    penstock: Penstock, stream: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read(penstock, stream, "a-name-of-more-than-a-few-characters", 1)
    monkeypatch.setattr(output, "on_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "200")
    for command in ("list", "durables", "status"):
        shown = penstock(command).stdout
        assert "│" in shown
        assert max(map(len, shown.splitlines())) <= 100


def test_progress_is_shown_on_a_terminal_and_wiped_out(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress, "_FIRST_S", 0.0)

    async def work() -> None:
        with progress.progress_of(lambda: 1_200):
            while "1,200 messages are on disk" not in terminal.getvalue():
                await asyncio.sleep(0)

    asyncio.run(work())
    assert terminal.getvalue().endswith("\r\x1b[K")
