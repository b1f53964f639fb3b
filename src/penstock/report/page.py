"""The report page with its figure files, as values, and their writing to disk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Final

from penstock.lab.atomic_file import write_atomically
from penstock.report import tables
from penstock.report.figure import Figure, pdf, png, rendered, svg
from penstock.report.figure_selection import figures_of
from penstock.report.figures.sweep import figures as sweep_figures
from penstock.report.markup import Markup, join, tag
from penstock.report.report_data import ReportData
from penstock.report.summary_table import summary_section
from penstock.report.sweep import Sweep

PAGE: Final = "report.html"
_FIGURES: Final = "figures"


@dataclass(frozen=True)
class Report:
    """A self-contained HTML page, and figure files by path relative to its directory."""

    page: str
    files: dict[str, bytes] = field(default_factory=dict)

    def write(self, directory: Path) -> Path:
        """Writes all files, the page last, and returns the path of the page."""
        for name, content in self.files.items():
            write_atomically(directory / name, content)
        write_atomically(directory / PAGE, self.page.encode())
        return directory / PAGE


def report_of(subject: ReportData | Sweep, *, with_files: bool = True) -> Report:
    """Makes the report; without files it has no PNG and PDF, which take most of the time."""
    if isinstance(subject, Sweep):
        return _sweep_report(subject, with_files=with_files)
    return _report(subject, with_files=with_files)


def _report(facts: ReportData, *, with_files: bool) -> Report:
    shown, files_beside = _drawn(figures_of(facts), with_files=with_files)
    result = facts.result
    seeds = f"{len(result.seeds)} seed{'s' * (len(result.seeds) != 1)}"
    sections = [
        ("glance", "At a glance", summary_section(facts)),
        ("figures", "Figures", shown),
        ("expectations", "Expectations", tables.expectations(facts) if result.expect else None),
        ("numbers", "All numbers", _numbers(facts)),
        ("origin", "Where this comes from", tables.provenance(facts)),
    ]
    page = html(
        title=f"{result.id}: {facts.title}",
        subtitle=f"{facts.source or result.id} · profile {result.profile} · {seeds}",
        about=facts.about,
        sections=[(id_, title, content) for id_, title, content in sections if content],
    )
    return Report(page, files_beside)


def _sweep_report(sweep: Sweep, *, with_files: bool) -> Report:
    """One page for several results that differ in some parameters."""
    shown, files_beside = _drawn(sweep_figures(sweep), with_files=with_files)
    first = sweep.points[0]
    points = [
        tag("details", tag("summary", sweep.label(point)), summary_section(point))
        for point in sweep.points
    ]
    sections = [
        ("glance", "At a glance", tables.by_setting(sweep)),
        ("figures", "Figures", shown),
        ("points", "Each setting", join(points)),
        ("origin", "Where this comes from", tables.origins(sweep)),
    ]
    page = html(
        title=f"{first.id} by {', '.join(sweep.keys)}",
        subtitle=f"{first.title} · {first.source} · profile {first.result.profile}"
        f" · {len(sweep.points)} settings",
        about=first.about,
        sections=sections,
    )
    return Report(page, files_beside)


def html(
    *, title: str, subtitle: str, about: str, sections: Sequence[tuple[str, str, Markup]]
) -> str:
    """The complete HTML page; a section is (id, heading, content)."""
    links = [tag("a", heading, href=f"#{id_}") for id_, heading, _ in sections]
    paragraphs = [part for part in about.strip().split("\n\n") if part]
    style = files("penstock.report").joinpath("page.css").read_text(encoding="utf-8")
    head = join(
        [
            Markup('<meta charset="utf-8"/>'),
            Markup('<meta name="viewport" content="width=device-width, initial-scale=1"/>'),
            tag("title", title),
            tag("style", Markup(f"\n{style}")),
        ]
    )
    body = join(
        [
            tag(
                "header",
                tag("h1", title),
                tag("p", subtitle, class_="note"),
                *(tag("p", *_with_code(part), class_="about") for part in paragraphs),
                tag("nav", *links),
            ),
            tag("main", join(_section(*section) for section in sections)),
        ]
    )
    return f"<!DOCTYPE html>\n{tag('html', tag('head', head), tag('body', body), lang='en')}\n"


def _with_code(paragraph: str) -> Iterator[str]:
    """Marks up text between backticks as code."""
    for index, part in enumerate(paragraph.split("`")):
        yield tag("code", part) if index % 2 else part


def _section(id_: str, heading: str, content: Markup) -> Markup:
    return tag("section", tag("h2", heading), content, id=id_)


def _numbers(facts: ReportData) -> Markup:
    note = "Means over seeds ± half of the 95 % interval (Student's t); of one seed there is none."
    return join([tag("p", note, class_="note"), tables.all_figures(facts)])


def _drawn(figures: Iterable[Figure], *, with_files: bool) -> tuple[Markup, dict[str, bytes]]:
    """Renders figures for the page, and the PNG and PDF files that it links to."""
    shown: list[Markup] = []
    files_beside: dict[str, bytes] = {}
    for figure in figures:
        with rendered(figure) as canvas:
            body = svg(figure, canvas)
            links: list[Markup] = []
            if with_files:
                for form, content in (("png", png(canvas)), ("pdf", pdf(canvas))):
                    path = f"{_FIGURES}/{figure.name}.{form}"
                    files_beside[path] = content
                    links += [Markup(" "), tag("a", form.upper(), href=path)]
        shown.append(_figure(figure, body, links))
    return join(shown), files_beside


def _figure(figure: Figure, body: str, links: Sequence[Markup]) -> Markup:
    picture = tag("div", Markup(body), class_="drawing", role="img", aria_label=figure.title)
    caption = tag("figcaption", " ".join(figure.caption.split()), *links)
    return tag("figure", tag("h3", figure.title), picture, caption, id=f"figure-{figure.name}")
