"""A page: well formed, in need of nothing, the same every time, and of every experiment."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import pytest

from penstock.lab.experiment_files import catalogue
from penstock.lab.result import Result
from penstock.report.figure_selection import figures_of
from penstock.report.page import report_of
from penstock.report.report_data import ReportData
from penstock.report.sweep import Sweep
from tests.report.made_up import made_up, plain

HOSTILE = "<img src=x onerror=alert(1)>&\"'"


def page_of(result: Result) -> str:
    return report_of(ReportData(result), with_files=False).page


@cache
def page_made_up(id_: str) -> str:
    """Drawing takes most of the time of these tests."""
    return page_of(made_up(id_))


def root_of(page: str) -> ElementTree.Element:
    """The page is XML too, which no tag that is left open would be."""
    assert page.startswith("<!DOCTYPE html>\n")
    return ElementTree.fromstring(page.removeprefix("<!DOCTYPE html>\n"))


def texts(root: ElementTree.Element, tag: str) -> list[str]:
    return ["".join(element.itertext()) for element in root.iter(tag)]


@pytest.mark.parametrize("id_", list(catalogue()))
def test_every_experiment_has_a_page_with_figures(id_: str) -> None:
    result = made_up(id_)
    page = page_made_up(id_)
    root = root_of(page)
    figures = figures_of(ReportData(result))
    assert len(texts(root, "figure")) == len(figures) >= 1
    assert not figures[0].name.startswith("figure-"), "drawn as if nobody knew it"
    for name in result.variants:
        assert name in page
    assert f"of {len(result.expect)} expectations are met" in page
    assert result.trace_hash in page
    ids = [element.get("id") for element in root.iter() if element.get("id")]
    assert len(ids) == len({*ids})


def test_a_page_needs_nothing_but_itself() -> None:
    page = page_made_up("M-3.11")
    root = root_of(page)
    assert not list(root.iter("link")) + list(root.iter("script")) + list(root.iter("img"))
    assert not re.search(r"""(src|url)\s*[=(]\s*["']?(https?:)?//""", page)
    assert "@import" not in page
    for element in root.iter():
        target = element.get("href", "#")
        assert target.startswith(("#", "figures/")), target
    ids = {element.get("id") for element in root.iter()}
    inner = [e.get("href", "")[1:] for e in root.iter() if e.get("href", "").startswith("#")]
    assert inner
    assert {*inner} <= ids


def test_the_files_that_a_page_links_to_are_beside_it(tmp_path: Path) -> None:
    report = report_of(ReportData(plain(["a"])))
    where = report.write(tmp_path / "new")
    links = re.findall(r'href="(figures/[^"]+)"', where.read_text(encoding="utf-8"))
    assert len(links) == 4
    starts = {Path(link).suffix: (where.parent / link).read_bytes()[:4] for link in links}
    assert starts == {".png": b"\x89PNG", ".pdf": b"%PDF"}
    # Nothing of the directory, the day or the versions that drew it.
    assert report_of(ReportData(plain(["a"]))) == report


def test_names_are_text_and_never_markup() -> None:
    page = page_of(plain([HOSTILE, "b"], id=HOSTILE, profile=HOSTILE))
    root_of(page)
    assert "<img" not in page
    assert "&lt;img" in page


def test_one_seed_has_no_interval() -> None:
    root = root_of(page_of(made_up("M-3.4", seeds=[1])))
    (numbers,) = [s for s in root.iter("section") if s.get("id") == "numbers"]
    assert not [cell for cell in texts(numbers, "td") if "±" in cell]
    root = root_of(page_made_up("M-3.15"))
    (numbers,) = [s for s in root.iter("section") if s.get("id") == "numbers"]
    assert [cell for cell in texts(numbers, "td") if "±" in cell]


def test_empty_series_and_no_figures_of_a_name_are_left_out() -> None:
    result = plain(["a", "b"], series={"a": {"noise": []}, "b": {}})
    result.variants["b"] = {}
    root = root_of(page_of(result))
    assert len(texts(root, "figure")) == 1


def test_many_names_stand_below_each_other() -> None:
    assert len(made_up("O-2").variants) == 72
    root = root_of(page_made_up("O-2"))
    (glance,) = [s for s in root.iter("section") if s.get("id") == "glance"]
    assert len(texts(glance, "tr")) == 1 + 5, "one row for each ordering"
    (numbers,) = [s for s in root.iter("section") if s.get("id") == "numbers"]
    assert len(texts(numbers, "tr")) == 1 + 72
    assert all(div.get("class") in ("scroll", "drawing") for div in root.iter("div"))


def test_many_names_that_no_family_knows_are_cut_and_it_is_said() -> None:
    page = page_of(plain([f"v{number}" for number in range(72)]))
    assert "The first 40 of 72." in page


def test_the_difference_is_said_first() -> None:
    root = root_of(page_made_up("M-3.11"))
    (glance,) = [s for s in root.iter("section") if s.get("id") == "glance"]
    said, *_ = texts(glance, "p")
    assert "messages arrive out of order. Left by default:" in said
    assert "; by literal:" in said
    assert "; by CST-30:" in said, "the longest of the constants"
    rows = [row.split("\n")[0] for row in texts(glance, "tr")]
    ranks = [rows.index(name) for name in ("off", "CST-4", "literal", "default")]
    assert ranks == sorted(ranks)


def test_published_values_are_marked() -> None:
    pages = {id_: page_made_up(id_) for id_ in ("M-3.1", "M-3.11", "M-4.2", "M-4.5")}
    assert "the paper: a limit of 30,000/s" in pages["M-3.1"]
    assert "the paper: what this P would leave" in pages["M-3.11"]
    assert "the paper: 0.4 at P = 0.05, R = 10" in pages["M-4.2"]
    for said in (
        "off ÷2, with a record of 10",
        "request to repair below 200 ms for 80%",
        "more than 90% of requests",
        "more than 80% of repairs",
        "off and 25 ms more",
        "a record of 10 alone, 320 B",
    ):
        assert f"the paper: {said}" in pages["M-4.5"]


def test_a_sweep_is_one_page() -> None:
    points = [
        ReportData(made_up("M-3.15", sets=[f"network.link.loss={loss}"]))
        for loss in ("0.05", "0.001", "0.01")
    ]
    sweep = Sweep(points)
    assert sweep.keys == ["network.link.loss"]
    assert [sweep.label(point) for point in sweep.points] == [
        "loss = 0.001", "loss = 0.01", "loss = 0.05",
    ]  # fmt: skip
    page = report_of(sweep, with_files=False).page
    root = root_of(page)
    assert texts(root, "h1") == ["M-3.15 by network.link.loss"]
    assert len(texts(root, "figure")) >= 3
