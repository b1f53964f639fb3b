"""What guaranteed streams publish, deliver and send again, in plain Python."""

from __future__ import annotations

from statistics import fmean
from typing import Any

from penstock.kernel.instant import SECOND
from penstock.trace.records import CrossingSample, StreamSample
from tests.metrics.brute.run import BruteRun, grouped, share


def measure(run: BruteRun) -> None:
    if run.has("streams"):
        rates(run)
        doubt_horizon(run)
    if run.has("crossings"):
        crossings(run)


def sampled(
    run: BruteRun, kind: type[StreamSample] | type[CrossingSample]
) -> list[tuple[int, Any]]:
    """Samples within the experiment, each with the second that it ends."""
    return [
        ((r.sampled_ns - run.origin - 1) // SECOND, r)
        for r in run.rows(kind)
        if run.is_sampled_within(r.sampled_ns)
    ]


def rate(run: BruteRun, name: str, counts: list[tuple[int, int]], entity: str = "") -> None:
    by_second = dict.fromkeys(range(run.seconds), 0)
    for second, count in counts:
        by_second[second] += count
    run.series(name, by_second, entity=entity)
    for phase, (low, high) in run.spans.items():
        if high > low:
            total = sum(count for second, count in counts if low <= second < high)
            run.value(name, total / (high - low), entity=entity, phase=phase)


def rates(run: BruteRun) -> None:
    samples = sampled(run, StreamSample)
    rate(run, "publish_rate", [(second, r.published_messages) for second, r in samples])
    for broker, own in grouped(samples, lambda each: each[1].broker).items():
        published = [(second, r.published_messages) for second, r in own]
        if any(count for _, count in published):
            rate(run, "publish_rate", published, broker)
        if not any(r.wanted_messages or r.delivered_messages for _, r in own):
            continue
        rate(run, "reading_rate", [(second, r.delivered_messages) for second, r in own], broker)
        for phase, (low, high) in run.spans.items():
            its = [r for second, r in own if low <= second < high]
            got, due = (sum(r.delivered_messages for r in its), sum(r.wanted_messages for r in its))
            run.value("reading_share", share(got, due), entity=broker, phase=phase)


def doubt_horizon(run: BruteRun) -> None:
    samples = [each for each in sampled(run, StreamSample) if each[1].behind_ns is not None]
    for broker, own in grouped(samples, lambda each: each[1].broker).items():
        behind = {
            second: fmean(r.behind_ns for _, r in its) / SECOND
            for second, its in sorted(grouped(own, lambda each: each[0]).items())
        }
        run.series("doubt_behind", behind, entity=broker)
        moved = {s: 1 - (b - behind[s - 1]) for s, b in behind.items() if s - 1 in behind}
        run.series("doubt_rate", moved, entity=broker)
        for phase, (low, high) in run.spans.items():
            its = [second for second in behind if low <= second < high]
            if its:
                mean = fmean(behind[second] for second in its)
                run.value("doubt_behind", mean, entity=broker, phase=phase)
            if len(its) > 1:
                passed = its[-1] - its[0]
                moves = (passed - (behind[its[-1]] - behind[its[0]])) / passed
                run.value("doubt_rate", moves, entity=broker, phase=phase)


def crossings(run: BruteRun) -> None:
    for link, own in grouped(sampled(run, CrossingSample), lambda each: each[1].link).items():
        if not any(r.first_messages or r.repair_messages or r.repeat_messages for _, r in own):
            continue
        for phase, (low, high) in run.spans.items():
            its = [r for second, r in own if low <= second < high]
            first = sum(r.first_messages for r in its)
            repair = sum(r.repair_messages for r in its)
            repeat = sum(r.repeat_messages for r in its)
            run.value("crossings_first", first, entity=link, phase=phase)
            run.value("crossings_repair", repair, entity=link, phase=phase)
            run.value("crossings_repeat", repeat, entity=link, phase=phase)
            wasted = share(repeat, first + repair + repeat)
            run.value("crossings_wasted", wasted, entity=link, phase=phase)
