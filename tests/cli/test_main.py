"""The shell around the commands: help, versions, errors, exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import NoReturn

import pytest
import typer
from typer.testing import CliRunner, Result

from penstock import __version__
from penstock.cli import filter as filter_command
from penstock.cli.main import COMMANDS, app
from penstock.kernel.errors import PenstockError, RefusedError, UnreachableError

RUN = [sys.executable, "-c", "from penstock.cli.main import run; run()"]


def penstock(*arguments: str, debug: str | None = None) -> Result:
    runner = CliRunner(env={"PENSTOCK_DEBUG": debug})
    return runner.invoke(app, arguments, prog_name="penstock")


def test_the_version_is_printed() -> None:
    result = penstock("--version")
    assert (result.exit_code, result.stdout) == (0, f"penstock {__version__}\n")


def test_without_a_command_the_help_is_printed() -> None:
    bare, asked = penstock(), penstock("--help")
    assert bare.exit_code == asked.exit_code == 0
    assert bare.stdout == asked.stdout
    assert "Example:" in asked.stdout
    for name in COMMANDS:
        assert f"\n  {name} " in asked.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_loads(name: str) -> None:
    result = penstock(name, "--help")
    assert result.exit_code == 0
    assert result.stdout.startswith(f"Usage: penstock {name} ")
    assert "Example" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["filtr"], "No such command 'filtr'. Did you mean 'filter'? Try 'penstock --help'."),
        (["filter"], "Missing command. Try 'penstock filter --help'."),
        (["filter", "check"], "Missing argument 'FILTER'. Try 'penstock filter check --help'."),
        (["--nonsense"], "No such option: --nonsense"),
    ],
)
def test_wrong_use_is_one_line_and_exits_with_2(arguments: list[str], complaint: str) -> None:
    result = penstock(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"penstock: {complaint}")
    assert result.stderr.count("\n") == 1


def _fail(text: str) -> NoReturn:
    raise KeyError("lost\nkey")


def test_our_own_fault_is_one_line_and_exits_with_3(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filter_command, "read_filter", _fail)
    result = penstock("filter", "check", "a = 1")
    assert result.exit_code == 3
    assert result.stderr.startswith("penstock: internal error, KeyError: ")
    assert "please report it" in result.stderr
    assert "PENSTOCK_DEBUG=1" in result.stderr
    assert result.stderr.count("\n") == 1
    assert "Traceback" in penstock("filter", "check", "a = 1", debug="1").stderr


def test_an_error_that_cannot_say_its_text_is_one_line_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class _MuteError(Exception):
        def __str__(self) -> str:
            raise ConnectionRefusedError

    def fail(text: str) -> NoReturn:
        raise _MuteError

    monkeypatch.setattr(filter_command, "read_filter", fail)
    result = penstock("filter", "check", "a = 1")
    assert result.exit_code == 3
    assert result.stderr.startswith("penstock: internal error, _MuteError: without a text")


@pytest.mark.parametrize(
    "error",
    [
        UnreachableError("no broker answers at nowhere: start one"),
        RefusedError("broker nowhere refused: it is full: use another broker", "full"),
    ],
)
def test_no_answer_and_a_refusal_are_one_line_and_exit_with_4(
    error: PenstockError, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(text: str) -> NoReturn:
        raise error

    monkeypatch.setattr(filter_command, "read_filter", fail)
    result = penstock("filter", "check", "a = 1")
    assert (result.exit_code, result.stdout) == (4, "")
    assert result.stderr == f"penstock: {error}\n"


def test_an_abort_is_one_line_and_exits_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def abort(text: str) -> NoReturn:
        raise typer.Abort

    monkeypatch.setattr(filter_command, "read_filter", abort)
    result = penstock("filter", "check", "a = 1")
    assert (result.exit_code, result.stderr) == (130, "penstock: stopped\n")


def test_the_real_command_reads_a_pipe() -> None:
    done = subprocess.run(
        [*RUN, "filter", "match", "--json", "name contains 'é'"],
        input='{"name": "café"}\n{"name": "tea"}\n'.encode(),
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONWARNINGS": "error"},
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout) == {"matched": [{"name": "café"}], "total": 2, "bad": []}


@pytest.mark.parametrize(
    ("command", "heavy"),
    [
        (["--help"], {"numpy", "rich", "msgspec", "penstock.content"}),
        (["lab", "list"], {"scipy.stats", "scipy.special", "pyarrow.dataset", "matplotlib"}),
    ],
)
def test_commands_load_nothing_heavy_that_they_do_not_need(
    command: list[str], heavy: set[str]
) -> None:
    script = f"""if True:
        import sys
        from penstock.cli.main import app
        app({command}, standalone_mode=False)
        sys.exit(bool({heavy} & set(sys.modules)))
    """
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_whoever_stops_a_long_command_is_told_that_it_has_stopped() -> None:
    # Whoever runs the tests may have it ignored.
    heard = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    run = [sys.executable, "-c", f"{heard}; {RUN[-1]}"]
    command = subprocess.Popen([*run, "bench", "match"], stderr=subprocess.PIPE, text=True)
    assert command.stderr is not None
    assert "building" in command.stderr.readline()
    command.send_signal(signal.SIGINT)
    _output, complaint = command.communicate(timeout=60)
    assert command.returncode == 128 + signal.SIGINT
    assert complaint.endswith("penstock: stopped\n")
