"""Layers over a TOML file, and where each key was written."""

from __future__ import annotations

import pytest

from penstock.kernel.errors import UsageError
from penstock.lab.toml_document import dotted_key, find_lines, parse_document, parse_key_path

TEXT = """\
title = "one"
[run]
duration_s = 30   # a comment
"a quoted key" = 1

[network]
link = { rate_mbps = 10, delay_ms = 50 }

[[expect]]
metric = "a"
[[expect]]
metric = "b"

[profiles.quick]
run.duration_s = 3
network.link.rate_mbps = 1

[rates.slow]
kind = "ramp"
start = 1
"""


def test_the_last_layer_has_the_word_and_says_where() -> None:
    document = parse_document(TEXT, "a.toml")
    assert document.tree["run"]["duration_s"] == 30
    assert document.location(("run", "duration_s")) == "a.toml:3"
    quick = document.with_table("profiles", "quick")
    assert quick.tree["run"] == {"duration_s": 3, "a quoted key": 1}
    assert quick.location(("run", "duration_s")) == "a.toml:15"
    assert quick.tree["network"]["link"] == {"rate_mbps": 1, "delay_ms": 50}
    assert quick.location(("network", "link", "rate_mbps")) == "a.toml:16"
    # What the profile leaves alone stands where it stood.
    assert quick.location(("network", "link", "delay_ms")) == "a.toml:7"
    by_hand = quick.with_override("run.duration_s=7.5")
    assert by_hand.tree["run"]["duration_s"] == 7.5
    assert by_hand.location(("run", "duration_s")) == "--set run.duration_s=7.5"


def test_items_of_arrays_have_lines_of_their_own() -> None:
    document = parse_document(TEXT, "a.toml")
    assert document.location(("expect", 0, "metric")) == "a.toml:10"
    assert document.location(("expect", 1)) == "a.toml:11"


def test_what_is_not_there_is_placed_by_what_is_above_it() -> None:
    document = parse_document(TEXT, "a.toml")
    assert document.location(("run", "nothing")) == "a.toml:2"
    assert document.location(("nothing",)) == "a.toml"


def test_another_kind_replaces_a_table_and_the_same_kind_changes_it() -> None:
    document = parse_document(TEXT, "a.toml")
    other = document.with_tree({"rates": {"slow": {"kind": "constant", "rate": 2}}}, "test")
    assert other.tree["rates"]["slow"] == {"kind": "constant", "rate": 2}
    same = document.with_tree({"rates": {"slow": {"start": 5}}}, "test")
    assert same.tree["rates"]["slow"] == {"kind": "ramp", "start": 5}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a.b=3", 3),
        ("a.b = 0.5", 0.5),
        ("a.b=true", True),
        ("a.b=[1, 2]", [1, 2]),
        ("a.b=line", "line"),
        ('a.b="line"', "line"),
        ("a.b=two words", "two words"),
    ],
)
def test_values_are_set_as_in_toml_and_bare_words_are_text(text: str, value: object) -> None:
    assert parse_document("", "a.toml").with_override(text).tree == {"a": {"b": value}}


@pytest.mark.parametrize("text", ["a", "=3", "a b=3", ""])
def test_a_set_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--set"):
        parse_document("", "a.toml").with_override(text)


def test_what_is_not_toml_is_refused_with_its_line() -> None:
    with pytest.raises(UsageError, match=r"^a\.toml:2: not TOML: "):
        parse_document("a = 1\nb = = 2\n", "a.toml")


def test_paths_are_written_and_read() -> None:
    path = ("clients", "slow", "at", 0)
    assert parse_key_path("$.clients.slow.at[0]") == parse_key_path("clients.slow.at[0]") == path
    assert dotted_key(path) == "clients.slow.at[0]"
    assert parse_key_path("$") == ()


def test_every_key_that_begins_a_line_is_found() -> None:
    assert find_lines(TEXT)["run", "a quoted key"] == 4
