"""The chain in ns-3, if its development files are installed.

The program, `chain.cc`, is compiled when the benchmark runs and gets the chain
as arguments; it reports what it carried and how long `Simulator::Run` took,
without its own start. ns-3 builds a real packet for each message, with a UDP,
an IPv4 and a PPP header that every node reads and writes, and looks a route up
at every node; our links do none of that, and brokers do other work instead. The
wire carries the same bytes, and packet-hops agree to a few in a thousand.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.sim.chain import (
    DELAY_NS,
    INTERVAL_NS,
    PLAIN,
    QUEUE_BYTES,
    SIZE_BYTES,
    phases,
    specs,
)
from penstock.kernel.instant import Duration

HOW_TO_INSTALL: Final = "apt-get install g++ pkg-config libns3-dev"
SOURCE: Final = Path(__file__).with_name("chain.cc")
LIBRARIES: Final = ("core", "network", "internet", "point-to-point", "traffic-control", "stats")


@dataclass(frozen=True, slots=True)
class Found:
    """What one run of the program printed."""

    hops: int
    arrived: int
    spent_s: float


class Ns3MissingError(Exception):
    """ns-3 or what it takes to compile for it is not there; the text says what."""


def build(directory: Path) -> Path:
    """Compiles the program into `directory`; `Ns3MissingError` where that is not possible."""
    compiler = shutil.which("g++")
    if compiler is None:
        raise Ns3MissingError("there is no g++")
    program = directory / "chain"
    command = [compiler, "-O2", "-std=c++17", str(SOURCE), "-o", str(program), *_flags()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        why = next((line for line in done.stderr.splitlines() if "error" in line), "unknown")
        raise Ns3MissingError(f"g++ could not compile for ns-3 ({why.strip()})")
    return program


def simulate(program: Path, span_ns: Duration) -> Found:
    """Runs the chain for `span_ns` of its own time."""
    arguments = [
        *map(str, (span_ns, INTERVAL_NS, SIZE_BYTES, DELAY_NS, QUEUE_BYTES)),
        ",".join(str(spec.rate_bps) for spec in specs(PLAIN)),
        ",".join(map(str, phases())),
    ]
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=True)
    hops, arrived, spent_s = done.stdout.split()
    return Found(int(hops), int(arrived), float(spent_s))


def _flags() -> list[str]:
    """What pkg-config says; without it, what Debian's package would need."""
    packages = [f"ns3-{library}" for library in LIBRARIES]
    fallback = [f"-l{package}" for package in packages]
    pkg_config = shutil.which("pkg-config")
    if pkg_config is None:
        return fallback
    done = subprocess.run(
        [pkg_config, "--cflags", "--libs", *packages], capture_output=True, text=True, check=False
    )
    # Debian's files name libraries that ns-3 itself was built with and that need not be there.
    output = [
        flag for flag in done.stdout.split() if not flag.startswith("/") or Path(flag).exists()
    ]
    return output if done.returncode == 0 else fallback
