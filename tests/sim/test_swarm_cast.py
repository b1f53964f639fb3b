"""Drawn networks, programs and faults over casts: what they promise holds, always."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from penstock.bloomcast.controller import planner
from penstock.bloomcast.router import forwarder, relay_question
from penstock.bloomcast.segment import round_table
from penstock.bloomcast.segment.missing import size_of
from penstock.bloomcast.segment.report_parts import report_parts
from penstock.bloomcast.segment.round_table import RoundTable
from penstock.bloomcast.segment.segment_head import SegmentHead
from penstock.bloomcast.settings import StreamOverflow
from penstock.bloomcast.subscriber import reports as reports_module
from penstock.bloomcast.subscriber.loss_share import LossShare
from penstock.kernel.instant import MILLISECOND, SECOND, Instant
from penstock.kernel.machine import Port
from penstock.sim.checkers.cast.base import CastChecker
from penstock.sim.checkers.cast.quiet import QuietChecker
from penstock.sim.swarm import SwarmFailed
from penstock.sim.swarm.__main__ import main
from penstock.sim.swarm.cast import CastSwarm, run_cast
from penstock.sim.swarm.cast_controllers import Controllers
from penstock.sim.swarm.cast_options import (
    FAULT_KINDS,
    WORLDS,
    CastOptions,
    draw_cast_options,
    draw_stream_options,
)
from penstock.wire.frames.cast.base import CastFrame, Origin
from penstock.wire.frames.cast.header import Header
from penstock.wire.frames.cast.packet import Packet
from penstock.wire.frames.cast.report import BlockNeed, Report
from penstock.wire.frames.cast.transfer import End
from tests.interpreters import said_under_hash_seeds
from tests.sim.cast.exact_scenes import (
    lists_that_are_too_long_together_count_as_the_longest,
    what_is_listed_serves_all_in_one_generation,
)
from tests.sim.cast.faulty_worlds import BY_NAME, CALM, begin, finish, scene, sent
from tests.sim.cast.stream_scenes import (
    BLOCK,
    repairs_are_asked_for_block_by_block,
    what_a_relay_says_is_true_of_all_below_it,
)
from tests.sim.cast.test_attacks import crossings_of_a_ring

CHUNK = 10
SOAK_CHUNK = 50
A_FEW = range(300, 304)


@pytest.mark.parametrize("start", range(0, 50, CHUNK))
def test_casts_keep_their_promises(start: int) -> None:
    reports = [run_cast(seed) for seed in range(start, start + CHUNK)]
    assert sum(report.complete for report in reports) > 2 * CHUNK
    assert sum(report.repairs for report in reports) > 10 * CHUNK
    faults = sum((Counter(report.faults) for report in reports), Counter[str]())
    assert faults.total() > 2 * CHUNK


@pytest.mark.parametrize("start", range(0, 20, CHUNK))
def test_streams_keep_them_too(start: int) -> None:
    seeds = range(start, start + CHUNK)
    reports = [run_cast(seed, options=draw_stream_options(seed)) for seed in seeds]
    assert sum(report.complete for report in reports) > 2 * CHUNK
    assert sum(report.repairs for report in reports) > 10 * CHUNK
    streams = [report.options.stream for report in reports]
    assert {stream.overflow for stream in streams if stream is not None} == set(StreamOverflow)


def test_where_nothing_fails_a_stream_loses_only_what_is_given_up() -> None:
    for seed in range(20, 35):
        options = draw_stream_options(seed)
        calm = replace(
            options,
            faults=0,
            joins_ns=(0,) * len(options.joins_ns),
            knows_receivers=True,
            loss=0.02,
            controllers=Controllers.ONE,
        )
        report = run_cast(seed, options=calm)
        assert (report.complete, report.offers) == (len(options.joins_ns), 1)


@pytest.mark.soak
@pytest.mark.parametrize("start", range(1_000, 2_000, SOAK_CHUNK))
def test_soak(start: int) -> None:
    for seed in range(start, start + SOAK_CHUNK):
        run_cast(seed)
        run_cast(seed, options=draw_stream_options(seed))


def test_fifty_seeds_draw_every_kind_of_run() -> None:
    drawn = [draw_cast_options(seed) for seed in range(50)]
    assert {options.world for options in drawn} == set(WORLDS)
    assert {kind for options in drawn for kind in options.fault_kinds} == set(FAULT_KINDS)
    for name in (
        "symbols",
        "block_symbols",
        "manifest_symbols",
        "train_symbols",
        "sending_ns",
        "loss",
        "knows_receivers",
        "faults",
        "mend_ns",
        "filter_ones_max",
        "is_controlled",
        "with_codec",
        "repair",
        "controllers",
        "is_steady",
        "may_fail",
    ):
        assert len({getattr(options, name) for options in drawn}) >= 2, name
    assert {wait_ns > 0 for options in drawn for wait_ns in options.joins_ns} == {False, True}


def ends() -> str:
    reports = [run_cast(seed) for seed in A_FEW]
    return " ".join(f"{report.last_draw}/{report.facts_hash}" for report in reports)


def test_the_same_seed_ends_in_the_same_draw_and_facts_whatever_the_hash_seed() -> None:
    program = "from tests.sim.test_swarm_cast import ends; print(ends())"
    said = said_under_hash_seeds(program)
    assert said[0] == said[1]
    assert len(set(said[0].split())) == len(A_FEW)


@pytest.mark.parametrize(
    "options", [*map(draw_cast_options, range(310, 314)), *map(draw_stream_options, (310, 311))]
)
def test_the_codec_in_the_path_changes_nothing(options: CastOptions) -> None:
    plain, coded = (
        run_cast(options.seed, options=replace(options, with_codec=with_codec))
        for with_codec in (False, True)
    )
    assert (plain.last_draw, plain.facts_hash) == (coded.last_draw, coded.facts_hash)


def test_small_filters_need_relays() -> None:
    options = replace(CALM, world=BY_NAME["tree"], filter_ones_max=22, joins_ns=(0,) * 5)
    assert run_cast(1, options=options).relays > 0


@pytest.mark.parametrize(
    ("flag", "draw"), [("--casts", draw_cast_options), ("--streams", draw_stream_options)]
)
def test_the_command_runs_casts(
    flag: str,
    draw: Callable[[int], CastOptions],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["swarm", "4", flag])
    assert main() == 0
    said = capsys.readouterr().out
    report = run_cast(4, options=draw(4))
    assert str(report.options) in said
    assert f"{report.complete} receivers have all" in said
    assert f"facts {report.facts_hash}" in said


def test_an_offer_that_nobody_wants_any_more_is_no_fault() -> None:
    """Its sender has restarted, when all that were left had it."""
    swarm = CastSwarm(replace(CALM, seed=1))
    begin(swarm)
    finish(swarm)
    swarm.sender.publish_again()
    [quiet] = [each for each in swarm.checkers if isinstance(each, QuietChecker)]
    swarm.network.run(30 * SECOND)
    left = []
    for _ in range(10):
        # It is offered again and again.
        swarm.network.run(SECOND)
        left.append([*quiet.left_over(swarm.network)])
    assert [] in left


def test_a_failing_seed_prints_its_options(monkeypatch: pytest.MonkeyPatch) -> None:
    never_says_done(monkeypatch)
    with pytest.raises(SwarmFailed) as failed:
        run_cast(1, options=CALM)
    assert str(CALM) in str(failed.value)


# The checkers can fail, and so can what is counted: each change below breaks one promise.

LOSSY = replace(CALM, loss=0.05)


def blamed(options: CastOptions, seeds: Iterable[int]) -> set[str]:
    """Which checkers object, in the first run that fails."""
    for seed in seeds:
        try:
            run_cast(seed, options=replace(options, seed=seed))
        except SwarmFailed as failed:
            lines = str(failed).split("\n\noptions:")[0].splitlines()
            return {line.split("[")[1].split("]")[0] for line in lines}
    return set()


def publisher_repairs(options: CastOptions) -> int:
    """The repair symbols that the publisher sends."""
    swarm = CastSwarm(options)
    begin(swarm)
    finish(swarm)
    assert all(receiver.is_complete for receiver in swarm.receivers)
    return sent(swarm.network, "Repair", sender=options.world.publisher)


def repairs_are_what_the_worst_receiver_lost() -> None:
    """Three lose 5 % twice; what one lost serves the others as well."""
    lost = LOSSY.symbols * (1 - (1 - LOSSY.loss) ** 2)
    assert publisher_repairs(LOSSY) < 2 * lost


def whoever_lost_nothing_is_sent_no_repairs() -> None:
    swarm = scene()
    swarm.network.faults("r0", "h0").copied = 0.0
    begin(swarm)
    network = swarm.network
    network.run(600 * MILLISECOND)
    network.cut("r0", "h0")
    network.run(200 * MILLISECOND)
    network.mend("r0", "h0")
    finish(swarm)
    assert sent(network, "Repair", sender="r0", port="h0") > 0
    assert sent(network, "Repair", sender="r0", port="h1") == 0


def repairs_behind_the_next_end_find_who_needs_them() -> None:
    """END overtakes repairs on another path: the needs of two rounds are known."""
    table = RoundTable(blocks_max=4)
    report = Report(
        child=1, part=0, parts=1, hold_100us=0, loss=0, done=0, total=1,
        needs=(BlockNeed(0, 5),),
    )  # fmt: skip
    for round_ in (1, 2):
        table.begin(round_)
        table.add(round_, 1, report, all_blocks=False)
    assert table.most_needed(1) == {0: 5}
    assert table.has_reported(1, 1)


def what_a_round_has_brought_is_not_sent_again() -> None:
    options = replace(CALM, loss=0.2, seed=8)
    lost = options.symbols * (1 - (1 - options.loss) ** 2)
    assert publisher_repairs(options) < 2 * lost


class LateReport(CastChecker):
    """Sends the report of a round again, by another number, when the next one is open."""

    name = "late report"

    def __init__(self, swarm: CastSwarm) -> None:
        super().__init__()
        self._network = swarm.network
        self._report: Packet | None = None
        self.is_sent = False

    def sent(self, node: str, port: Port, frame: CastFrame) -> None:
        if not isinstance(frame, Packet):
            return
        header, body = frame.header, frame.body
        if node == "h0" and isinstance(body, Report) and body.needs and header.generation == 0:
            self._report = frame
        elif isinstance(body, End) and node == "p" and header.generation == 1 and not self.is_sent:
            assert self._report is not None
            origin = self._report.origin
            assert origin is not None
            late = msgspec.structs.replace(
                self._report, origin=Origin(origin.node, origin.boot, origin.number + 500)
            )
            self.is_sent = True
            now = self._network.events.now
            self._network.events.schedule(now + 1, self._network.nodes["p"].arrive, late, "r0")


def a_late_report_brings_no_repairs() -> None:
    def repairs(*, has_late: bool) -> int:
        swarm = scene(loss=0.1, seed=3)
        late = LateReport(swarm)
        if has_late:
            swarm.checkers.append(late)
        begin(swarm)
        finish(swarm)
        assert late.is_sent or not has_late
        return sent(swarm.network, "Repair", sender="p")

    assert repairs(has_late=True) <= repairs(has_late=False) + 5


def a_late_joiner_does_not_overstate_its_loss() -> None:
    """It lacks half of the object, and its links lose nothing."""
    swarm = scene(symbols=400, sending_ns=2 * SECOND)
    begin(swarm, without=("h2",))
    swarm.network.run(1_200 * MILLISECOND)
    [late] = [receiver for receiver in swarm.receivers if receiver.node == "h2"]
    late.subscribe()
    finish(swarm)
    assert late.is_complete
    missed = sent(swarm.network, "Repair", sender="p")
    assert 50 < missed < 402 - sent(swarm.network, "Symbols", sender="r0", port="h2") + 20


def a_join_tells_one_head() -> None:
    """Only the segment that gets another end changes."""
    swarm = scene(world=BY_NAME["tree"], filter_ones_max=22, sending_ns=4 * SECOND, symbols=400)
    begin(swarm, without=("h4",))
    network = swarm.network
    network.run(2 * SECOND)

    def versions() -> dict[int, int]:
        plan = network.nodes["r0"].machine.plan_of(swarm.sender.offer.item)
        assert plan is not None
        return {number: segment.plan for number, segment in plan.segments.items()}

    before = versions()
    next(receiver for receiver in swarm.receivers if receiver.node == "h4").subscribe()
    network.run(SECOND)
    after = versions()
    assert len(before) > 2
    assert sum(after.get(number) != version for number, version in before.items()) <= 1
    finish(swarm)


def packets_end() -> None:
    assert crossings_of_a_ring() <= 4 * 255


def everybody_is_done() -> None:
    assert not blamed(replace(CALM, symbols=40), [1])


SCENARIOS: dict[str, Callable[[], None]] = {
    each.__name__: each
    for each in (
        repairs_are_what_the_worst_receiver_lost,
        whoever_lost_nothing_is_sent_no_repairs,
        repairs_behind_the_next_end_find_who_needs_them,
        what_a_round_has_brought_is_not_sent_again,
        a_late_report_brings_no_repairs,
        a_late_joiner_does_not_overstate_its_loss,
        a_join_tells_one_head,
        packets_end,
        everybody_is_done,
        what_is_listed_serves_all_in_one_generation,
        lists_that_are_too_long_together_count_as_the_longest,
    )
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_unchanged_machines_pass(name: str) -> None:
    SCENARIOS[name]()


def one_slot(patch: pytest.MonkeyPatch) -> None:
    begin_round = RoundTable.begin

    def mutant(self: RoundTable, round_: int) -> bool:
        is_new = begin_round(self, round_)
        if is_new:
            self._slots.pop(~round_ & 1, None)
        return is_new

    patch.setattr(RoundTable, "begin", mutant)


def no_generation_tag(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(RoundTable, "_slot", lambda self, _round: self._slots.get(self.latest & 1))


def full_filters(patch: pytest.MonkeyPatch) -> None:
    def mutant(self: SegmentHead, _ends: Any, header: Any, make: Any, **others: Any) -> None:
        self.send_all(header, make, **others)

    patch.setattr(SegmentHead, "send_to", mutant)


def needs_summed(patch: pytest.MonkeyPatch) -> None:
    needs_of = RoundTable.needs_of

    def mutant(self: RoundTable, round_: int, block: int) -> dict[int, int]:
        needs = needs_of(self, round_, block)
        return dict.fromkeys(needs, sum(needs.values()))

    patch.setattr(RoundTable, "needs_of", mutant)


def needs_summed_across_generations(patch: pytest.MonkeyPatch) -> None:
    add = RoundTable.add

    def mutant(self: RoundTable, round_: int, end: int, report: Report, **others: Any) -> bool:
        before = self._slots.get(~round_ & 1)
        if before is not None and report.needs:
            needs = tuple(
                need._replace(symbols=need.symbols + before.needs.get(need.block, {}).get(end, 0))
                for need in report.needs
            )
            report = msgspec.structs.replace(report, needs=needs)
        return add(self, round_, end, report, **others)

    patch.setattr(RoundTable, "add", mutant)


def never_says_done(patch: pytest.MonkeyPatch) -> None:
    parts = report_parts
    patch.setattr(
        reports_module,
        "report_parts",
        lambda missing, **others: parts(missing, **{**others, "done": 0}),
    )


def plan_of_the_whole_transfer(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(planner, "is_unchanged", lambda *_: False)


def no_ttl(patch: pytest.MonkeyPatch) -> None:
    with_header = forwarder.with_header

    def mutant(packet: Packet, *, ttl: int, **others: Any) -> Packet:
        return with_header(packet, ttl=ttl + 1, **others)

    patch.setattr(forwarder, "with_header", mutant)


def loss_by_missing_share(patch: pytest.MonkeyPatch) -> None:
    arrived = LossShare.arrived

    def mutant(self: LossShare, start: int, stop: int, count: int) -> None:
        self._start = 0
        arrived(self, start, stop, count)

    patch.setattr(LossShare, "arrived", mutant)


def ranges_merged_by_maximum(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(round_table, "union_of", lambda sets: max(sets, key=size_of))


def union_merged_by_count(patch: pytest.MonkeyPatch) -> None:
    most_needed = RoundTable.most_needed

    def mutant(self: RoundTable, round_: int) -> dict[int, int]:
        unions = {block: self.union_listed(round_, block) for block in self.blocks(round_)}
        return most_needed(self, round_) | {
            block: size_of(union) for block, union in unions.items() if union is not None
        }

    patch.setattr(RoundTable, "most_needed", mutant)


def needs_summed_across_blocks(patch: pytest.MonkeyPatch) -> None:
    on_report = SegmentHead.on_report

    def needed(head: SegmentHead, child: int) -> int:
        tables = [question.rounds for question in head.questions]
        return sum(
            table.needs_of(table.latest, block).get(child, 0)
            for table in tables
            for block in table.blocks(table.latest)
        )

    def mutant(self: SegmentHead, header: Header, report: Report, now: Instant) -> bool:
        if report.needs and header.generation == 0:
            [need] = report.needs
            more = min(BLOCK, need.symbols + needed(self, report.child))
            report = msgspec.structs.replace(report, needs=(BlockNeed(need.block, more),))
        return on_report(self, header, report, now)

    patch.setattr(SegmentHead, "on_report", mutant)


def reports_for_the_latest_block(patch: pytest.MonkeyPatch) -> None:
    on_report = SegmentHead.on_report

    def mutant(self: SegmentHead, header: Header, report: Report, now: Instant) -> bool:
        block = max([header.block, *self.questions._of_blocks])
        needs = tuple(need._replace(block=block) for need in report.needs)
        header = msgspec.structs.replace(header, block=block)
        return on_report(self, header, msgspec.structs.replace(report, needs=needs), now)

    patch.setattr(SegmentHead, "on_report", mutant)


def a_relay_lacks_what_none_of_its_ends_has(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(relay_question, "min", max, raising=False)


MUTANTS: dict[
    str, tuple[Callable[[pytest.MonkeyPatch], None], Callable[[], None]]
] = {
    "one slot": (one_slot, repairs_behind_the_next_end_find_who_needs_them),
    "no generation tag": (no_generation_tag, a_late_report_brings_no_repairs),
    "full filters": (full_filters, whoever_lost_nothing_is_sent_no_repairs),
    "needs summed": (needs_summed, repairs_are_what_the_worst_receiver_lost),
    "needs summed across generations": (
        needs_summed_across_generations, what_a_round_has_brought_is_not_sent_again,
    ),
    "done never said": (never_says_done, everybody_is_done),
    "a plan of the whole transfer": (plan_of_the_whole_transfer, a_join_tells_one_head),
    "no TTL": (no_ttl, packets_end),
    "exact ranges merged by maximum": (
        ranges_merged_by_maximum, what_is_listed_serves_all_in_one_generation,
    ),
    "a union merged by its count": (
        union_merged_by_count, lists_that_are_too_long_together_count_as_the_longest,
    ),
    "loss by missing share": (loss_by_missing_share, a_late_joiner_does_not_overstate_its_loss),
    "needs summed across blocks": (
        needs_summed_across_blocks, repairs_are_asked_for_block_by_block,
    ),
    "reports taken for the latest block": (
        reports_for_the_latest_block, what_a_relay_says_is_true_of_all_below_it,
    ),
    "a relay says more than is true of all": (
        a_relay_lacks_what_none_of_its_ends_has, what_a_relay_says_is_true_of_all_below_it,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTANTS)
def test_a_broken_machine_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mutate, scenario = MUTANTS[name]
    mutate(monkeypatch)
    with pytest.raises((AssertionError, SwarmFailed)):
        scenario()
