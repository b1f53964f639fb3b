"""`penstock why` as an operator meets it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from penstock.cli.main import app
from penstock.kernel.instant import MILLISECOND as MS
from penstock.trace.fates import HopDecision, MissingState, PublisherFate, ReceiverFate
from penstock.trace.records import (
    Arrival,
    Delivery,
    Expected,
    Hop,
    Loss,
    Publication,
    Repair,
    Request,
    Row,
)
from penstock.trace.schema import EVENTS
from tests.tracefile.histories import keep, life_of, received

DOCS = Path(__file__).parents[2] / "docs"


def penstock(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["why", *map(str, arguments)], prog_name="penstock")


def told(*arguments: str | Path) -> list[str]:
    result = penstock(*arguments)
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout.splitlines()


def answer(*arguments: str | Path) -> Any:
    lines = told(*arguments, "--json")
    assert len(lines) == 1
    return json.loads(lines[0])


def complaint(*arguments: str | Path) -> str:
    result = penstock(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.count("\n") == 1
    return result.stderr.removeprefix("penstock: ").rstrip()


def repaired(seq: int) -> list[Row]:
    """The copy for s2 is lost, missed, asked for, and repaired by s1."""
    at = seq * 100 * MS
    late = at + 60 * MS
    message = ("p3", 0, seq)
    return [
        *life_of(seq, lost_at="B2-B3"),
        Loss("default", "s2", *message, at + 20 * MS, "record", at + 30 * MS, MissingState.LOST,
             late, ReceiverFate.REPAIRED),
        Request("s2", *message, at + 31 * MS, 0, 40),
        Request("s2", *message, at + 45 * MS, 1, 40),
        Repair("s1", "s2", *message, at + 50 * MS, at + 51 * MS, True, 220),
        Arrival("s2", *message, at, late, 3, True),
        Delivery("default", "s2", *message, at, late, late, None, ReceiverFate.REPAIRED),
    ]  # fmt: skip


def crowd(count: int) -> list[Row]:
    """B1 hands a message to very many, each of whom gets it a little later; one does not."""
    rows: list[Row] = [
        Publication("p3", 0, 17, 0, 0, 210, PublisherFate.SENT, "data"),
        Hop(MS, "B1", "p3", 0, 17, HopDecision.ENTERED),
    ]
    for i in range(count):
        rows.append(Expected("p3", 0, 17, f"s{i}", 0))
        rows.append(Hop(MS, "B1", "p3", 0, 17, HopDecision.HANDED_OVER, f"s{i}"))
        rows += received(f"s{i}", 17, 0, (2 + i) * MS) if i else []
    return rows


# What is told


def test_the_document_shows_what_is_printed() -> None:
    page = (DOCS / "why.md").read_text(encoding="utf-8")
    code, shown = (
        re.findall(rf"^```{language}\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)[0]
        for language in ("python", "text")
    )
    made: dict[str, Any] = {}
    exec(code.partition("\ntold = ")[0], made)
    lines = told(made["place"].name, "p3:17")
    made["place"].cleanup()
    assert ["$ penstock why TRACE p3:17", *lines] == shown.splitlines()


def test_a_loss_is_told_from_its_drop_to_its_repair(tmp_path: Path) -> None:
    lines = told(keep(tmp_path, repaired(17)), "p3:17", "--subscriber", "s2")
    assert lines == [
        "p3:0:17, run a (M-3.1 off, seed 7)",
        "only what concerns s2",
        "",
        "    1.699000 s  p3     offered by its application",
        "    1.700000 s  p3     published: 210 B of class data, held back for 1.000 ms",
        "    1.701000 s  B1     took it from a client",
        "    1.701000 s  B1     forwarded it to B2",
        "    1.702000 s  B2     forwarded it to B3",
        "    1.702000 s  B2     forwarded it to B4",
        "    1.703000 s  B2-B3  DROPPED: loss, 230 B of class data",
        "    1.720000 s  s2     found it missing, by record [default]",
        "    1.730000 s  s2     declared it lost [default]",
        "    1.731000 s  s2     asked for it: 40 B",
        "    1.745000 s  s2     asked for it again (round 1): 40 B",
        "    1.751000 s  s1     sent a repair that s2 asked for: unicast, 220 B",
        "    1.760000 s  s2     a repair arrived after 60.000 ms and 3 brokers",
        "    1.760000 s  s2     repaired at once [default]",
        "    1.760000 s  s2     no longer lost: repaired [default]",
        "",
        "verdict: 1 delivered",
        "  s2: repaired after 60.000 ms",
    ]


def test_who_got_it_unexpectedly_is_marked(tmp_path: Path) -> None:
    rows = [*life_of(17), *received("s8", 17, 1700 * MS, 1709 * MS)]
    lines = told(keep(tmp_path, rows), "p3:17")
    assert lines[-1] == "  s8: delivered after 9.000 ms — NOT EXPECTED to get it"
    assert lines[-2] == "  s2, s3: delivered after 4.000 ms"
    assert sum("NOT EXPECTED" in line for line in lines) == 1


def test_someone_it_was_not_for_may_be_asked_about(tmp_path: Path) -> None:
    rows = [*life_of(17), Expected("p3", 0, 18, "s9", 1800 * MS)]
    lines = told(keep(tmp_path, rows), "p3:17", "--subscriber", "s9")
    assert lines[-2:] == [
        "verdict: 1 not_for_it",
        "  s9: was not expected to get it, and did not",
    ]


def test_what_was_not_recorded_is_said(tmp_path: Path) -> None:
    keep(tmp_path, life_of(17, lost_at="B2-B3"), without=("drops", "hops", "expected"))
    lines = told(tmp_path, "p3:17")
    assert lines[1] == "not recorded: expected, hops, drops"


def test_a_message_that_nobody_wanted(tmp_path: Path) -> None:
    rows: list[Row] = [
        Publication("p3", 0, 17, 5, 5, 210, PublisherFate.SENT, "data"),
        Hop(MS, "B1", "p3", 0, 17, HopDecision.ENTERED),
        Hop(MS, "B1", "p3", 0, 17, HopDecision.FILTERED),
    ]
    lines = told(keep(tmp_path, rows), "p3:17")
    assert lines[1] == "expected receivers: 0"
    assert lines[3:] == [
        "    0.000000 s  p3  published: 210 B of class data",
        "    0.001000 s  B1  took it from a client",
        "    0.001000 s  B1  filtered it: nobody anywhere is known to want it",
        "",
        "verdict: nobody was expected to get it, and nobody did",
    ]


def test_long_lists_are_counted_unless_all_is_asked_for(tmp_path: Path) -> None:
    keep(tmp_path, crowd(400))
    lines = told(tmp_path, "p3:17")
    assert lines[1] == "expected receivers: 400: s0, s1, s2, s3, s4, s5, …"
    assert "             …      394 more handed over, the last at 0.001000 s" in lines
    assert "             …      393 more arrivals, the last at 0.401000 s" in lines
    assert lines[-9:-6] == [
        "verdict: 399 delivered, 1 lost",
        "  s1: delivered after 3.000 ms",
        "  s2: delivered after 4.000 ms",
    ]
    assert lines[-2] == "  … 393 more delivered"
    assert lines[-1].startswith("  s0: lost: B1 handed it over to s0, and the trace tells no more")
    whole = told(tmp_path, "p3:17", "--all")
    assert len(whole) == 2 + 1 + 1 + 1 + 400 + 2 * 399 + 1 + 1 + 400
    assert not any("…" in line for line in whole)


def test_json_has_the_rows_and_the_verdicts(tmp_path: Path) -> None:
    life = answer(keep(tmp_path, repaired(17)), "p3:17")
    assert life["run"] == "a"
    assert life["message"] == {"publisher": "p3", "epoch": 0, "seq": 17}
    assert life["publication"]["published_ns"] == 1700 * MS
    assert life["expected"] == ["s1", "s2", "s3"]
    assert [drop["where"] for drop in life["drops"]] == ["B2-B3"]
    assert [len(life[table]) for table in ("losses", "requests", "repairs")] == [1, 2, 1]
    assert life["verdicts"][1] == {
        "subscriber": "s2",
        "outcome": "delivered",
        "is_expected": True,
        "text": "repaired after 60.000 ms",
        "last": None,
        "drop": None,
    }
    lost = answer(keep(tmp_path / "lost", life_of(17, lost_at="B2-B3")), "p3:17")
    verdict = next(each for each in lost["verdicts"] if each["outcome"] == "lost")
    assert (verdict["subscriber"], verdict["last"]) == ("s2", "B2")
    assert (verdict["drop"]["where"], verdict["drop"]["reason"]) == ("B2-B3", "loss")


# Which run, which message


def test_a_run_may_be_named_by_its_own_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(tmp_path, life_of(17), "a")
    keep(tmp_path, life_of(18), "b")
    assert told(tmp_path / "run=b", "p3:18")[0].startswith("p3:0:18, run b ")
    assert told(tmp_path, "p3:17", "--run", "a")[0].startswith("p3:0:17, run a ")
    monkeypatch.chdir(tmp_path / "run=a")
    assert told(".", "p3:17")[0].startswith("p3:0:17, run a ")
    assert complaint(".", "p3:17", "--run", "b") == ". is run a, not b: leave --run out"


def test_of_several_runs_one_must_be_chosen(tmp_path: Path) -> None:
    for run in ("off", "default"):
        keep(tmp_path, life_of(17), run)
    said = complaint(tmp_path, "p3:17")
    assert said == f"{tmp_path} has 2 runs: choose one with --run, of default, off"
    said = complaint(tmp_path, "p3:17", "--run", "defualt")
    assert said == f"no run defualt in {tmp_path}; did you mean default?"


def test_a_place_without_runs(tmp_path: Path) -> None:
    assert complaint(tmp_path / "x", "p3:17").startswith(f"{tmp_path / 'x'} is no directory: ")
    assert complaint(tmp_path, "p3:17").startswith(f"no runs in {tmp_path}: name a directory")
    (tmp_path / ".run=a.unfinished").mkdir()
    assert "(not finished: a)" in complaint(tmp_path, "p3:17")


def test_an_epoch_is_needed_only_where_there_are_several(tmp_path: Path) -> None:
    keep(tmp_path, [*life_of(16, epoch=3), *life_of(17, epoch=3), *life_of(17, epoch=4)])
    assert told(tmp_path, "p3:16")[0].startswith("p3:3:16,")
    assert told(tmp_path, "p3:4:17")[0].startswith("p3:4:17,")
    assert complaint(tmp_path, "p3:17") == (
        "p3 had a message 17 in 2 epochs: write p3:3:17 or p3:4:17"
    )
    assert complaint(tmp_path, "p3:4:16") == (
        "p3 has no message 16 in epoch 4 in run a: epoch 3 has 16..17; epoch 4 has 17..17"
    )


def test_a_publisher_may_have_colons_in_its_name(tmp_path: Path) -> None:
    rows: list[Row] = [Publication("[::1]:7400", 0, 17, 0, 0, 9, PublisherFate.SENT, "data")]
    keep(tmp_path, rows)
    assert told(tmp_path, "[::1]:7400:17")[0].startswith("[::1]:7400:0:17,")


def test_names_that_are_nearly_right(tmp_path: Path) -> None:
    row = Publication("ticker", 0, 17, 0, 0, 9, PublisherFate.SENT, "data")
    keep(tmp_path, [row, *life_of(17)])
    assert complaint(tmp_path, "tikcer:17") == "no publisher tikcer in run a; did you mean ticker?"
    assert complaint(tmp_path, "x:17") == "no publisher x in run a; there are p3, ticker"
    assert complaint(tmp_path, "p3:99") == "p3 has no message 99 in run a: epoch 0 has 17..17"
    said = complaint(tmp_path, "p3:17", "--subscriber", "z")
    assert said == "no subscriber z in run a; there are s1, s2, s3"


@pytest.mark.parametrize("text", ["p3", "17", ":17", "p3:", "p3:-1", "p3:1.5", "p3:" + "9" * 40])
def test_a_message_that_cannot_be_read(tmp_path: Path, text: str) -> None:
    keep(tmp_path, life_of(17))
    assert complaint(tmp_path, text).startswith("a message is named publisher:seq or publisher:")


def test_a_message_is_found_in_whatever_table_there_is(tmp_path: Path) -> None:
    keep(tmp_path, life_of(17), without=("publications", "expected", "arrivals", "deliveries"))
    assert told(tmp_path, "p3:17")[-1] == "verdict: none, for the trace tells of no receiver"


def test_a_run_that_tells_of_no_messages(tmp_path: Path) -> None:
    keep(tmp_path, [], without=tuple(table.name for table in EVENTS if table.name != "links"))
    assert complaint(tmp_path, "p3:17").startswith("run a recorded no table that tells of messages")
