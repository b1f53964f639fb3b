"""The benchmark compares like with like, and does without what is not installed."""

from __future__ import annotations

import shutil
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from bench.sim import NS3, ns3, peers
from bench.sim.brokers import SINK, BrokerChain
from bench.sim.chain import FLOWS, INTERVAL_NS, PLAIN, ROUTERS, SIZE_BYTES
from bench.sim.in_simpy import in_simpy
from bench.sim.links import over_hosts, over_links
from bench.sim.tracing import TracedChain
from penstock.kernel.instant import MILLISECOND, Instant
from penstock.trace.records import Delivery, Expected, Publication
from penstock.tracefile.layout import run_directory
from penstock.wire.frames.data import Data

SPAN_NS = 50 * MILLISECOND
# Packets cross the chain in less.
CROSSING_NS = 2 * ROUTERS * PLAIN.delay_ns


def test_functions_and_hosts_carry_the_same_packets_and_the_queue_drops_some() -> None:
    hops, arrived = over_links(PLAIN, SPAN_NS)
    assert over_hosts(SPAN_NS) == (hops, arrived)
    assert 0 < arrived < 50 * 50


def test_simpy_carries_the_same_packets() -> None:
    pytest.importorskip("simpy")
    assert in_simpy(SPAN_NS) == over_links(PLAIN, SPAN_NS)


# Brokers ----------------------------------------------------------------------------------------


def test_brokers_carry_about_as_many_packets_as_links_do() -> None:
    chain = BrokerChain(filters=80, messages=200)
    found = chain.run(SPAN_NS)
    assert found == pytest.approx(over_links(PLAIN, SPAN_NS), rel=0.02)
    first = chain.world.link("B1", "B2")
    assert first.sent_frames * SIZE_BYTES == pytest.approx(first.sent_bytes, rel=0.05)


def test_clients_of_the_chain_get_just_what_their_filters_match() -> None:
    published: list[tuple[Data, Instant]] = []
    delivered: dict[str, set[tuple[int, int]]] = {}

    def on_deliver(client: str, data: Data, _now: Instant) -> None:
        delivered.setdefault(client, set()).add((data.pub, data.seq))

    chain = BrokerChain(
        filters=400,
        messages=1_000,
        on_publish=lambda _flow, data, now: published.append((data, now)),
        on_deliver=on_deliver,
    )
    chain.run(SPAN_NS)
    assert len(published) == FLOWS * SPAN_NS // INTERVAL_NS
    # Those on their way at the end may or may not have come yet.
    landed = [data for data, at in published if at <= chain.world.now - CROSSING_NS]
    still = {(data.pub, data.seq) for data, _ in published} - {(d.pub, d.seq) for d in landed}
    matched = 0
    for client, (broker, predicates) in chain.interests.items():
        wanted = {(d.pub, d.seq) for d in landed if any(p.matches(d.message) for p in predicates)}
        got = delivered.get(client, set()) - still
        # The link to the last broker drops some.
        assert got <= wanted if broker == chain.brokers[-1] else got == wanted
        matched += len(wanted) * (client != SINK)
    assert matched > 0
    assert len(delivered[SINK]) > 0.8 * len(landed)


def test_a_trace_of_the_chain_holds_every_message_and_is_the_same_kept_or_not(
    tmp_path: Path,
) -> None:
    sizes = {"filters": 80, "messages": 200}
    kept, passing = TracedChain(tmp_path, **sizes), TracedChain(None, **sizes)
    assert kept.run(SPAN_NS) == passing.run(SPAN_NS)
    assert kept.trace_hash == passing.trace_hash
    files = {path.stem for path in run_directory(tmp_path, "bench").iterdir()}
    assert {Publication.TABLE, Expected.TABLE, Delivery.TABLE} <= files
    rows = read_counts(tmp_path)
    assert rows[Publication.TABLE] == FLOWS * SPAN_NS // INTERVAL_NS
    assert rows[Delivery.TABLE] == sum(kept.chain.delivered.values())
    assert rows[Expected.TABLE] > rows[Delivery.TABLE]


def read_counts(directory: Path) -> dict[str, int]:
    parquet: Any = import_module("pyarrow.parquet")
    files = run_directory(directory, "bench").iterdir()
    return {path.stem: parquet.read_metadata(path).num_rows for path in files}


# ns-3 -------------------------------------------------------------------------------------------


def test_ns3_carries_nearly_the_same_packets(tmp_path: Path) -> None:
    try:
        program = ns3.build(tmp_path)
    except ns3.Ns3MissingError as error:
        pytest.skip(str(error))
    found = ns3.simulate(program, SPAN_NS)
    assert (found.hops, found.arrived) == pytest.approx(over_links(PLAIN, SPAN_NS), rel=0.01)
    assert found.spent_s > 0


def test_without_a_compiler_ns3_is_left_out_and_a_note_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    notes: list[str] = []
    assert NS3 not in peers(tmp_path, lambda _line: None, notes)
    assert "g++" in notes[-1]
    assert ns3.HOW_TO_INSTALL in notes[-1]


def test_without_the_files_of_ns3_the_compilers_word_is_passed_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("g++") is None:
        pytest.skip("there is no g++")
    source = tmp_path / "lacking.cc"
    source.write_text('#include "ns3/no-such-module.h"\n')
    monkeypatch.setattr(ns3, "SOURCE", source)
    with pytest.raises(ns3.Ns3MissingError, match="no-such-module"):
        ns3.build(tmp_path)


def test_the_program_for_ns3_is_shipped() -> None:
    assert ns3.SOURCE.is_file()
