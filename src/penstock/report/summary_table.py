"""The summary at the top of a page: what is compared, its benefit and cost, and the verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from penstock.lab.expectations import ExpectationResult, is_met
from penstock.metrics.statistics import Estimate
from penstock.report.congestion_summary import congestion_sentences, congestion_table
from penstock.report.markup import Cell, Content, Markup, join, table, tag
from penstock.report.number_format import (
    format_estimate,
    format_interval,
    format_number,
    format_percent,
)
from penstock.report.report_data import ReportData

# Metrics that distinguish orderings and networks, with their column headings.
_METRIC_LABELS: Final = {
    "false_negatives": "never delivered",
    "header_bytes": "headers and signals a message",
    "recovery_bytes": "requests and repairs a message",
    "requests_not_duplicated": "requests not duplicated",
    "repairs_not_duplicated": "repairs not duplicated",
    "request_to_repair_p80": "80 % of repairs sent within",
    "repaired_delay_p80": "80 % of repairs delivered within",
    "delivery_delay_mean": "mean delay of originals",
    "violations": "out of order",
    "violations_removed": "removed",
    "extra_delay_mean": "mean extra delay",
    "extra_delay_pairs_p90": "90 % of pairs below",
    "late_drops": "dropped as late",
    "losses_declared": "losses declared",
    "loss_precision": "of these true",
    "loss_recall": "losses found",
    "residual": "missing that came late",
    "detected.0": "losses noticed",
    "detected.4": "with four others",
    "latch_with_rate": "latch follows rate",
    "false_negative_ratio": "never came",
    "delivery_rate_peak": "deliveries at most",
    "delay_p50": "median delay",
    "messages_with_2_or_fewer": "messages with ≤ 2 receivers",
    "pair_match_p80": "80 % of pairs match below",
    "violation_ratio": "share out of order",
    "repairs_of_unicast": "repairs by links, of unicast",
    "repair_nodes_of_unicast": "repairs by nodes, of unicast",
    "needs_of_unicast": "reports of needs, of unicast",
    "feedback_of_unicast": "all reports, of unicast",
    "aggregation.messages": "reports aggregated",
    "cast_time_over_bound": "time over its bound",
    "cast_relays": "relays",
}
_SHARES: Final = (
    *("violations_removed", "false_negative_ratio", "violation_ratio"),
    *("requests_not_duplicated", "repairs_not_duplicated", "aggregation.messages"),
    *("repairs_of_unicast", "repair_nodes_of_unicast", "needs_of_unicast", "feedback_of_unicast"),
)
_COLUMNS_MAX: Final = 8
_NAMES_SHOWN_MAX: Final = 6
_KINDS: Final = ("off", "constant", "literal", "default")


def summary_section(facts: ReportData) -> Markup:
    """The summary: a few sentences, then tables."""
    sentences = (
        congestion_sentences(facts),
        _recovery_sentence(facts),
        _ordering_sentence(facts),
        expectations_sentence(facts),
    )
    paragraphs = [tag("p", sentence) for sentence in sentences if sentence]
    controlled = congestion_table(facts)
    recovering = [name for name in facts.networks if facts.never_delivered(name) is not None]
    if controlled is not None:
        # Controlled variants may use recovery too.
        also = [_side_by_side(facts, recovering)] if len(recovering) > 1 else []
        return join([*paragraphs, controlled, *also])
    if len(recovering) > 1:
        # The variants compare kinds of recovery; all use the same ordering.
        return join([*paragraphs, _side_by_side(facts, recovering)])
    orderings = [name for name in facts.names if facts.ordering(name) is not None]
    if len(facts.networks) > 1 and orderings:
        return join([*paragraphs, _over_variants(facts, orderings)])
    return join([*paragraphs, _side_by_side(facts, orderings or facts.names)])


def expectations_sentence(facts: ReportData) -> str:
    """The number of expectations met, and the names of those that are not or are unsure."""
    verdicts = facts.result.expect
    if not verdicts:
        return ""
    met = sum(verdict.ok for verdict in verdicts)
    parts = [f"{met} of {len(verdicts)} expectations are met"]
    for outcome in ("missed", "unsure", "not measured"):
        named = [f"{v.metric} of {v.variant}" for v in verdicts if verdict_word(v) == outcome]
        if named:
            more = (
                f" and {len(named) - _NAMES_SHOWN_MAX} more"
                if len(named) > _NAMES_SHOWN_MAX
                else ""
            )
            parts.append(f"{outcome}: {', '.join(named[:_NAMES_SHOWN_MAX])}{more}")
    return f"{'; '.join(parts)}."


def verdict_word(verdict: ExpectationResult) -> str:
    """The verdict as a word; "unsure" if the mean meets the goal but the interval does not."""
    if verdict.ok:
        return "met"
    if verdict.value is None:
        return "not measured"
    mean_only = Estimate(verdict.value, None)
    return "unsure" if is_met(mean_only, verdict.op, verdict.goal) else "missed"


def describe_ordering(facts: ReportData, name: str) -> str:
    """A short description of an ordering, from its settings."""
    kind, record = facts.kind(name), facts.record(name)
    looks_at = f", record of {record}" if record else ", no record"
    match kind:
        case "off":
            return "as messages arrive"
        case "constant":
            return f"waits {format_number(facts.setting(name, 'latch_ms'))} ms{looks_at}"
        case "literal":
            printed = ", as printed" if facts.setting(name, "as_printed") else ""
            return f"the paper's, P = {facts.setting(name, 'chance'):g}{looks_at}{printed}"
        case "default":
            return f"chance {facts.setting(name, 'chance'):g}{looks_at}"
    return ""


def _side_by_side(facts: ReportData, names: Sequence[str]) -> Markup:
    """One row per name, in the order off, constant, literal, default."""
    names = sorted(names, key=lambda name: _rank(facts.kind(name)))
    metrics = _metrics(facts, names)
    headings = ["", *_headings(facts, metrics)]
    # A single row gets no bars: there is nothing to compare.
    tops = {m: _top(facts, names, m) if len(names) > 1 else 0.0 for m in metrics}
    rows: list[list[Content]] = []
    for name in names:
        row: list[Content] = [_name_cell(facts, name, name)]
        row += [_cell(_figure(facts, name, metric), metric, tops[metric]) for metric in metrics]
        rows.append(row)
    return table(headings, rows, class_="glance")


def _over_variants(facts: ReportData, names: Sequence[str]) -> Markup:
    """One row per ordering, with the lowest and highest mean over all variants."""
    metrics = _metrics(facts, names)
    orderings = dict.fromkeys(str(facts.ordering(name)) for name in names)
    rows: list[list[Content]] = []
    for ordering in orderings:
        own = [name for name in names if facts.ordering(name) == ordering]
        row: list[Content] = [_name_cell(facts, own[0], ordering)]
        row += [_range(facts, own, metric) for metric in metrics]
        rows.append(row)
    note = f"Lowest to highest mean over {len(facts.networks)} variants; all of them are below."
    headings = ["", *_headings(facts, metrics)]
    return join([table(headings, rows, class_="glance"), tag("p", note, class_="note")])


def _name_cell(facts: ReportData, name: str, label: str) -> Markup:
    """The label with a description of the ordering below it."""
    description = describe_ordering(facts, name)
    return join([label, tag("small", description)] if description else [label])


def _metrics(facts: ReportData, names: Sequence[str]) -> list[str]:
    known = {metric for name in names for metric in facts.result.variants[name]}
    expected_metrics = dict.fromkeys(v.metric for v in facts.result.expect if v.metric in known)
    return (distinguishing_metrics(facts, names) or list(expected_metrics) or sorted(known))[
        :_COLUMNS_MAX
    ]


def distinguishing_metrics(facts: ReportData, names: Sequence[str]) -> list[str]:
    """Metrics that distinguish these names, the most important first."""
    return [metric for metric in _METRIC_LABELS if _distinguishes(facts, names, metric)]


def _distinguishes(facts: ReportData, names: Sequence[str], metric: str) -> bool:
    """Tells whether a column compares anything: not only zeros, and not only one name."""
    found = [e.mean for name in names if (e := _figure(facts, name, metric)) is not None]
    return any(found) and (len(found) > 1 or len(names) == 1)


def _headings(facts: ReportData, metrics: Sequence[str]) -> list[str]:
    units = facts.metrics()
    return [
        _METRIC_LABELS.get(m, m) + (f" ({units[m]})" if units[m] and units[m] != "messages" else "")
        for m in metrics
    ]


def _cell(figure: Estimate | None, metric: str, top: float) -> Cell:
    if figure is None:
        return Cell("–")
    return Cell(_figure_text(figure, metric), figure.mean / top if top > 0 else None)


def _figure(facts: ReportData, name: str, metric: str) -> Estimate | None:
    """A figure; false negatives are those of applications, where recovery was measured."""
    return (
        facts.never_delivered(name) if metric == "false_negatives" else facts.figure(name, metric)
    )


def _figure_text(figure: Estimate, metric: str) -> str:
    """A figure as text; shares as percentages."""
    if metric in _SHARES:
        return format_percent(figure.mean)
    return format_estimate(figure)


def _top(facts: ReportData, names: Sequence[str], metric: str) -> float:
    found = [e.mean for name in names if (e := _figure(facts, name, metric)) is not None]
    return max(found, default=0.0)


def _range(facts: ReportData, names: Sequence[str], metric: str) -> str:
    means = [e.mean for name in names if (e := _figure(facts, name, metric)) is not None]
    if not means:
        return "–"
    low, high = format_number(min(means)), format_number(max(means))
    return low if low == high else f"{low} to {high}"


def _rank(kind: str | None) -> int:
    return _KINDS.index(kind) if kind in _KINDS else 0


def _recovery_sentence(facts: ReportData) -> str:
    """Compares the missed deliveries of each kind of recovery with "off", and their bytes."""
    kinds = {n: facts.parameter(n, "transport.recovery.kind") for n in facts.networks}
    off = next((name for name, kind in kinds.items() if kind == "off"), None)
    missed = None if off is None else facts.never_delivered(off)
    if missed is None or not missed.mean:
        return ""
    parts = []
    for name in facts.networks:
        left, header = facts.never_delivered(name), facts.figure(name, "header_bytes")
        if name != off and left is not None and header is not None:
            gone = format_percent(1 - left.mean / missed.mean)
            parts.append(
                f"{name}: {format_number(left.mean)} ({gone} fewer),"
                f" at {format_number(round(header.mean))} B"
                " of headers and signals a message"
            )
    if not parts:
        return ""
    without = format_interval(missed.mean, missed.ci95)
    return f"Without recovery {without} deliveries are missed. By {'; by '.join(parts)}."


def _ordering_sentence(facts: ReportData) -> str:
    """Compares the order violations left by one ordering of each kind with those of "off"."""
    off = next((n for n in facts.names if facts.kind(n) == "off"), None)
    raw = None if off is None else facts.figure(off, "violations")
    if raw is None or not raw.mean:
        return ""
    parts = [text for name in _one_of_each_kind(facts) if (text := _violations_left(facts, name))]
    if not parts:
        return ""
    arrived = format_interval(raw.mean, raw.ci95)
    return f"{arrived} messages arrive out of order. Left by {'; by '.join(parts)}."


def _one_of_each_kind(facts: ReportData) -> list[str]:
    """One ordering of each kind; of constants the longest latch, which is the safest."""
    found = []
    for kind in ("default", "literal", "constant"):
        own = [n for n in facts.names if facts.kind(n) == kind]
        own.sort(key=lambda n: (n != kind, -float(facts.setting(n, "latch_ms") or 0)))
        found += own[:1]
    return found


def _violations_left(facts: ReportData, name: str) -> str:
    left, removed, cost = (
        facts.figure(name, metric)
        for metric in ("violations", "violations_removed", "extra_delay_mean")
    )
    if left is None or removed is None or cost is None:
        return ""
    return (
        f"{name}: {format_number(left.mean)} ({format_percent(removed.mean)} removed),"
        f" at {format_number(cost.mean)} ms of extra delay a message"
    )
