"""`python -m penstock.sim.swarm SEED [SEED…]`: runs seeds and says what each was like."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Iterable, Mapping

from penstock.sim.swarm import SwarmFailed, draw_clean_options, draw_options, run_swarm
from penstock.sim.swarm.cast import run_cast
from penstock.sim.swarm.cast_options import draw_cast_options, draw_stream_options
from penstock.sim.swarm.endpoint_options import draw_controlled_options, draw_endpoint_options
from penstock.sim.swarm.endpoints import run_endpoints
from penstock.sim.swarm.event_log import Log


def main() -> int:
    """Runs each seed and prints its options, faults and verdict; returns 1 if any failed."""
    parser = argparse.ArgumentParser(prog="python -m penstock.sim.swarm", description=__doc__)
    parser.add_argument("seeds", metavar="SEED", type=int, nargs="+")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--clean", action="store_true", help="without loss and faults")
    kind.add_argument("--endpoints", action="store_true", help="with transports above the network")
    kind.add_argument("--casts", action="store_true", help="of objects cast to many receivers")
    kind.add_argument("--streams", action="store_true", help="of streams cast to many receivers")
    parser.add_argument(
        "--control", action="store_true", help="with congestion control; goes with --endpoints"
    )
    parser.add_argument("--verbose", action="store_true", help="log what happens")
    arguments = parser.parse_args()
    if arguments.control and not arguments.endpoints:
        parser.error("congestion control is the transport's: add --endpoints")
    is_cast = arguments.casts or arguments.streams
    if is_cast and arguments.verbose:
        parser.error("casts have no log: leave out --verbose")
    log = print if arguments.verbose else None
    failed = 0
    for seed in arguments.seeds:
        try:
            if is_cast:
                verdict = _of_casts(seed, is_stream=arguments.streams)
            elif arguments.endpoints:
                verdict = _of_endpoints(seed, log, is_controlled=arguments.control)
            else:
                verdict = _of_brokers(seed, log, is_clean=arguments.clean)
        except SwarmFailed as failure:
            print(f"seed {seed} failed\n{failure}")
            failed += 1
        else:
            print(f"seed {seed}\n{verdict}")
    return 1 if failed else 0


def _of_brokers(seed: int, log: Log | None, *, is_clean: bool) -> str:
    report = run_swarm(
        seed, options=(draw_clean_options if is_clean else draw_options)(seed), log=log
    )
    return (
        f"options:\n{report.options}\nfaults:\n{_lines(report.faults)}\n"
        f"bounds:\n  {report.bounds}\n"
        f"well: {report.published} messages published, {report.delivered} delivered,"
        f" {report.required} of them required; trace {report.trace_hash}"
    )


def _of_endpoints(seed: int, log: Log | None, *, is_controlled: bool) -> str:
    draw = draw_controlled_options if is_controlled else draw_endpoint_options
    report = run_endpoints(seed, options=draw(seed), log=log)
    submitted = f"submitted: {_counts(report.submitted)}\n" if is_controlled else ""
    return (
        f"options:\n{report.options}\nfaults:\n{_lines(report.faults)}\n"
        f"well: {report.published} messages published, {report.arrived_frames} arrived;"
        f" facts {report.facts_hash}\n"
        f"{submitted}"
        f"receipts: {_counts(report.deliveries)}\n"
        f"missing numbers: {_counts(report.missing)}\n"
        f"counted: {_counts(report.counters)}"
    )


def _of_casts(seed: int, *, is_stream: bool) -> str:
    draw = draw_stream_options if is_stream else draw_cast_options
    report = run_cast(seed, options=draw(seed))
    return (
        f"options:\n{report.options}\n"
        f"faults: {_counts(report.faults)}\n"
        f"well: {report.complete} receivers have all, after {report.offers} offers;"
        f" {report.failed} named as failed, {report.stopped} told that it is over;"
        f" facts {report.facts_hash}\n"
        f"repairs: {report.repairs}\nmessages to relays: {report.relays}"
    )


def _lines(items: Iterable[object]) -> str:
    return "\n".join(f"  {item}" for item in items) or "  none"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "none"


if __name__ == "__main__":
    # End quietly when the reader of the log closes the pipe.
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(main())
