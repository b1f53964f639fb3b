"""`python -m penstock.sim.swarm SEED [SEED…]`: runs seeds and says what each was like."""

from __future__ import annotations

import argparse
import signal
import sys

from penstock.sim.swarm import SwarmFailed, draw_clean, draw_options, run_swarm


def main() -> int:
    """Prints options, faults and verdict of each seed; 1 if any failed."""
    parser = argparse.ArgumentParser(prog="python -m penstock.sim.swarm", description=__doc__)
    parser.add_argument("seeds", metavar="SEED", type=int, nargs="+")
    parser.add_argument("--clean", action="store_true", help="without loss and faults")
    parser.add_argument("--verbose", action="store_true", help="log what happens")
    arguments = parser.parse_args()
    failed = 0
    for seed in arguments.seeds:
        options = (draw_clean if arguments.clean else draw_options)(seed)
        try:
            report = run_swarm(seed, options=options, log=print if arguments.verbose else None)
        except SwarmFailed as failure:
            print(f"seed {seed} failed\n{failure}")
            failed += 1
            continue
        faults = "\n".join(f"  {fault}" for fault in report.faults) or "  none"
        print(f"seed {seed}\noptions:\n{options}\nfaults:\n{faults}\nbounds:\n  {report.bounds}")
        print(
            f"well: {report.published} messages published, {report.delivered} delivered,"
            f" {report.required} of them required; trace {report.trace_hash}"
        )
    return 1 if failed else 0


if __name__ == "__main__":
    # Whoever pages through the log may stop reading.
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(main())
