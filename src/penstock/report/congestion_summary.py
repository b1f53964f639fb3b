"""The summary of congestion control: losses, drops, deliveries, link use and fairness.

Messages lost in the network and messages dropped at the source are separate columns:
the former used bandwidth in vain, the latter were never sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import median
from typing import Final

from penstock.metrics.statistics import Estimate
from penstock.report.markup import Cell, Content, Markup, join, table, tag
from penstock.report.number_format import (
    format_estimate,
    format_interval,
    format_number,
    format_percent,
)
from penstock.report.report_data import ReportData

# Column heading by metric, in the order of the table.
_COLUMNS: Final = {
    "false_negatives": "lost in the network",
    "dropped_at_source": "dropped at source",
    "deliveries": "delivered",
    "bottleneck_use": "use of the bottleneck",
    "jain": "Jain's index",
    "effairness": "effairness",
    "feedback_rate": "feedback at a publisher (/s)",
    "ack_rate": "acknowledgements (/s)",
    "queue_delay_mean": "mean queueing delay (ms)",
    "queue_delay_p95": "95 % of it below (ms)",
}
_PERCENT: Final = ("bottleneck_use",)
# Indices between 0 and 1, shown with three decimals.
_INDICES: Final = ("jain", "effairness")
_ROWS_MAX: Final = 12


def congestion_table(facts: ReportData) -> Markup | None:
    """One row per variant, then fairness per receiver; None without congestion control."""
    if not facts.controlled:
        return None
    names = facts.networks
    metrics = [metric for metric in _COLUMNS if _is_shown(facts, metric)]
    rows: list[list[Content]] = [
        [name, *(_cell(facts, name, metric) for metric in metrics)] for name in names
    ]
    parts = [table(["", *(_COLUMNS[metric] for metric in metrics)], rows, class_="glance")]
    fairness = _fairness(facts, names)
    if fairness:
        headings = ["received (/s) and effairness", *names]
        parts += [table(headings, fairness, class_="glance"), tag("p", _NOTE, class_="note")]
    return join(parts)


_NOTE: Final = (
    "Effairness compares with an ideal that knows what each link bears and how long each is"
    " served; Jain's index asks for the same rate for all, whatever they want."
)


def _is_shown(facts: ReportData, metric: str) -> bool:
    """Hides acknowledgements if no variant uses any; most laws do not."""
    found = [e.mean for n in facts.networks if (e := facts.figure(n, metric)) is not None]
    return any(found) if metric == "ack_rate" else bool(found)


def congestion_sentences(facts: ReportData) -> str:
    """A sentence per baseline that compares it with its controlled variants."""
    compared: dict[str, list[str]] = {}
    for name in facts.controlled:
        off = facts.baseline_of(name)
        if off is not None:
            compared.setdefault(off, []).append(name)
    sentences = [_comparison_sentence(facts, off, names) for off, names in compared.items()]
    return " ".join(sentence for sentence in sentences if sentence)


def _comparison_sentence(facts: ReportData, off: str, names: Sequence[str]) -> str:
    lost = facts.figure(off, "false_negatives")
    if lost is None or not lost.mean:
        return ""
    parts = [part for name in names if (part := _losses_left(facts, name, off, lost))]
    if not parts:
        return ""
    without = format_interval(lost.mean, lost.ci95)
    which = "" if off == "off" else f" ({off})"
    return (
        f"Without control{which} {without} messages are lost in the network."
        f" By {'; by '.join(parts)}."
    )


def _losses_left(facts: ReportData, name: str, off: str, lost: Estimate) -> str:
    left, dropped = (facts.figure(name, m) for m in ("false_negatives", "dropped_at_source"))
    delivered, baseline = (facts.figure(n, "deliveries") for n in (name, off))
    if left is None or delivered is None or baseline is None or not baseline.mean:
        return ""
    gone = format_percent(1 - left.mean / lost.mean)
    change = delivered.mean / baseline.mean - 1
    text = f"{name}: {format_number(left.mean)} ({gone} fewer), {format_percent(abs(change))}"
    text += " more" if change >= 0 else " less"
    text += " delivered"
    return text if dropped is None else f"{text}, {format_number(dropped.mean)} dropped at source"


def _cell(facts: ReportData, name: str, metric: str) -> Cell:
    figure = facts.figure(name, metric)
    if figure is None:
        return Cell("–")
    top = max(e.mean for n in facts.networks if (e := facts.figure(n, metric)) is not None)
    if metric in _PERCENT:
        text = format_percent(figure.mean)
    elif metric in _INDICES:
        text = f"{figure.mean:.3f}"
    else:
        text = format_estimate(figure)
    return Cell(text, figure.mean / top if top > 0 and len(facts.networks) > 1 else None)


def _fairness(facts: ReportData, names: Sequence[str]) -> list[list[Content]]:
    """Rows of effairness: receivers, then sessions (all receivers of a publisher), then all."""
    pairs = {name: facts.pairs(name, "effairness") for name in names}
    every = sorted({pair for own in pairs.values() for pair in own})
    if not every:
        return []
    rows: list[list[Content]] = []
    if len(every) <= _ROWS_MAX:
        for receiver, publisher in every:
            texts = [_pair_text(facts, name, (receiver, publisher)) for name in names]
            rows.append([f"{receiver} from {publisher}", *texts])
    else:
        spread: dict[str, Callable[[Iterable[float]], float]]
        spread = {"least": min, "median": median, "most": max}
        rows += [
            [f"{label} of {len(every)} receivers",
             *(_index_text(of(own.values())) if (own := pairs[name]) else "–" for name in names)]
            for label, of in spread.items()
        ]  # fmt: skip
    publishers = sorted({publisher for _, publisher in every})
    if 1 < len(publishers) <= _ROWS_MAX:
        rows += [
            [
                f"all from {publisher}",
                *(_index_text_of(facts, n, f"effairness.{publisher}") for n in names),
            ]
            for publisher in publishers
        ]
    rows.append(["the network", *(_index_text_of(facts, name, "effairness") for name in names)])
    return rows


def _pair_text(facts: ReportData, name: str, pair: tuple[str, str]) -> str:
    rate, index = (facts.pairs(name, m).get(pair) for m in ("received_mps", "effairness"))
    parts = [] if rate is None else [f"{format_number(rate)}/s"]
    return ", ".join([*parts, "–" if index is None else _index_text(index)])


def _index_text_of(facts: ReportData, name: str, metric: str) -> str:
    figure = facts.figure(name, metric)
    return "–" if figure is None else _index_text(figure.mean)


def _index_text(value: float) -> str:
    return f"{value:.3f}"
