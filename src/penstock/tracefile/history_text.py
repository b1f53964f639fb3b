"""The history of a message as text: what happened when, then the verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from penstock.kernel.instant import Instant
from penstock.trace.records import Arrival, Delivery, Drop, Expected, Hop, Loss, Publication, Run
from penstock.tracefile.delivery_verdict import DeliveryVerdict, Outcome, format_milliseconds
from penstock.tracefile.drop_location import format_seconds
from penstock.tracefile.message_history import MessageHistory
from penstock.tracefile.message_selector import abbreviate_names

# Events of one kind that are listed; the rest are counted.
EVENTS_SHOWN_MAX: Final = 6
_ACTOR_WIDTH_MAX: Final = 24


@dataclass(frozen=True, slots=True)
class Event:
    """One line of the history; `at` is None for the state at the end of the run."""

    at: Instant | None
    kind: str
    actor: str
    text: str


def events(history: MessageHistory) -> list[Event]:
    """All events in order of time; at one instant, causes first."""
    found = [
        *_published(history.publication),
        *map(_hop, history.hops),
        *map(_drop, history.drops),
        *map(_arrival, history.arrivals),
        *(_delivery(row) for row in history.deliveries),
        *(event for row in history.losses for event in _loss(row)),
    ]
    for request in history.requests:
        again = f" again (round {request.round})" if request.round else ""
        text = f"asked for it{again}: {request.size_bytes} B"
        found.append(Event(request.sent_ns, "requests", request.requester, text))
    for repair in history.repairs:
        how = "unicast" if repair.is_unicast else "multicast"
        text = f"sent a repair that {repair.requester} asked for: {how}, {repair.size_bytes} B"
        found.append(Event(repair.sent_ns, "repairs", repair.repairer, text))
    return sorted(found, key=lambda event: (event.at is None, event.at or 0))


def history_lines(
    history: MessageHistory,
    run: Run,
    verdicts: list[DeliveryVerdict],
    *,
    only: str | None = None,
    everything: bool = False,
) -> Iterator[str]:
    """The lines to print; without `everything`, long lists are abridged."""
    shown_max = None if everything else EVENTS_SHOWN_MAX
    yield f"{history.message}, run {history.run} ({run.experiment} {run.variant}, seed {run.seed})"
    if only is not None:
        yield f"only what concerns {only}"
    elif history.is_recorded(Expected):
        names = f": {abbreviate_names(history.expected, shown_max)}" if history.expected else ""
        yield f"expected receivers: {len(history.expected)}{names}"
    if history.not_recorded:
        yield f"not recorded: {', '.join(history.not_recorded)}"
    yield ""
    yield from _timeline(events(history), shown_max)
    yield ""
    yield _summary(history, verdicts)
    yield from _verdict_lines(verdicts, shown_max)


def _timeline(found: list[Event], shown_max: int | None) -> Iterator[str]:
    lines = list(_abridge(found, shown_max))
    width = min(max((len(actor) for _, actor, _ in lines), default=0), _ACTOR_WIDTH_MAX)
    for when, actor, text in lines:
        yield f"{when:>14}  {actor:<{width}}  {text}"


def _abridge(found: list[Event], shown_max: int | None) -> Iterator[tuple[str, str, str]]:
    """Time, actor and text; after the first of each kind, a count of the others."""
    totals = Counter(event.kind for event in found)
    shown: Counter[str] = Counter()
    for event in found:
        kind = event.kind
        shown[kind] += 1
        when = "end of run" if event.at is None else f"{format_seconds(event.at)} s"
        # One more than the limit is listed too: a count would take as much space.
        if shown_max is None or shown[kind] <= shown_max or totals[kind] == shown_max + 1:
            yield when, event.actor, event.text
        elif shown[kind] == totals[kind]:
            yield "…", "", f"{totals[kind] - shown_max} more {kind}, the last at {when}"


def _summary(history: MessageHistory, verdicts: list[DeliveryVerdict]) -> str:
    if verdicts:
        counts = Counter(verdict.outcome for verdict in verdicts)
        counts_text = [f"{counts[outcome]} {outcome}" for outcome in Outcome if counts[outcome]]
        return f"verdict: {', '.join(counts_text)}"
    if history.is_recorded(Expected):
        return "verdict: nobody was expected to get it, and nobody did"
    return "verdict: none, for the trace tells of no receiver"


def _verdict_lines(verdicts: list[DeliveryVerdict], shown_max: int | None) -> Iterator[str]:
    """One line for all receivers that share a verdict."""
    for outcome in Outcome:
        subscribers_by_text: dict[str, list[str]] = {}
        for verdict in verdicts:
            if verdict.outcome is outcome:
                subscribers_by_text.setdefault(_verdict_text(verdict), []).append(
                    verdict.subscriber
                )
        for at, (text, names) in enumerate(subscribers_by_text.items()):
            if (
                shown_max is not None
                and at >= shown_max
                and len(subscribers_by_text) > shown_max + 1
            ):
                rest = sum(map(len, list(subscribers_by_text.values())[at:]))
                yield f"  … {rest} more {outcome}"
                break
            yield f"  {abbreviate_names(names, shown_max)}{_count_suffix(names, shown_max)}: {text}"


def _count_suffix(names: list[str], shown_max: int | None) -> str:
    return f" ({len(names)})" if shown_max is not None and len(names) > shown_max else ""


def _verdict_text(verdict: DeliveryVerdict) -> str:
    lost = "lost: " if verdict.outcome is Outcome.LOST else ""
    stray = verdict.is_expected is False and verdict.outcome is not Outcome.NOT_FOR_IT
    return f"{lost}{verdict.text}{' — NOT EXPECTED to get it' if stray else ''}"


# Events from one table each.


def _published(row: Publication | None) -> Iterator[Event]:
    if row is None:
        return
    if row.published_ns is None:
        text = f"offered, and never sent: {row.fate}, {row.size_bytes} B"
        yield Event(row.offered_ns, "publications", row.publisher, text)
        return
    what = f"{row.size_bytes} B of class {row.traffic_class}"
    if row.offered_ns != row.published_ns:
        yield Event(row.offered_ns, "offered", row.publisher, "offered by its application")
        what += f", held back for {format_milliseconds(row.published_ns - row.offered_ns)}"
    fate = "published" if row.fate == "sent" else str(row.fate)
    yield Event(row.published_ns, "publications", row.publisher, f"{fate}: {what}")


_DECISIONS: Final = {
    "entered": "took it from a client",
    "forwarded": "forwarded it to {towards}",
    "handed_over": "handed it over to {towards}",
    "filtered": "filtered it: nobody anywhere is known to want it",
    "no_match": "found no client whose exact filter matches",
    "dropped": "dropped it: {reason}",
}


def _hop(row: Hop) -> Event:
    text = _DECISIONS[row.decision].format(towards=row.towards, reason=row.reason)
    kind = f"dropped for {row.reason}" if row.reason else row.decision.replace("_", " ")
    return Event(row.decided_ns, kind, row.broker, text)


def _drop(row: Drop) -> Event:
    text = f"DROPPED: {row.reason}, {row.size_bytes} B of class {row.traffic_class}"
    return Event(row.dropped_ns, "drops", row.where, text)


def _arrival(row: Arrival) -> Event:
    what = "a repair arrived" if row.is_repair else "arrived"
    delay = format_milliseconds(row.arrived_ns - row.published_ns)
    plural = "" if row.brokers == 1 else "s"
    text = f"{what} after {delay} and {row.brokers} broker{plural}"
    return Event(row.arrived_ns, "arrivals", row.subscriber, text)


def _delivery(row: Delivery) -> Event:
    latch = "" if row.latch_ns is None else f", latch {format_milliseconds(row.latch_ns)}"
    waited = ""
    if row.delivered_ns is not None and row.arrived_ns is not None:
        waiting = row.delivered_ns - row.arrived_ns
        waited = f", {format_milliseconds(waiting)} after it came" if waiting else " at once"
    at = row.arrived_ns if row.delivered_ns is None else row.delivered_ns
    text = f"{row.fate}{waited}{latch} [{row.ordering}]"
    return Event(at, "deliveries", row.subscriber, text)


def _loss(row: Loss) -> Iterable[Event]:
    mark = f" [{row.ordering}]"
    found = f"found it missing, by {row.found_by}{mark}"
    yield Event(row.detected_ns, "found missing", row.subscriber, found)
    if row.lost_ns is not None:
        yield Event(row.lost_ns, "declared lost", row.subscriber, f"declared it lost{mark}")
    if row.resolved_ns is None:
        text = f"still {row.state}, counted as {row.resolution}{mark}"
    else:
        text = f"no longer {row.state}: {row.resolution}{mark}"
    yield Event(row.resolved_ns, "resolutions", row.subscriber, text)
