"""The comparison of recorded results tells every change, and lets pass what is allowed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.metrics.compare_results import are_equal, main, record_experiment


def recorded(directory: Path, figures: dict[str, float], **others: Any) -> str:
    """A directory with one experiment X of one variant; its path."""
    path = directory / "X"
    path.mkdir(parents=True)
    gold = others.pop("gold", None)
    units = {metric: {"mean": value, "unit": ""} for metric, value in figures.items()}
    result = {"trace_hashes": {"off.1": "abc"}, "figures": {"off.1": figures}, **others}
    (path / "result.json").write_text(json.dumps({"variants": {"off": units}} | result))
    if gold is not None:
        (path / "gold.json").write_text(json.dumps(gold))
    return str(directory)


def estimated(mean: float, ci95: list[float] | None) -> dict[str, Any]:
    """Estimates of one metric."""
    return {"off": {"sent": {"mean": mean, "ci95": ci95, "unit": ""}}}


def judged(*verdicts: bool) -> list[dict[str, Any]]:
    """Verdicts on one metric."""
    return [{"metric": "sent", "variant": "off", "op": ">=", "ok": ok} for ok in verdicts]


def lines(capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """What was printed of each name."""
    printed = capsys.readouterr().out.splitlines()
    return dict(line.split(": ", 1) for line in printed if not line.startswith("---"))


def test_equal_results_have_no_differences(tmp_path: Path) -> None:
    one = recorded(tmp_path / "one", {"jain": 0.3, "sent": 7})
    # The sum in another order.
    other = recorded(tmp_path / "other", {"jain": 0.1 + 0.2, "sent": 7})
    assert main(["compare", one, other]) == 0
    assert main(["compare", one, other, "--tolerance", "0"]) == 1


def test_a_different_value_is_told_with_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = recorded(tmp_path / "one", {"jain": 0.9, "jain.late": 0.5, "sent": 7})
    other = recorded(tmp_path / "other", {"jain": 0.91, "jain.late": 1.0, "sent": 7})
    assert main(["compare", one, other]) == 1
    told = "2 equal; 4 different, worst X off.1 figures jain.late: 0.5 -> 1.0"
    assert lines(capsys)["jain"] == told
    assert main(["compare", one, other, "--allow", "jain.*"]) == 1
    assert main(["compare", one, other, "--allow", "sent", "jain"]) == 0
    assert lines(capsys)["jain"] == f"{told} (allowed)"


def test_a_file_may_say_what_is_allowed(tmp_path: Path) -> None:
    one = recorded(tmp_path / "one", {"jain": 0.9, "sent": 7})
    other = recorded(tmp_path / "other", {"jain": 0.8})
    allowed = tmp_path / "allowed"
    allowed.write_text("# D4\njain\n")
    assert main(["compare", one, other, "--allow", str(allowed)]) == 1
    assert main(["compare", one, other, "--allow", str(allowed), "s[aeiou]nt"]) == 0


def test_what_is_gone_fails_and_what_is_new_does_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    less = recorded(tmp_path / "less", {"sent": 7})
    more = recorded(tmp_path / "more", {"sent": 7, "rate.a": 1, "rate.b": 2})
    assert main(["compare", less, more]) == 0
    assert lines(capsys)["rate"] == "0 equal; 6 new"
    assert main(["compare", more, less]) == 1
    assert lines(capsys)["rate"] == "0 equal; 6 gone, first X off.1 figures rate.a"


def test_a_renamed_metric_is_compared_under_its_new_name(tmp_path: Path) -> None:
    one = recorded(tmp_path / "one", {"missed": 3, "missed.late": 1, "false_negatives": 3})
    other = recorded(tmp_path / "other", {"false_negatives": 3, "false_negatives.late": 1})
    assert main(["compare", one, other]) == 1
    assert main(["compare", one, other, "--renamed", "missed=false_negatives"]) == 0
    other = recorded(tmp_path / "third", {"false_negatives": 2, "false_negatives.late": 1})
    assert main(["compare", one, other, "--renamed", "missed=false_negatives"]) == 1


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        ("series", {"off": {"sent": [1, 2]}}, {"off": {"sent": [1, 3]}}),
        ("quantiles", {"off": {"sent": [1, 2]}}, {"off": {"sent": [1]}}),
        (
            "sketches",
            {"off": {"sent": {"type": "bins", "counts": [1]}}},
            {"off": {"sent": {"type": "bins", "counts": [2]}}},
        ),
        ("trace_hashes", {"off.1": "abc"}, {"off.1": "abd"}),
        ("gold", {"figures": {"r||sent": 1.0}}, {"figures": {"r||sent": 2.0}}),
        ("gold", {"seconds": {"r||sent": {"0": 1.0}}}, {"seconds": {"r||sent": {"1": 1.0}}}),
        ("gold", {"units": {"r||sent": ""}}, {"units": {"r||sent": "1"}}),
        ("variants", estimated(7.5, None), estimated(7.6, None)),
        ("variants", estimated(7.5, [7, 8]), estimated(7.5, [7, 8.5])),
        ("variants", estimated(7.5, [7, 8]), estimated(7.5, None)),
        ("expect", judged(True), judged(False)),
        ("expect", judged(True, True), judged(True, False)),
        ("expect", judged(True, True), judged(True)),
    ],
)
def test_every_kind_of_value_is_compared(
    tmp_path: Path, kind: str, one: dict[str, Any], other: dict[str, Any]
) -> None:
    before = recorded(tmp_path / "before", {"sent": 7}, **{kind: one})
    after = recorded(tmp_path / "after", {"sent": 7}, **{kind: other})
    assert main(["compare", before, before]) == 0
    assert main(["compare", before, after]) == 1


def test_allowing_units_allows_no_values(tmp_path: Path) -> None:
    units = {"figures": {"r||sent": 1.0}, "units": {"r||sent": ""}}
    before = recorded(tmp_path / "before", {"sent": 7}, gold=units)
    after = recorded(tmp_path / "after", {"sent": 7}, gold=units | {"units": {"r||sent": "1"}})
    assert main(["compare", before, after, "--allow", "gold_units:*"]) == 0
    other = recorded(tmp_path / "other", {"sent": 7}, gold=units | {"figures": {"r||sent": 2.0}})
    assert main(["compare", before, other, "--allow", "gold_units:*"]) == 1


def test_an_experiment_that_was_not_recorded_again_fails(tmp_path: Path) -> None:
    before = recorded(tmp_path / "before", {"sent": 7})
    (tmp_path / "before" / "X").rename(tmp_path / "before" / "Y")
    recorded(tmp_path / "before", {"sent": 7})
    after = recorded(tmp_path / "after", {"sent": 7})
    assert main(["compare", before, after]) == 1
    assert main(["compare", before, after, "--only", "X"]) == 0


def test_experiments_of_one_side_alone_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = recorded(tmp_path / "before", {"sent": 7})
    after = recorded(tmp_path / "after", {"sent": 7})
    (tmp_path / "after" / "X").rename(tmp_path / "after" / "Y")
    recorded(tmp_path / "after", {"sent": 7})
    assert main(["compare", before, after]) == 0
    assert f"not compared, not in {before}: Y" in capsys.readouterr().out
    assert main(["compare", after, before]) == 1
    assert f"not in {before}: Y; see --only" in capsys.readouterr().out


def test_names_with_dots_are_allowed_and_renamed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = recorded(tmp_path / "one", {"tail_0.05.5": 0.1, "tail_0.01.5": 0.3})
    other = recorded(tmp_path / "other", {"tail_0.05.5": 0.2, "tail_0.01.5": 0.3})
    assert main(["compare", one, other]) == 1
    assert {"tail_0.01", "tail_0.05"} <= lines(capsys).keys()
    assert main(["compare", one, other, "--allow", "tail_0.01"]) == 1
    assert main(["compare", one, other, "--allow", "tail_0.05"]) == 0
    third = recorded(tmp_path / "third", {"rest_0.05.5": 0.1, "tail_0.01.5": 0.3})
    assert main(["compare", one, third]) == 1
    assert main(["compare", one, third, "--renamed", "tail_0.05=rest_0.05"]) == 0


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"trace_hashes": {}, "variants": 1}', "\xff"])
def test_a_damaged_file_is_told_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    one = recorded(tmp_path / "one", {"sent": 7})
    path = tmp_path / "one" / "X" / "result.json"
    path.write_text(text, encoding="latin-1")
    assert main(["compare", one, one]) == 2
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith(f"{path} is damaged (")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["compare", "a", "b", "--tolerance", "-1"], "--tolerance -1: write 0 or more"),
        (["compare", "a", "b", "--tolerance", "nan"], "--tolerance nan: write 0 or more"),
        (["record", "a", "--processes", "0"], "--processes 0: write 1 or more"),
    ],
)
def test_numbers_that_make_no_sense_are_refused(
    capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    assert main(arguments) == 2
    assert capsys.readouterr().out == f"{says}\n"


def test_counts_are_compared_exactly() -> None:
    assert not are_equal(10.0**15, 10.0**15 + 1, 1e-12)
    assert are_equal(0.1 + 0.2, 0.3, 1e-12)
    assert not are_equal(0.3, 0.300001, 1e-12)
    assert are_equal(float("nan"), float("nan"), 1e-12)


def test_a_recorded_experiment_equals_itself(tmp_path: Path) -> None:
    record_experiment("M-3.4", tmp_path / "M-3.4", keep=True, seeds=[1])
    assert main(["compare", str(tmp_path), str(tmp_path)]) == 0
    gold = json.loads((tmp_path / "M-3.4" / "gold.json").read_bytes())
    assert gold["figures"]["M-3.4.quick.off.1||violations"] > 0
    assert gold.keys() == {"figures", "units", "pairs", "seconds", "histograms"}
