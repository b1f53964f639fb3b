"""`publish` and `subscribe` of streams."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.live.loopback import DEADLINE_S

from .broker_thread import running_broker
from .conftest import Penstock

RUN = [sys.executable, "-c", "from penstock.cli.main import run; run()"]


def numbers(output: str) -> list[int]:
    return [json.loads(line)["n"] for line in output.splitlines()]


def test_publish_says_how_many_are_on_disk(penstock: Penstock) -> None:
    done = penstock("publish", "says", '{"n": 1}', '{"n": 2}', "--create")
    assert (done.stdout, done.stderr) == ("", "2 messages are on disk\n")
    as_json = json.loads(penstock("publish", "says", '{"n": 3}', "--json").stdout)
    assert (as_json["stream"], as_json["stored"], as_json["refused"]) == ("says", 1, None)
    assert as_json["first_position"] == as_json["last_position"]


def test_lines_of_a_file_that_cannot_be_read_are_passed_over(
    penstock: Penstock, tmp_path: Path
) -> None:
    file = tmp_path / "orders.jsonl"
    file.write_text('{"n": 1}\n\nnonsense\n{"n": 2}\n')
    done = penstock("publish", "lines", f"@{file}", "--create", "--payload", "text", code=2)
    assert f"penstock: {file}: line 3: not JSON" in done.stderr
    assert done.stderr.endswith("2 messages are on disk, 1 line could not be read\n")
    printed = penstock("subscribe", "lines", "--start", "first", "--count", "2", "--long").stdout
    first, second = map(json.loads, printed.splitlines())
    assert (first["attributes"], second["attributes"]) == ({"n": 1}, {"n": 2})
    assert (first["type"], first["payload"], first["attempt"]) == ("message", "dGV4dA==", 1)


def test_a_message_that_is_too_large_was_not_sent(penstock: Penstock, tmp_path: Path) -> None:
    payload = tmp_path / "payload"
    payload.write_bytes(bytes(1 << 20))
    arguments = ["large", '{"n": 1}', "--payload", f"@{payload}", "--create"]
    done = penstock("publish", *arguments, code=2)
    first, second = done.stderr.splitlines()
    wanted = r"penstock: message 1: the message is too large, 1,048,5\d\d bytes: .* have 1,048,576 "
    assert re.match(wanted, first)
    assert second == "0 messages are on disk, 1 message was not sent"


def test_a_full_stream_names_the_command_that_gives_it_room(
    penstock: Penstock, tmp_path: Path
) -> None:
    with running_broker(tmp_path, name="b3") as address:
        at = ["--broker", address]
        penstock("create", "small", "--retention-size", "20kB", *at)
        penstock("publish", "small", '{"n": 0}', *at)
        name = ["--durable", "slow", "--start", "first", "--ack", "manual", "--count", "1"]
        penstock("subscribe", "small", *name, *at)
        more = [f'{{"n": {n}}}' for n in range(9)]
        refused = penstock("publish", "small", *more, "--payload", "x" * 9_000, *at, code=4)
        as_json = penstock(
            "publish", "small", *more, "--payload", "x" * 9_000, *at, "--json", code=4
        )
    advice = "or write 'penstock stream create small --retention-size SIZE --change'"
    assert refused.stderr.endswith(f"{advice}\n")
    summary, why = refused.stderr.splitlines()
    assert re.fullmatch("2 messages are on disk, [1-7] (was|were) refused", summary)
    found = json.loads(as_json.stdout)
    assert (found["stored"], found["unconfirmed"]) == (0, 0)
    assert 1 <= found["refused"]["messages"] <= 9
    assert found["refused"]["reason"] == "stream_full"
    assert found["refused"]["error"].endswith(advice)
    assert why.endswith(advice)
    assert found["error"].endswith(advice)


def test_json_is_printed_whatever_is_wrong(penstock: Penstock) -> None:
    bad = json.loads(penstock("publish", "x", '{"n": 1}', "oops", "--json", code=2).stdout)
    assert (bad["stream"], bad["stored"], bad["refused"]) == ("x", 0, None)
    (only,) = bad["bad"]
    assert (only["where"], only["error"][:8]) == ("message 2", "not JSON")
    assert bad["error"] == f"message 2: {only['error']}"
    away = ["--broker", "127.0.0.1:1", "--timeout", "0.1s", "--json"]
    unanswered = json.loads(penstock("publish", "x", "{}", *away, code=4).stdout)
    assert unanswered["error"].startswith("no broker answers at 127.0.0.1:1")


def test_json_of_a_reader_is_an_object_a_line_with_a_type(penstock: Penstock, stream: str) -> None:
    options = [stream, "--start", "first", "--count", "2"]
    printed = penstock("subscribe", *options, "--json").stdout
    assert printed == penstock("subscribe", *options, "--long").stdout
    first, second = map(json.loads, printed.splitlines())
    assert (first["type"], second["type"], second["attributes"]) == ("message", "message", {"n": 1})
    assert re.fullmatch("[0-9a-f]{16}[.][0-9a-f]+", first["position"])
    assert re.fullmatch(r"[0-9-]{10}T[0-9:]{8}\.[0-9]{6}Z", first["published_at"])


def test_readers_are_told_which_name_or_stream_was_deleted(
    penstock: Penstock, address: str
) -> None:
    """And which name another client has taken over, and what to do."""
    name = ["--durable", "told", "--takeover", "--start", "first"]
    environment = {**os.environ, "PENSTOCK_STREAMS": address}

    def reader(stream: str) -> subprocess.Popen[str]:
        started = subprocess.Popen(
            [*RUN, "stream", "subscribe", stream, *name],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            text=True,
        )
        assert started.stderr is not None
        assert started.stderr.readline().startswith(f"reads {stream} at ")
        return started

    def said(ended: subprocess.Popen[str]) -> str:
        told = ended.communicate(timeout=DEADLINE_S)[1].splitlines()[-1]
        assert ended.returncode == 4
        return told

    penstock("create", "told")
    first = reader("told")
    second = reader("told")
    assert said(first) == (
        "penstock: another client has taken durable 'told' over: end that one, or add --takeover"
    )
    penstock("durables", "--delete", "told")
    assert said(second) == (
        "penstock: durable 'told' has been deleted: subscribe again to begin anew"
    )
    third = reader("told")
    penstock("delete", "told")
    assert said(third) == (
        "penstock: stream 'told' has been deleted: create it, or read another one"
    )


def test_a_host_name_that_nobody_knows_is_named(
    penstock: Penstock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(*_arguments: object, **_options: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    at = ["--broker", "nowhere.invalid", "--timeout", "0.2s"]
    refused = penstock("publish", "x", "{}", *at, code=4).stderr
    assert "the host name 'nowhere.invalid' cannot be resolved: check the address" in refused


@pytest.mark.parametrize(
    ("arguments", "text", "code"),
    [
        (["nowhere", '{"n": 1}'], "message 1: no stream 'nowhere' here: create it", 4),
        (["x", "{"], "message 1: not JSON", 2),
        (["x", "@/no/such/file"], "cannot read '/no/such/file': No such file", 2),
        (["x", "{}", "--broker", "ftp://x"], "streams speak TCP", 2),
        (["x", "{}", "--broker", "127.0.0.1:1", "--timeout", "0.1s"], "no broker answers", 4),
        (["x", "{}", "--timeout", "soon"], 'timeout is a duration, not "soon"', 2),
        (["bad name", "{}"], "'bad name' is no name of a stream: use 1 to 64 letters", 2),
    ],
)
def test_what_cannot_be_published_is_one_line(
    penstock: Penstock, arguments: list[str], text: str, code: int
) -> None:
    assert text in penstock("publish", *arguments, code=code).stderr


def test_a_durable_name_goes_on_where_it_was(penstock: Penstock, stream: str) -> None:
    options = [stream, "--durable", "goes-on", "--start", "first", "--name", "r1"]
    first = penstock("subscribe", *options, "--count", "3")
    assert numbers(first.stdout) == [0, 1, 2]
    assert first.stderr.startswith(f"reads {stream} at 127.0.0.1:")
    second = penstock("subscribe", *options, "--count", "2")
    assert numbers(second.stdout) == [3, 4]
    assert re.match(f"reads {stream} at [0-9.:]+, from where goes-on was\n", second.stderr)
    assert second.stderr.endswith("2 messages\n")


def test_with_manual_acknowledgement_the_cursor_stays(penstock: Penstock, stream: str) -> None:
    options = [stream, "--durable", "stays", "--start", "first", "--ack", "manual"]
    for _ in range(2):
        assert numbers(penstock("subscribe", *options, "--count", "2").stdout) == [0, 1]


def test_another_filter_has_to_be_asked_for(penstock: Penstock, stream: str) -> None:
    options = [stream, "--durable", "other-filter", "--start", "first", "--count", "1"]
    penstock("subscribe", *options)
    refused = penstock("subscribe", *options[:1], "n > 5", *options[1:], code=4)
    assert refused.stderr.splitlines()[0] == (
        "penstock: durable 'other-filter' has another filter: add --change-filter"
    )
    changed = penstock("subscribe", *options[:1], "n > 5", *options[1:], "--change-filter")
    assert numbers(changed.stdout) == [6]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["n >"], "column 4: expected a value"),
        (["--start", "yesterday"], 'start cannot be "yesterday"'),
        (["--takeover"], "--takeover is about a durable name: add --durable NAME"),
        (["--expire", "x", "--durable", "d"], 'not "x": write a duration such as "30d"'),
        (["--expire", "1d"], "--expire is about a durable name: add --durable NAME"),
        (["--expire", "9e9s", "--durable", "d"], "expire is 1 s to 4,294,967,295 s, not"),
        (["--poison", "prk"], "'--poison': 'prk' is not one of 'stop', 'park'."),
        (["--start", "2026-11-18T10:00"], "has no time zone: write 2026-11-18T10:00:00Z for UTC"),
    ],
)
def test_what_cannot_be_read_is_one_line(
    penstock: Penstock, arguments: list[str], text: str
) -> None:
    assert text in penstock("subscribe", "x", *arguments, code=2).stderr


def test_where_messages_are_gone_it_ends_or_goes_on_behind_them(
    penstock: Penstock, tmp_path: Path
) -> None:
    name = ["--durable", "gappy", "--start", "first", "--count", "1"]
    # Whole segments of the log go, and the smallest has a megabyte.
    large = ["--payload", "x" * 100_000]
    with running_broker(tmp_path, name="b2") as address:
        at = ["--broker", address]
        penstock("create", "gappy", "--retention-size", "300kB", "--overflow", "drop", *at)
        penstock("publish", "gappy", '{"n": 0}', *large, *at)
        penstock("subscribe", "gappy", *name, *at)
        penstock("publish", "gappy", *(f'{{"n": {n}}}' for n in range(1, 61)), *large, *at)
        while json.loads(penstock("list", "--json", *at).stdout)["streams"][0]["messages"] > 10:
            # It is trimmed five times a second.
            pass
    # A broker that starts has nothing in its cache.
    with running_broker(tmp_path, name="b2") as address:
        at = ["--broker", address]
        ended = penstock("subscribe", "gappy", *name, *at, code=1)
        went_on = ["--on-gap", "continue", "--losses", "--fail-on-loss"]
        printed = penstock("subscribe", "gappy", *name, *went_on, *at, code=1)
    gone = r"stream 'gappy' gave up at most [0-9]+ messages that 'gappy' had not read"
    assert re.search(gone + ".*: add --on-gap continue to go on behind them\n", ended.stderr)
    assert ended.stdout == ""
    loss, message = map(json.loads, printed.stdout.splitlines())
    assert (loss["type"], loss["stream"], loss["reason"]) == ("loss", "gappy", "retention")
    assert 0 < loss["messages_max"] <= 60
    assert message["attributes"]["n"] > 1
    assert f"1 message, at most {loss['messages_max']} are gone" in printed.stderr


def test_a_pipe_is_published_line_by_line_and_a_signal_ends_reading(
    penstock: Penstock, address: str
) -> None:
    """Each line is stored before the next one is there; what was printed counts as read."""
    penstock("create", "piped")
    environment = {**os.environ, "PENSTOCK_STREAMS": address, "PYTHONWARNINGS": "error"}
    publish = subprocess.Popen(
        [*RUN, "stream", "publish", "piped", "--json"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
    )
    assert publish.stdin is not None
    publish.stdin.write(b'\xef\xbb\xbf{"n": 1}\n')
    publish.stdin.flush()
    options = ["piped", "--durable", "piped", "--start", "first"]
    subscribe = subprocess.Popen(
        [*RUN, "stream", "subscribe", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    )
    assert subscribe.stdout is not None
    assert subscribe.stdout.readline() == b'{"n": 1}\n'
    subscribe.send_signal(signal.SIGTERM)
    assert subscribe.communicate()[1].endswith(b"1 message\n")
    assert subscribe.returncode == 0
    said, _ = publish.communicate(b'{"n": 2}')
    assert (publish.returncode, json.loads(said)["stored"]) == (0, 2)
    assert numbers(penstock("subscribe", *options, "--count", "1").stdout) == [2]
