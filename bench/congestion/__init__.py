"""What congestion control costs a publisher, and what thousands of receivers say to one.

Publishing (see `publishing`): messages a second that leave an endpoint, one core, with
so many flows that somebody limits.

    without congestion control   what the rest is compared with
    a tenth of them slow         what is in these waits, a thousand at most, or is dropped

Messages have no record of those before them but where it is said: it costs the same with
congestion control and without, and more than the rest.

Feedback (see `crowd`): what comes to a publisher whose messages so many want, all of them
behind the same bottleneck; on average, and in the worst second.
"""

from __future__ import annotations

from typing import Final

from bench.congestion.crowd import Crowd, CrowdCase
from bench.congestion.publishing import Publishing, PublishingCase
from bench.result import Case, Note, Result
from penstock.content.tags import Encoder
from penstock.kernel.seeds import Seeds

ROUNDS: Final = 12
MESSAGES: Final = 2_000
FLOWS: Final = (0, 10, 100, 1_000)

RECEIVERS: Final = (10, 100, 1_000, 10_000)
FEEDBACK_GOAL: Final = "<= 50"

UNCONTROLLED: Final = PublishingCase(flows=0, is_controlled=False)
CASES: Final = (
    UNCONTROLLED,
    *(PublishingCase(flows=flows) for flows in FLOWS),
    *(PublishingCase(flows=flows, slow_every=10) for flows in FLOWS[1:]),
    PublishingCase(flows=0, is_controlled=False, record=10),
    PublishingCase(flows=10, record=10),
)
GOALS: Final = {PublishingCase(flows=10): ">= 50000", PublishingCase(flows=1_000): ">= 10000"}
RATIOS: Final = (
    *((PublishingCase(flows=flows), UNCONTROLLED) for flows in FLOWS),
    *(
        (PublishingCase(flows=flows, slow_every=10), PublishingCase(flows=flows))
        for flows in FLOWS[1:]
    ),
    (CASES[-1], CASES[-2]),
)


def run(note: Note) -> Result:
    """Each case in turn, several times, the quickest of which counts: noise only adds time."""
    speeds = publishing(note, CASES, ROUNDS, MESSAGES)
    cases = [
        Case(way.name, "speed", rate, "messages/s", GOALS.get(way, ""))
        for way, rate in speeds.items()
    ]
    ratios = {f"{one.name}/{other.name}": speeds[one] / speeds[other] for one, other in RATIOS}
    for receivers in RECEIVERS:
        cases += feedback(note, receivers)
    return Result("congestion", cases, ratios)


def feedback(note: Note, receivers: int) -> list[Case]:
    """What so many say."""
    outcome = Crowd(CrowdCase(receivers=receivers), Seeds(1), note).run()
    name = f"{receivers:,} receivers"
    stretches = {
        "feedback at first": outcome.start,
        "feedback": outcome.steady,
        "feedback, half the capacity": outcome.halved,
        "requests for echoes": outcome.echoes,
    }
    cases = []
    for metric, arrival_rate in stretches.items():
        goal = FEEDBACK_GOAL if metric.startswith("feedback") else ""
        cases.append(Case(name, metric, arrival_rate.mean, "messages/s", goal))
        cases.append(Case(name, f"{metric}, most", arrival_rate.peak, "messages/s"))
    return [*cases, Case(name, "use of the link", 100 * outcome.use, "%")]


def publishing(
    note: Note, cases: tuple[PublishingCase, ...], rounds: int, messages: int
) -> dict[PublishingCase, float]:
    """Messages a second of each."""
    encoder = Encoder(b"bench")
    benches = {}
    for way in cases:
        note(f"{way.name}: making messages")
        benches[way] = Publishing(way, encoder)
        benches[way].begin()
        # What is compiled when it is first used is not counted.
        benches[way].seconds(messages)
    best = dict.fromkeys(cases, 0.0)
    for number in range(rounds):
        for way, bench in benches.items():
            note(f"{way.name}: round {number + 1} of {rounds}")
            best[way] = max(best[way], messages / bench.seconds(messages))
    return best
