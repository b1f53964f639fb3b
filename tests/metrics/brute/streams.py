"""What guaranteed streams publish, deliver and send again, in plain Python."""

from __future__ import annotations

from statistics import fmean
from typing import Any

from penstock.kernel.instant import SECOND, Instant
from penstock.trace.records import CrossingSample, LinkSample, StreamAlert, StreamSample
from tests.metrics.brute.run import BruteRun, grouped, share


def measure(run: BruteRun) -> None:
    if run.has("streams"):
        rates(run)
        shares(run)
        doubt_horizon(run)
        nack_window(run)
        silence(run)
        recovery(run)
    if run.has("crossings"):
        crossings(run)
    if run.has("crossings", "links"):
        goodput(run)
    if run.has("alerts"):
        alerts(run)


def sampled(
    run: BruteRun, kind: type[StreamSample] | type[CrossingSample] | type[LinkSample]
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
        rates = {
            second: fmean(r.doubt_rate for r in rated)
            for second, its in grouped(own, lambda each: each[0]).items()
            if (rated := [r for _, r in its if r.doubt_rate is not None])
        }
        run.series("doubt_rate_smooth", rates, entity=broker)
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


def jain(counts: list[int]) -> float:
    squares = sum(count * count for count in counts)
    return sum(counts) ** 2 / (len(counts) * squares) if squares else 1


def shares(run: BruteRun) -> None:
    samples = [each for each in sampled(run, StreamSample) if each[1].demanded_messages is not None]
    pubends = {
        pubend
        for pubend, own in grouped(samples, lambda each: each[1].pubend).items()
        if any(r.published_messages or r.demanded_messages for _, r in own)
    }
    for phase, (low, high) in run.spans.items():
        its = [r for second, r in samples if low <= second < high]
        demanded = sum(r.demanded_messages for r in its)
        if not demanded:
            continue
        published = [sum(r.published_messages for r in its if r.pubend == p) for p in pubends]
        run.value("publish_share", sum(published) / demanded, phase=phase)
        run.value("publish_jain", jain(published), phase=phase)


def nack_window(run: BruteRun) -> None:
    samples = [each for each in sampled(run, StreamSample) if each[1].nack_window_ns is not None]
    for broker, own in grouped(samples, lambda each: each[1].broker).items():
        by_second = grouped(own, lambda each: each[0])
        means = {s: fmean(r.nack_window_ns for _, r in its) / 1e9 for s, its in by_second.items()}
        run.series("nack_window", means, entity=broker)
        for phase, (low, high) in run.spans.items():
            windows = [r.nack_window_ns for second, r in own if low <= second < high]
            if windows:
                run.value("nack_window", fmean(windows) / 1e9, entity=broker, phase=phase)


def silence(run: BruteRun) -> None:
    rows = sorted((r for _, r in sampled(run, StreamSample)), key=lambda r: r.sampled_ns)
    for broker, own in grouped(rows, lambda r: r.broker).items():
        if not any(r.wanted_messages for r in own):
            continue
        for phase, (low, high) in run.spans.items():
            its = [r for r in own if is_between(run, r.sampled_ns, low, high)]
            if its:
                by_pubend = grouped(its, lambda r: r.pubend).values()
                worst = max(longest_silence(each) for each in by_pubend)
                run.value("stream_silence", worst, entity=broker, phase=phase)


def longest_silence(rows: list[StreamSample]) -> float:
    """The longest of all stretches of samples without a delivery, from a wanted message on."""
    longest = 0
    for first, row in enumerate(rows):
        if row.wanted_messages:
            stretch = 0
            for each in rows[first:]:
                if each.delivered_messages:
                    break
                stretch += each.period_ns
            longest = max(longest, stretch)
    return longest / SECOND


def is_between(run: BruteRun, at: Instant, low: float, high: float) -> bool:
    return run.origin + low * SECOND < at <= run.origin + high * SECOND


def goodput(run: BruteRun) -> None:
    links = [each for each in sampled(run, LinkSample) if each[1].capacity_bps is not None]
    for link, own in grouped(sampled(run, CrossingSample), lambda each: each[1].link).items():
        if not any(r.necessary_bytes for _, r in own):
            continue
        for phase, (low, high) in run.spans.items():
            crossed = sum(r.necessary_bytes for second, r in own if low <= second < high)
            possible = sum(
                r.capacity_bps * r.period_ns / SECOND
                for second, r in links
                if r.link == link and low <= second < high
            )
            if possible:
                run.value("link_goodput", crossed * 8 / possible, entity=link, phase=phase)


def alerts(run: BruteRun) -> None:
    for kind in ("normal", "recovering"):
        own = [r for r in run.rows(StreamAlert) if r.kind == kind]
        for phase, span in run.spans.items():
            count = run.count((r.arrived_ns for r in own), span)
            run.value(f"alerts_{kind}", count, phase=phase)
        inside = [r for r in own if run.is_within(r.arrived_ns, run.spans[""])]
        by_second = grouped(inside, lambda r: (r.arrived_ns - run.origin) // SECOND)
        means = {second: fmean(r.doubt_rate for r in its) for second, its in by_second.items()}
        run.series(f"alert_rate_{kind}", means)
        for second in range(run.seconds):
            its = by_second.get(second, [])
            run.series(f"alerts_{kind}", {second: len(its)})
            run.series(f"alert_rate_sum_{kind}", {second: sum(r.doubt_rate for r in its)})


def recovery(run: BruteRun) -> None:
    rows = run.rows(StreamSample)
    for phase, (low_s, high_s) in run.phases.items():
        low, high = run.origin + low_s * SECOND, run.origin + high_s * SECOND
        inside = [r for r in rows if low < r.sampled_ns <= high]
        # Also a sample that was taken as the phase begins.
        read = [r for r in rows if low <= r.sampled_ns <= high and r.behind_ns is not None]
        for host, own in grouped(read, lambda r: r.broker).items():
            for name, value in recovery_of(run, own, inside, low, high).items():
                run.value(name, value, entity=host, phase=phase)


def recovery_of(
    run: BruteRun, own: list[StreamSample], inside: list[StreamSample], low: Instant, high: Instant
) -> dict[str, float]:
    states = {
        at: any(r.is_recovering or (r.behind_ns or 0) > 1_500_000_000 for r in its)
        for at, its in sorted(grouped(own, lambda r: r.sampled_ns).items())
    }
    is_behind = next(iter(states.values()))
    good = [at for at, behind in states.items() if not behind]
    end = low if not is_behind else min(good, default=None)
    found: dict[str, float] = {}
    last = high if end is None else end
    bound = bound_of(run, low, last)
    if end is not None:
        found["recovered_after"] = (end - low) / SECOND
        full = full_rate(run, end, high)
        if full is not None:
            found["full_rate_after"] = (full - end) / SECOND
        if bound:
            found["recovery_over_bound"] = found["recovered_after"] / bound
    its = [r for r in inside if r.sampled_ns <= last]
    if not its:
        return found
    if bound:
        found["recovery_bound"] = bound
    published = sum(r.published_messages for r in its)
    demanded = sum(r.demanded_messages or 0 for r in its)
    found["recovery_publish_rate"] = published / ((last - low) / SECOND)
    if demanded:
        found["recovery_publish_share"] = published / demanded
    by_pubend = grouped(its, lambda r: r.pubend).values()
    counts = [sum(r.published_messages for r in each) for each in by_pubend]
    found["recovery_publish_jain"] = jain(counts)
    mine = [r for r in own if low < r.sampled_ns <= last]
    windows = [r.nack_window_ns for r in mine if r.nack_window_ns is not None]
    if windows:
        found["recovery_window"] = fmean(windows) / SECOND
    rated = grouped((r for r in mine if r.doubt_rate is not None), lambda r: r.sampled_ns)
    if rated:
        found["recovery_doubt_rate_max"] = max(
            fmean(r.doubt_rate for r in each) for each in rated.values()
        )
    return found


def bound_of(run: BruteRun, low: Instant, high: Instant) -> float:
    rates = {
        at: max(r.capacity_bps or 0 for r in its)
        for at, its in grouped(run.rows(LinkSample), lambda r: (r.link, r.sampled_ns)).items()
    }
    needed: dict[str, float] = {}
    for r in run.rows(CrossingSample):
        rate = rates.get((r.link, r.sampled_ns), 0)
        if low < r.sampled_ns <= high and rate:
            needed[r.link] = needed.get(r.link, 0) + r.necessary_bytes * 8 / rate
    return max(needed.values(), default=0)


def full_rate(run: BruteRun, since: Instant, until: Instant) -> Instant | None:
    rows = [r for r in run.rows(StreamSample) if r.demanded_messages is not None]
    if not rows:
        return None
    for at in (since, *sorted(r.sampled_ns for r in rows if since < r.sampled_ns <= until)):
        last = [r for r in rows if at - 2 * SECOND < r.sampled_ns <= at]
        demanded = sum(r.demanded_messages or 0 for r in last)
        if 100 * sum(r.published_messages for r in last) >= 98 * demanded:
            return at
    return None
