"""Random networks, workloads and faults: what was promised holds, and a run can be run again."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest

from penstock.overlay.settings import OverlaySettings
from penstock.sim.checkers.base import Checker
from penstock.sim.link_spec import LinkSpec
from penstock.sim.loss import Bernoulli, GilbertElliott
from penstock.sim.swarm import Options, SwarmFailed, draw_clean_options, draw_options, run_swarm
from penstock.sim.swarm.__main__ import main
from penstock.sim.swarm.run import replay_command
from tests.interpreters import said_under_hash_seeds

CHUNK = 10
SOAK_CHUNK = 50
# Of all kinds: with and without codec, workers, clock offsets and faults.
A_FEW = range(300, 306)


@pytest.mark.parametrize("start", range(0, 100, CHUNK))
def test_after_faults_stop_everyone_gets_exactly_what_was_asked_for(start: int) -> None:
    for seed in range(start, start + CHUNK):
        run_swarm(seed)


@pytest.mark.parametrize("start", range(0, 100, CHUNK))
def test_without_faults_everyone_gets_exactly_what_was_asked_for_all_along(start: int) -> None:
    required = sum(
        run_swarm(seed, options=draw_clean_options(seed)).required
        for seed in range(start, start + CHUNK)
    )
    assert required > 20 * CHUNK


@pytest.mark.soak
@pytest.mark.parametrize("start", [*range(100, 200, SOAK_CHUNK), *range(1_000, 11_000, SOAK_CHUNK)])
def test_soak_with_faults(start: int) -> None:
    for seed in range(start, start + SOAK_CHUNK):
        run_swarm(seed)


@pytest.mark.soak
@pytest.mark.parametrize("start", [*range(100, 200, SOAK_CHUNK), *range(1_000, 2_000, SOAK_CHUNK)])
def test_soak_without_faults(start: int) -> None:
    for seed in range(start, start + SOAK_CHUNK):
        run_swarm(seed, options=draw_clean_options(seed))


def hashes() -> str:
    return " ".join(run_swarm(seed).trace_hash for seed in A_FEW)


def test_the_same_seed_gives_the_same_trace_whatever_the_hash_seed() -> None:
    program = "from tests.sim.test_swarm import hashes; print(hashes())"
    said = said_under_hash_seeds(program)
    assert said[0] == said[1]
    assert len(set(said[0].split())) == len(A_FEW)


@pytest.mark.parametrize("seed", range(310, 316))
def test_the_codec_in_the_path_changes_nothing(seed: int) -> None:
    drawn = draw_options(seed)
    # What a flipped bit does depends on what is written; without a codec nothing is.
    kinds = tuple(kind for kind in drawn.fault_kinds if kind != "corruption")
    options = replace(drawn, fault_kinds=kinds or ("crash",))
    plain = run_swarm(seed, options=replace(options, codec=False))
    coded = run_swarm(seed, options=replace(options, codec=True))
    assert plain.trace_hash == coded.trace_hash
    assert plain.delivered == coded.delivered > 0


def test_options_print_in_full_and_can_be_read_back() -> None:
    names = {c.__name__: c for c in (Options, LinkSpec, OverlaySettings, Bernoulli, GilbertElliott)}
    for seed in range(20):
        options = draw_options(seed)
        assert eval(repr(options), names) == options
        assert str(options).count("\n") + 1 == len(Options.__slots__)


def test_two_hundred_seeds_draw_every_kind_of_run() -> None:
    drawn = [draw_options(seed) for seed in range(200)]
    assert {options.brokers for options in drawn} == set(range(2, 13))
    assert len({options.topology for options in drawn}) == 5
    assert {options.workers for options in drawn} == {0, 1, 2, 4}
    for kind in ("is_undersized", "codec", "corrupts_frames"):
        assert {getattr(options, kind) for options in drawn} == {False, True}
    assert {type(options.link.loss) for options in drawn} == {
        type(None),
        Bernoulli,
        GilbertElliott,
    }


class Grumbler(Checker):
    """Objects to the first message."""

    name = "grumbler"

    def on_publish(self, client: str, frame: object, *, now: int) -> None:
        self.report_violation(client, "speaks")


def test_a_failing_run_says_what_happened_and_how_to_replay_it() -> None:
    with pytest.raises(SwarmFailed) as failed:
        run_swarm(3, checkers=[Grumbler])
    text = str(failed.value)
    assert "[grumbler] speaks" in text.splitlines()[0]
    assert str(draw_options(3)) in text
    assert text.endswith("python -m penstock.sim.swarm 3 --verbose")
    with pytest.raises(SwarmFailed) as again:
        run_swarm(3, checkers=[Grumbler])
    assert str(again.value) == text


def test_the_line_that_replays_is_for_these_options() -> None:
    assert replay_command(draw_clean_options(3)).endswith("3 --clean --verbose")
    other = replace(draw_options(3), clients=2)
    assert replay_command(other) == f"run_swarm(3, options={other!r}, log=print)"


def test_what_a_machine_raises_fails_the_run_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def burst(*_arguments: object, **_named: object) -> None:
        raise RuntimeError("burst")

    monkeypatch.setattr("penstock.overlay.sessions.client_sessions.ClientSessions.subscribe", burst)
    with pytest.raises(SwarmFailed, match="RuntimeError: burst"):
        run_swarm(3)


def test_the_command_prints_options_faults_and_verdict(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["swarm", "4", "--verbose"])
    assert main() == 0
    said = capsys.readouterr().out
    report = run_swarm(4)
    assert str(report.options) in said
    assert all(str(fault) in said for fault in report.faults)
    assert "faults and losses stop" in said
    assert "> Hello(" in said
    assert f"trace {report.trace_hash}" in said
