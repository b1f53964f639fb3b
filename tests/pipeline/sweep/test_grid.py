from __future__ import annotations

import re

import pytest

from penstock.kernel.errors import UsageError
from penstock.pipeline.sweep.grid import Axis, Point, parse_axis, points_of


def test_values_are_split_at_commas() -> None:
    assert parse_axis("network.link.loss = 0, 0.01,0.1") == Axis(
        "network.link.loss", ("0", "0.01", "0.1")
    )


def test_a_comma_in_brackets_or_quotes_is_part_of_a_value() -> None:
    axis = parse_axis('a=[0.1, 0.3],{ kind = "x", rate = 2 },"p,q"')
    assert axis.values == ("[0.1, 0.3]", '{ kind = "x", rate = 2 }', '"p,q"')


def test_a_value_that_is_there_twice_counts_once() -> None:
    assert parse_axis("a=1,2,1").values == ("1", "2")


@pytest.mark.parametrize("text", ["", "loss", "=1,2", "loss=", "loss=1,,2"])
def test_what_is_no_axis_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--vary takes key=a,b,c"):
        parse_axis(text)


def test_points_are_all_combinations_and_the_last_key_varies_quickest() -> None:
    points = points_of([Axis("a", ("1", "2")), Axis("b", ("x", "y"))])
    assert [point.overrides for point in points] == [
        ["a=1", "b=x"],
        ["a=1", "b=y"],
        ["a=2", "b=x"],
        ["a=2", "b=y"],
    ]


def test_without_an_axis_there_is_one_point_that_changes_nothing() -> None:
    assert points_of([]) == [Point()]
    assert Point().overrides == []
    assert Point().mark == ""


def test_a_key_cannot_vary_twice() -> None:
    with pytest.raises(UsageError, match="a is there twice"):
        points_of([Axis("a", ("1",)), Axis("a", ("2",))])


def test_points_have_names_of_their_own_that_files_can_have() -> None:
    values = ("1", "1.0", '"1"', "[1, 2]", "/etc", "x" * 300)
    points = points_of([Axis("very.deep.key", values)])
    assert len({point.directory for point in points}) == len(values)
    for point in points:
        assert re.fullmatch(r"[\w.+=-]{1,100}", point.directory)
        assert re.fullmatch(r"[0-9a-f]{8}", point.mark)
    assert points[0].directory.startswith("key=1-")
