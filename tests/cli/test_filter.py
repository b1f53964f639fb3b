"""`penstock filter` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from penstock.cli import filter as filter_command
from penstock.cli.inputs import LINE_BYTES_MAX
from penstock.cli.main import app


def penstock(*arguments: str, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(app, ["filter", *arguments], input=stdin, prog_name="penstock")


def answer(result: Result) -> Any:
    """The JSON object that is all of standard output."""
    assert result.stdout.count("\n") == 1
    return json.loads(result.stdout)


# check


def test_check_prints_the_canonical_text_and_its_size() -> None:
    result = penstock("check", 'not (symbol = "IBM" or 120 <= price)')
    assert result.exit_code == 0
    assert result.stdout == 'price < 120 and symbol != "IBM"\n1 alternative, 2 constraints\n'


def test_check_prints_the_json_form() -> None:
    result = penstock("check", "--json", "a = 1 or b = 2")
    assert answer(result) == {
        "text": "a = 1 or b = 2",
        "json": {"any": [{"all": [["a", "=", 1]]}, {"all": [["b", "=", 2]]}]},
        "filters": 2,
        "constraints": 2,
    }


def test_a_filter_may_be_given_as_json_or_in_a_file(tmp_path: Path) -> None:
    form = '{"all": [["price", "<", 120]]}'
    text_file, json_file = tmp_path / "text", tmp_path / "json"
    text_file.write_text("# cheap ones\nprice < 120\n", encoding="utf-8-sig")
    json_file.write_text(f"  {form}\n")
    for given in (form, f" {form}", f"@{text_file}", f"@{json_file}"):
        assert penstock("check", given).stdout == "price < 120\n1 alternative, 1 constraint\n"


def test_a_syntax_error_is_one_line_and_a_picture() -> None:
    result = penstock("check", "price < and")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        "penstock: column 9: expected a value after '<', found 'and'\n  price < and\n          ^\n"
    )


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ('{"all": [["a", "~", 1]]}', "all[0]: unknown operator '~'"),
        ('{"all": [], "all": []}', "the name 'all' appears twice in one JSON object"),
        ("{", "not JSON: column 2: "),
        ('{"all": [["a", "<", NaN]]}', "JSON has no NaN"),
        ("@/no/such/file", "cannot read '/no/such/file': No such file or directory"),
    ],
)
def test_a_bad_filter_is_one_line(given: str, complaint: str) -> None:
    result = penstock("check", given)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"penstock: {complaint}")
    assert result.stderr.count("\n") == 1


def test_a_file_must_be_text_of_a_reasonable_size(tmp_path: Path) -> None:
    file = tmp_path / "filter"
    file.write_bytes(b"a = '\xff'")
    assert "is not UTF-8 at byte 6" in penstock("check", f"@{file}").stderr
    file.write_bytes(b" " * (1 << 20) + b"a = 1")
    assert "is larger than" in penstock("check", f"@{file}").stderr


# match


def test_match_prints_the_messages_that_match_as_they_were_written() -> None:
    cheap, dear = '{ "price": 1.50e2 }', '{"price": 130, "é": true}'
    result = penstock("match", "price > 140", cheap, dear)
    assert (result.exit_code, result.stdout, result.stderr) == (0, f"{cheap}\n", "")
    result = penstock("match", "é = true", stdin=f"{cheap}\n\n{dear}")
    assert (result.exit_code, result.stdout) == (0, f"{dear}\n")


def test_match_exits_with_1_when_nothing_matched() -> None:
    result = penstock("match", "price < 120", '{"price": 130}')
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", "")
    assert penstock("match", "price < 120", stdin="").exit_code == 1


def test_match_reports_bad_lines_and_loses_nothing() -> None:
    lines = [
        b'\xef\xbb\xbf{"a": 1}',
        b"nonsense",
        b'{"a": "\xff"}',
        b"",
        b'{"a": 1, "a": 1}',
        b'{"a": null}',
        b'{"a": [1]}',
        b'{"a": 1e999}',
        b'{"a": ' + b"9" * 5_000 + b"}",
        b'{"a": ' + b" " * LINE_BYTES_MAX + b"1}",
        b"[" * 100_000,
        b"[1]",
        b'{"a": 1.0}\r',
    ]
    result = penstock("match", "a = 1", stdin=b"\n".join(lines))
    assert result.exit_code == 2
    assert result.stdout == '{"a": 1}\n{"a": 1.0}\n'
    complaints = result.stderr.splitlines()
    expected = {
        2: "not JSON: column 1: ",
        3: "not UTF-8 at byte 8",
        5: "the name 'a' appears twice in one JSON object",
        6: "attribute 'a': a value is a number, string or boolean, not null",
        7: "attribute 'a': a value is a number, string or boolean, not an array",
        8: "1e999 is too large for a number",
        9: "integers must fit 64 bits",
        10: "a line has at most 1,048,576 bytes",
        11: "",
        12: 'a message is a JSON object such as {"price": 120}, not an array',
    }
    assert len(complaints) == len(expected)
    for complaint, (line, words) in zip(complaints, expected.items(), strict=True):
        assert complaint.startswith(f"penstock: line {line}: {words}")


def test_match_takes_stdin_among_the_arguments() -> None:
    result = penstock("match", "exists a", '{"a":\n 1}', "-", "x", stdin='{"a": 2}\n')
    assert (result.exit_code, result.stdout) == (2, '{"a":  1}\n{"a": 2}\n')
    assert result.stderr.startswith("penstock: message 3: not JSON")


def test_match_prints_one_json_object() -> None:
    result = penstock("match", "--json", "a = 1", '{"a": 1.0}', '{"a": 2}', "x")
    assert result.exit_code == 2
    assert answer(result) == {
        "matched": [{"a": 1.0}],
        "total": 3,
        "bad": [{"where": "message 3", "error": "not JSON: column 1: Expecting value"}],
    }


def test_match_asks_for_messages_when_nobody_pipes_any(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filter_command, "stdin_is_piped", lambda: False)
    result = penstock("match", "a = 1")
    assert result.exit_code == 2
    assert "no messages: give JSON objects as arguments, or pipe them in" in result.stderr


# explain


def test_explain_says_why() -> None:
    text, message = "price < 120 and exists volume", '{"price": 130}'
    result = penstock("explain", text, message)
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "no match",
        "  no   price < 120 and exists volume",
        "         price < 120: price is 130, which is not < 120",
        "         exists volume: volume is missing",
    ]
    assert answer(penstock("explain", "--json", text, message)) == {
        "matched": False,
        "filters": [
            {
                "text": text,
                "matched": False,
                "failures": [
                    {"constraint": "price < 120", "why": "price is 130, which is not < 120"},
                    {"constraint": "exists volume", "why": "volume is missing"},
                ],
            }
        ],
    }


# cover


def test_cover_compares_two_filters() -> None:
    result = penstock("cover", "price < 120", 'price < 100 and symbol = "IBM"')
    assert result.exit_code == 0
    assert result.stdout == "A covers B: yes\nB covers A: not shown\nA and B overlap: perhaps\n"
    assert answer(penstock("cover", "--json", "price < 120", "price > 120")) == {
        "a_covers_b": False,
        "b_covers_a": False,
        "overlap": False,
    }


# all


def test_a_terminal_gets_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filter_command, "on_terminal", lambda: True)
    result = penstock("explain", "price < 120 or `[red]` = 1", '{"price": 130}')
    assert result.exit_code == 0
    assert "price is 130" in result.stdout
    assert "[red]" in result.stdout
    assert "A covers B" in penstock("cover", "a = 1", "a = 1").stdout
    assert penstock("explain", "false", "{}").stdout.startswith("no match")


@pytest.mark.parametrize("command", ["check", "match", "explain", "cover"])
def test_every_command_has_an_example_that_works(command: str) -> None:
    result = penstock(command, "--help")
    assert result.exit_code == 0
    assert "--json" in result.stdout
    example = result.stdout.split("Example:\n")[1].split("\n")[0].strip()
    assert example.startswith(f"penstock filter {command} ")
    ran = CliRunner().invoke(app, example.removeprefix("penstock "))
    assert ran.exit_code == 0


def test_messages_come_from_files_too(tmp_path: Path) -> None:
    ticks = tmp_path / "ticks.jsonl"
    ticks.write_text('{"price": 1}\n{"price": 9}\nnot json\n')
    result = penstock("match", "price < 5", f"@{ticks}")
    assert result.stdout == '{"price": 1}\n'
    assert f"{ticks}: line 3: not JSON" in result.stderr
    assert result.exit_code == 2
    one = tmp_path / "one.json"
    one.write_text('{"price": 9}')
    assert "which is not < 5" in penstock("explain", "price < 5", f"@{one}").stdout
    missing = penstock("match", "price < 5", "@nowhere.jsonl")
    assert missing.exit_code == 2
    assert "cannot read 'nowhere.jsonl'" in missing.stderr
