"""`penstock broker`, `publish` and `subscribe` as real processes."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from base64 import b64decode
from collections.abc import Callable, Iterator
from typing import IO

import pytest
from typer.testing import CliRunner

from penstock.cli.main import app

RUN = [sys.executable, "-c", "from penstock.cli.main import run; run()"]
DEADLINE_S = 60
ENVIRONMENT = {**os.environ, "PYTHONWARNINGS": "error", "PYTHONUNBUFFERED": "1"}

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts commands that last, and ends those that a test leaves behind."""
    started: list[subprocess.Popen[str]] = []

    def begin(*arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [*RUN, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=ENVIRONMENT,
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def first_line(stream: IO[str] | None) -> str:
    """Of a stream that was not read before."""
    assert stream is not None
    assert select.select([stream], [], [], DEADLINE_S)[0], "nothing was said"
    return stream.readline()


def begin_broker(start: Start, *arguments: str) -> tuple[subprocess.Popen[str], str]:
    """A broker that listens, and where."""
    process = start("broker", "--listen", "127.0.0.1:0", *arguments)
    return process, first_line(process.stdout).rpartition(" ")[2].strip()


def penstock(*arguments: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*RUN, *arguments],
        input=given,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
        env=ENVIRONMENT,
    )


def end(process: subprocess.Popen[str], how: signal.Signals = signal.SIGINT) -> tuple[str, str]:
    process.send_signal(how)
    out, err = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 0, err
    return out, err


def begin_subscriber(start: Start, broker: str, *arguments: str) -> subprocess.Popen[str]:
    """One that has told its broker what it wants."""
    process = start("subscribe", *arguments, "--broker", broker)
    assert first_line(process.stderr) == f"subscribed at {broker}\n"
    return process


def test_a_broker_ends_well_when_its_supervisor_says_so(start: Start) -> None:
    process, address = begin_broker(start)
    assert address.startswith("127.0.0.1:")
    assert end(process, signal.SIGTERM) == ("broker 1 ends: nothing happened\n", "")


def test_from_publish_to_subscribe(start: Start) -> None:
    broker, address = begin_broker(start)
    subscriber = begin_subscriber(start, address, "price < 120", "--full", "--max-delay", "0.2")
    messages = ('{"price": 101.5}', '{"price": 130}')
    done = penstock("publish", *messages, "--broker", address, "--payload", "é")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "2 sent\n")
    message = json.loads(first_line(subscriber.stdout))
    assert message["attributes"] == {"price": 101.5}
    assert (message["number"], message["fate"]) == (0, "delivered")
    assert b64decode(message["payload"]).decode() == "é"
    assert end(subscriber) == ("", "")
    out, _ = end(broker)
    assert out == "broker 1 ends: published 2, delivered 1, filtered 1\n"


def test_lines_go_in_and_come_out_the_same(start: Start) -> None:
    _, address = begin_broker(start)
    subscriber = begin_subscriber(start, address, "exists n", "--count", "3")
    given = '{"n": 1}\n\n{"n": 2}\n{"m": 5}\n{"n": 3}'
    done = penstock("publish", "--broker", address, "--publisher", "7", given=given)
    assert done.stderr == "4 sent\n"
    out, err = subscriber.communicate(timeout=DEADLINE_S)
    assert (out, err) == ('{"n": 1}\n{"n": 2}\n{"n": 3}\n', "")
    assert subscriber.returncode == 0


def test_bad_messages_are_reported_and_passed_over(start: Start) -> None:
    _, address = begin_broker(start)
    done = penstock(
        "publish", "--broker", address, "--json", "--rate", "1000", "-", '{"x": [1]}',
        given='\ufeff{"x": 1}\nnonsense\n{"x": 2}\n',
    )  # fmt: skip
    assert done.returncode == 2
    told = json.loads(done.stdout)
    assert told["sent"] == 2
    assert [bad["where"] for bad in told["bad"]] == ["line 2", "message 2"]
    assert done.stderr.startswith("penstock: line 2: not JSON")
    assert done.stderr.count("\n") == 2


def test_brokers_form_a_network(start: Start) -> None:
    # Each must be told where the other is; on a loopback address of our own all ports are free.
    host = f"127.77.{os.getpid() >> 8 & 255}.{os.getpid() & 255}"
    one, two = f"{host}:7401", f"{host}:7402"
    for number, (own, other) in enumerate([(one, two), (two, one)], start=1):
        process = start("broker", "--listen", own, "--number", str(number), "--neighbour", other)
        assert first_line(process.stdout) == f"broker {number} listens at {own}\n"
    subscriber = begin_subscriber(start, two, "x = 1")
    assert subscriber.stdout is not None
    # The other broker may not have heard of the subscription yet, and nobody tells.
    while not select.select([subscriber.stdout], [], [], 0)[0]:
        assert penstock("publish", "--broker", one, '{"x": 1}').returncode == 0
    assert first_line(subscriber.stdout) == '{"x": 1}\n'


def test_a_broker_tells_programs_what_it_did(start: Start) -> None:
    process = start("broker", "--listen", "127.0.0.1:0", "--json")
    assert first_line(process.stderr).startswith("broker 1 listens at 127.0.0.1:")
    out, _ = end(process)
    told = json.loads(out)
    assert (told["broker"], told["counters"]["broker"]["published"]) == (1, 0)


def test_a_publisher_that_waits_for_input_ends_well(start: Start) -> None:
    _, address = begin_broker(start)
    subscriber = begin_subscriber(start, address, "x = 1")
    publisher = start("publish", "--broker", address)
    assert publisher.stdin is not None
    publisher.stdin.write('{"x": 1}\n')
    publisher.stdin.flush()
    assert first_line(subscriber.stdout) == '{"x": 1}\n'
    publisher.send_signal(signal.SIGINT)
    out, err = publisher.communicate(timeout=DEADLINE_S)
    assert (publisher.returncode, out, err) == (0, "", "1 sent\n")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["broker", "--listen", "nowhere"], "an address is HOST:PORT"),
        (["broker", "--neighbour", "127.0.0.1:7401"], "brokers with neighbours need numbers"),
        (["broker", "--listen", "127.0.0.1:0", "--number", "4294967296"], "broker must be 0 to"),
        (["publish", "--rate", "0", "{}"], "--rate must be above 0"),
        (["publish", "--broker", "tcp://127.0.0.1:1", "{}"], "only UDP is spoken here"),
        (["subscribe", "price <"], "column"),
        (["subscribe", "x = 1", "--unordered", "--violation-probability", "0.1"], "--unordered"),
        (["subscribe", "x = 1", "--late", "never"], "Invalid value for '--late'"),
    ],
)
def test_a_mistake_is_one_line(arguments: list[str], complaint: str) -> None:
    result = CliRunner().invoke(app, arguments, prog_name="penstock")
    assert (result.exit_code, result.stdout) == (2, "")
    first, *picture = result.stderr.splitlines()
    assert first.startswith("penstock: ")
    assert complaint in first
    assert all(line.startswith("  ") for line in picture)


@pytest.mark.parametrize("command", ["broker", "publish", "subscribe"])
def test_help_has_an_example(command: str) -> None:
    result = CliRunner().invoke(app, [command, "--help"], prog_name="penstock")
    assert result.exit_code == 0
    assert f"Example:\n    penstock {command} " in result.stdout
