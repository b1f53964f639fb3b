"""`penstock broker`, `publish` and `subscribe` as real processes."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from base64 import b64decode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import pytest
from typer.testing import CliRunner

from penstock.cli.main import app

RUN = [sys.executable, "-c", "from penstock.cli.main import run; run()"]
DEADLINE_S = 60
# Loopback addresses that nobody else uses; at the second nobody listens, ever.
HERE, NOWHERE = "127.78.0.1:7401", "127.78.0.2:7401"
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


def end(
    process: subprocess.Popen[str], how: signal.Signals = signal.SIGINT, *, code: int = 0
) -> tuple[str, str]:
    process.send_signal(how)
    out, err = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == code, err
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
    assert (message["number"], message["fate"], message["waited_ms"]) == (0, "delivered", 0)
    assert 0 <= message["epoch"] < 2**16
    assert b64decode(message["payload"]).decode() == "é"
    assert end(subscriber) == ("", "1 delivered, 0 late, 0 lost\n")
    out, _ = end(broker)
    assert out == "broker 1 ends: 2 frames published, 1 delivered, nobody had asked for 1\n"


def test_lines_go_in_and_come_out_the_same(start: Start) -> None:
    _, address = begin_broker(start)
    subscriber = begin_subscriber(start, address, "exists n", "--count", "3")
    given = '{"n": 1}\n\n{"n": 2}\n{"m": 5}\n{"n": 3}'
    done = penstock("publish", "--broker", address, "--publisher", "7", given=given)
    assert done.stderr == "4 sent\n"
    out, err = subscriber.communicate(timeout=DEADLINE_S)
    assert out == '{"n": 1}\n{"n": 2}\n{"n": 3}\n'
    assert err == "3 delivered, 0 late, 0 lost\n"
    assert subscriber.returncode == 0


def test_nothing_is_lost_while_nobody_reads(start: Start) -> None:
    _, address = begin_broker(start)
    count = 3_000
    subscriber = begin_subscriber(start, address, "exists n", "--full", "--count", str(count))
    given = "".join(f'{{"n": {number}}}\n' for number in range(count))
    done = penstock("publish", "--broker", address, "--rate", "1500", given=given)
    assert done.stderr == f"{count} sent\n"
    # Several times what a pipe holds has come; only now it is read.
    out, err = subscriber.communicate(timeout=DEADLINE_S)
    assert [json.loads(line)["attributes"]["n"] for line in out.splitlines()] == [*range(count)]
    assert len(out) > 4 * 65_536
    assert err == f"{count} delivered, 0 late, 0 lost\n"


def test_what_nobody_read_is_told_however_it_is_stopped(start: Start) -> None:
    _, address = begin_broker(start)
    subscriber = begin_subscriber(start, address, "exists n", "--full")
    count = 3_000
    given = "".join(f'{{"n": {number}}}\n' for number in range(count))
    assert penstock("publish", "--broker", address, "--rate", "1500", given=given).returncode == 0
    # Nobody reads: what is left does not go into the pipe, and who is in a hurry says so twice.
    for _ in range(2):
        subscriber.send_signal(signal.SIGINT)
        time.sleep(0.3)
    subscriber.wait(DEADLINE_S)
    out, err = subscriber.communicate()
    printed = len(out.splitlines())
    assert 0 < printed < count
    rest = f"{count - printed} not printed because nobody read them"
    assert err == f"{printed} delivered, 0 late, 0 lost, {rest}\n"
    assert subscriber.returncode == 0


def test_whoever_reads_may_go_first(start: Start) -> None:
    _, address = begin_broker(start)
    subscriber = begin_subscriber(start, address, "exists n")
    assert subscriber.stdout is not None
    subscriber.stdout.close()
    penstock("publish", "--broker", address, '{"n": 1}')
    assert subscriber.wait(DEADLINE_S) == 128 + signal.SIGPIPE
    assert subscriber.stderr is not None
    said = "0 delivered, 0 late, 0 lost, 1 not printed because nobody read them\n"
    assert subscriber.stderr.read() == said


def test_a_pipe_that_nobody_writes_to_can_be_waited_for_and_left(
    start: Start, tmp_path: Path
) -> None:
    _, address = begin_broker(start)
    os.mkfifo(tmp_path / "pipe")
    subscriber = begin_subscriber(start, address, "exists n")
    publisher = start("publish", f"@{tmp_path}/pipe", "--broker", address, "--json")
    with (tmp_path / "pipe").open("w") as pipe:
        pipe.write('{"n": 1}\n')
        pipe.flush()
        assert first_line(subscriber.stdout) == '{"n": 1}\n'
        out, _ = end(publisher)
    assert json.loads(out)["sent"] == 1


def test_a_file_that_cannot_be_read_does_not_keep_others(start: Start, tmp_path: Path) -> None:
    _, address = begin_broker(start)
    given = (f"@{tmp_path}", '{"n": 1}')
    done = penstock("publish", *given, "--broker", address, "--control")
    assert done.returncode == 2
    complaint = f"penstock: @{tmp_path}: cannot read '{tmp_path}': Is a directory"
    assert done.stderr == f"{complaint}\n1 sent\n"


def test_congestion_control_on_both_sides(start: Start) -> None:
    _, address = begin_broker(start)
    subscriber = begin_subscriber(start, address, "exists n", "--control", "--count", "500")
    given = "".join(f'{{"n": {number}}}\n' for number in range(500))
    # It begins with a hundred a second: the last ones wait for their turn, and leave.
    done = penstock("publish", "--broker", address, "--control", given=given)
    assert done.stderr == "500 sent\n"
    out, _ = subscriber.communicate(timeout=DEADLINE_S)
    assert [json.loads(line)["n"] for line in out.splitlines()] == [*range(500)]


def test_what_still_waits_when_a_publisher_is_stopped_is_told(start: Start) -> None:
    _, address = begin_broker(start)
    subscriber = begin_subscriber(start, address, "exists n")
    publisher = start("publish", "-", "--broker", address, "--control", "--json")
    assert publisher.stdin is not None
    publisher.stdin.write('{"n": 1}\n' * 6_000)
    publisher.stdin.flush()
    assert first_line(subscriber.stdout) == '{"n": 1}\n'
    out, _ = end(publisher, code=1)
    told = json.loads(out)
    assert 0 < told["sent"] < 6_000
    # Sixty seconds' worth, at the rate that it begins with.
    assert told["unsent"] > 0


def test_bad_messages_are_reported_and_passed_over(start: Start) -> None:
    _, address = begin_broker(start)
    done = penstock(
        "publish", "--broker", address, "--json", "--rate", "1000", "-", '{"x": [1]}',
        given='\ufeff{"x": 1}\nnonsense\n{"x": 2}\n',
    )  # fmt: skip
    assert done.returncode == 2
    told = json.loads(done.stdout)
    assert (told["sent"], told["unanswered"]) == (2, 0)
    assert [bad["where"] for bad in told["bad"]] == ["message 2", "line 2"]
    argument, line = done.stderr.splitlines()
    assert argument.startswith("penstock: message 2: attribute 'x'")
    assert line.startswith("penstock: line 2: not JSON")


def test_brokers_form_a_network(start: Start) -> None:
    # Each must be told where the other is; on a loopback address of our own all ports are free.
    host = f"127.77.{os.getpid() >> 8 & 255}.{os.getpid() & 255}"
    one, two = f"{host}:7401", f"{host}:7402"
    brokers = []
    for number, (own, other) in enumerate([(one, two), (two, one)], start=1):
        process = start("broker", "--listen", own, "--number", str(number), "--neighbour", other)
        assert first_line(process.stdout) == f"broker {number} listens at {own}\n"
        brokers.append(process)
    for process, other in zip(brokers, (two, one), strict=True):
        assert process.stdout is not None
        news = [process.stdout.readline()]
        if "silent" in news[0]:
            # The other took its time to start.
            news.append(process.stdout.readline())
        assert news[-1] == f"neighbour {other} answers\n"
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


def test_a_broker_that_dies_is_missed(start: Start) -> None:
    broker, address = begin_broker(start)
    publisher = start("publish", "--broker", address)
    subscriber = begin_subscriber(start, address, "x >= 0")
    assert publisher.stdin is not None
    publisher.stdin.write('{"x": 1}\n')
    publisher.stdin.flush()
    assert first_line(subscriber.stdout) == '{"x": 1}\n'
    end(broker)
    for process in (publisher, subscriber):
        assert first_line(process.stderr) == f"broker at {address} is silent\n"
    publisher.stdin.write('{"x": 2}\n')
    publisher.stdin.flush()
    again = start("broker", "--listen", address)
    assert first_line(again.stdout) == f"broker 1 listens at {address}\n"
    for process in (publisher, subscriber):
        assert first_line(process.stderr) == f"broker at {address} is back\n"
    _, err = end(publisher)
    # The first is among them if the broker died before it could answer once more.
    assert err in {f"2 sent, {n} while nobody answered\n" for n in (1, 2)}


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["broker", "--listen", "nowhere"], "--listen: an address is HOST:PORT"),
        (["broker", "--neighbour", "127.0.0.1:7401"], "brokers with neighbours need numbers"),
        (
            ["broker", "--listen", "127.0.0.1:0", "--number", "4294967296"],
            "Invalid value for '--number'",
        ),
        (
            ["broker", "--number", "1", "--listen", HERE, "--neighbour", HERE],
            f"--neighbour: a broker is no neighbour of itself: leave {HERE} out",
        ),
        (["publish", "--rate", "0", "{}"], "--rate must be above 0 messages a second, not 0"),
        (["publish", "--record", "256", "{}"], "Invalid value for '--record'"),
        (["publish", "--broker", "tcp://127.0.0.1:1", "{}"], "--broker: only UDP is spoken here"),
        (["publish", "--scope", "here", "{}"], "--scope says who is given what was lost: add --re"),
        (["publish", "--recover", "--scope", "", "{}"], "scope is a word, or None for none"),
        (["publish", "--linger", "2", "{}"], "--linger is for who lost a message: add --recover"),
        (["publish", "--recover", "--linger", "inf", "{}"], "--linger is a number of seconds"),
        (["publish", "--recover", "--linger", "-1", "{}"], "Invalid value for '--linger'"),
        (["subscribe", "price <"], "column"),
        (["subscribe", "x = 1", "--scope", "here"], "--scope says who is given what was lost"),
        (["subscribe", "x = 1", "--recover", "--scope", ""], "scope is a word, or None for none"),
        (["subscribe", "x = 1", "--json"], "subscribe prints JSON as it is"),
        (["subscribe", "x = 1", "--max-delay", "3"], "Invalid value for '--max-delay'"),
        (["subscribe", "x = 1", "--violation-probability", "0"], "a violation probability lies"),
        *[
            (["subscribe", "x = 1", "--unordered", *option], f"has no use for {option[0]}:")
            for option in (
                ["--violation-probability", "0.1"],
                ["--max-delay", "0.1"],
                ["--late", "deliver"],
                ["--cautious"],
                ["--missing"],
            )
        ],
        (["subscribe", "x = 1", "--late", "never"], "Invalid value for '--late'"),
        (["cache", "price <"], "column"),
        (["cache", "x = 1", "--scope", ""], "scope is a word, or None for none"),
        (["cache", "x = 1", "--keep", "0"], "Invalid value for '--keep'"),
        (["cache", "x = 1", "--every", "0"], "--every must be above 0 seconds, not 0"),
    ],
)
def test_a_mistake_is_one_line(arguments: list[str], complaint: str) -> None:
    result = CliRunner().invoke(app, arguments, prog_name="penstock")
    assert (result.exit_code, result.stdout) == (2, "")
    first, *picture = result.stderr.splitlines()
    assert first.startswith("penstock: ")
    assert complaint in first
    assert all(line.startswith("  ") for line in picture)


@pytest.mark.parametrize(
    "arguments", [["publish", "{}"], ["subscribe", "x = 1"], ["cache", "x = 1"]]
)
def test_a_broker_that_does_not_answer_is_one_line_and_exits_with_4(arguments: list[str]) -> None:
    command = [*arguments, "--broker", NOWHERE, "--timeout", "0.01"]
    result = CliRunner().invoke(app, command, prog_name="penstock")
    assert (result.exit_code, result.stdout) == (4, "")
    assert result.stderr.startswith(f"penstock: no broker answers at {NOWHERE}")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("command", ["broker", "publish", "subscribe", "cache"])
def test_help_has_an_example(command: str) -> None:
    result = CliRunner().invoke(app, [command, "--help"], prog_name="penstock")
    assert result.exit_code == 0
    assert f"Example:\n    penstock {command} " in result.stdout
