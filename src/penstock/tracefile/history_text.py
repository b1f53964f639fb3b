"""The life of a message as a person reads it: what happened when, then what became of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from penstock.kernel.instant import Instant
from penstock.trace.records import Arrival, Delivery, Drop, Expected, Hop, Loss, Publication, Run
from penstock.tracefile.delivery_verdict import Outcome, Verdict, milliseconds
from penstock.tracefile.drop_location import seconds
from penstock.tracefile.message_history import Life
from penstock.tracefile.message_selector import listed

# So many of one kind are told before the rest are counted.
TOLD: Final = 6
_WHO_WIDE: Final = 24


@dataclass(frozen=True, slots=True)
class Event:
    """`at` is None for what was so when the run ended."""

    at: Instant | None
    kind: str
    who: str
    text: str


def events(life: Life) -> list[Event]:
    """All that happened, in order of time; at one instant, causes first."""
    found = [
        *_published(life.publication),
        *map(_hop, life.hops),
        *map(_drop, life.drops),
        *map(_arrival, life.arrivals),
        *(_delivery(row) for row in life.deliveries),
        *(event for row in life.losses for event in _loss(row)),
    ]
    for asked in life.requests:
        again = f" again (round {asked.round})" if asked.round else ""
        text = f"asked for it{again}: {asked.size_bytes} B"
        found.append(Event(asked.sent_ns, "requests", asked.requester, text))
    for repair in life.repairs:
        how = "unicast" if repair.is_unicast else "multicast"
        text = f"sent a repair that {repair.requester} asked for: {how}, {repair.size_bytes} B"
        found.append(Event(repair.sent_ns, "repairs", repair.repairer, text))
    return sorted(found, key=lambda event: (event.at is None, event.at or 0))


def narrate(
    life: Life,
    run: Run,
    verdicts: list[Verdict],
    *,
    only: str | None = None,
    everything: bool = False,
) -> Iterator[str]:
    """The lines to print; without `everything`, long lists are counted rather than told."""
    most = None if everything else TOLD
    yield f"{life.message}, run {life.run} ({run.experiment} {run.variant}, seed {run.seed})"
    if only is not None:
        yield f"only what concerns {only}"
    elif life.is_recorded(Expected):
        names = f": {listed(life.expected, most)}" if life.expected else ""
        yield f"expected receivers: {len(life.expected)}{names}"
    if life.not_recorded:
        yield f"not recorded: {', '.join(life.not_recorded)}"
    yield ""
    yield from _timeline(events(life), most)
    yield ""
    yield _summary(life, verdicts)
    yield from _said(verdicts, most)


def _timeline(found: list[Event], most: int | None) -> Iterator[str]:
    told = list(_abridged(found, most))
    wide = min(max((len(who) for _, who, _ in told), default=0), _WHO_WIDE)
    for when, who, text in told:
        yield f"{when:>14}  {who:<{wide}}  {text}"


def _abridged(found: list[Event], most: int | None) -> Iterator[tuple[str, str, str]]:
    """When, who and what; after the first few of a kind, how many more there are."""
    totals = Counter(event.kind for event in found)
    told: Counter[str] = Counter()
    for event in found:
        kind = event.kind
        told[kind] += 1
        when = "end of run" if event.at is None else f"{seconds(event.at)} s"
        # One more is told: to count it would be no shorter.
        if most is None or told[kind] <= most or totals[kind] == most + 1:
            yield when, event.who, event.text
        elif told[kind] == totals[kind]:
            yield "…", "", f"{totals[kind] - most} more {kind}, the last at {when}"


def _summary(life: Life, verdicts: list[Verdict]) -> str:
    if verdicts:
        counts = Counter(verdict.outcome for verdict in verdicts)
        said = [f"{counts[outcome]} {outcome}" for outcome in Outcome if counts[outcome]]
        return f"verdict: {', '.join(said)}"
    if life.is_recorded(Expected):
        return "verdict: nobody was expected to get it, and nobody did"
    return "verdict: none, for the trace tells of no receiver"


def _said(verdicts: list[Verdict], most: int | None) -> Iterator[str]:
    """One line for all who share a verdict."""
    for outcome in Outcome:
        alike: dict[str, list[str]] = {}
        for verdict in verdicts:
            if verdict.outcome is outcome:
                alike.setdefault(_sentence(verdict), []).append(verdict.subscriber)
        for at, (text, names) in enumerate(alike.items()):
            if most is not None and at >= most and len(alike) > most + 1:
                rest = sum(map(len, list(alike.values())[at:]))
                yield f"  … {rest} more {outcome}"
                break
            yield f"  {listed(names, most)}{_of(names, most)}: {text}"


def _of(names: list[str], most: int | None) -> str:
    return f" ({len(names)})" if most is not None and len(names) > most else ""


def _sentence(verdict: Verdict) -> str:
    lost = "lost: " if verdict.outcome is Outcome.LOST else ""
    stray = verdict.is_expected is False and verdict.outcome is not Outcome.NOT_FOR_IT
    return f"{lost}{verdict.text}{' — NOT EXPECTED to get it' if stray else ''}"


# One table each.


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
        what += f", held back for {milliseconds(row.published_ns - row.offered_ns)}"
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
    delay = milliseconds(row.arrived_ns - row.published_ns)
    plural = "" if row.brokers == 1 else "s"
    text = f"{what} after {delay} and {row.brokers} broker{plural}"
    return Event(row.arrived_ns, "arrivals", row.subscriber, text)


def _delivery(row: Delivery) -> Event:
    latch = "" if row.latch_ns is None else f", latch {milliseconds(row.latch_ns)}"
    waited = ""
    if row.delivered_ns is not None and row.arrived_ns is not None:
        waiting = row.delivered_ns - row.arrived_ns
        waited = f", {milliseconds(waiting)} after it came" if waiting else " at once"
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
