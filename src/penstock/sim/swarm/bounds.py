"""Time bounds of one run: derived from its options, never measured.

With *h* the longest hop, *n* brokers from end to end, *S* the most that any clock is set back,
and every period stretched by the slowest clock:

    grace      an ended subscription may still match: the UNSUB was lost, so the
               subscription ends when it expires, which brokers check only when they
               compare; then a last NOTIFY is in flight
               = expire + compare + S + 2 h;  2 h without loss and overtaking
    converged  after the last fault: links are up again (S + dead + hello), clients
               have renewed their subscriptions (refresh, or hello to a restarted
               broker), ended ones have expired (expire + compare), the room they
               took is used (refresh), and all of it is known everywhere (coalesce,
               twice compare for frames lost to overtaking, and the hops)
    settled    without faults: coalesce and n + 2 hops; as after faults where
               frames overtake, which has the effect of a loss
    carried    a message, without faults: n + 2 hops
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.kernel.instant import SECOND, Duration
from penstock.sim.faults import ClockStep, Duplication, Fault
from penstock.sim.link_spec import BYTE_NS_BPS, LinkSpec
from penstock.sim.swarm.options import Options
from penstock.sim.topology import Topology

# Bytes that may be ahead of a frame on a quiet link: the replies to one summary.
_QUIET_BYTES = 6_000
# Frames queued at a quiet host; also the most that an exponential service time exceeds its mean.
_QUIET_FRAMES = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Time bounds of one run, in global time."""

    hop_ns: Duration
    grace_ns: Duration
    booted_ns: Duration
    converged_ns: Duration
    settled_ns: Duration
    carried_ns: Duration


def derive_bounds(options: Options, topology: Topology, faults: Sequence[Fault]) -> Bounds:
    """Derives the bounds of one run."""
    settings = options.settings
    busy_ns = _hop_ns(options, queue_bytes=3 * options.link.queue_bytes_max, is_busy=True)
    quiet_ns = _hop_ns(options, queue_bytes=_QUIET_BYTES, is_busy=False)
    brokers = topology.diameter + 1
    clock_set_back_ns = set_back_ns(faults)

    def stretched(*periods: Duration) -> Duration:
        return int(sum(periods) / (1 - options.drift_ppm_max / 1e6)) + 1

    is_orderly = options.is_clean and options.workers <= 1
    forgotten_ns = stretched(settings.expire_ns, settings.compare_ns) + clock_set_back_ns
    booted_ns = options.stagger_ns + stretched(2 * settings.hello_ns, settings.coalesce_ns)
    booted_ns += (6 + brokers) * quiet_ns
    converged_ns = (
        stretched(
            settings.dead_ns,
            settings.hello_ns,
            settings.refresh_ns,
            settings.refresh_ns,
            settings.coalesce_ns,
        )
        + stretched(settings.compare_ns, settings.compare_ns)
        + forgotten_ns
        + 2 * busy_ns
        + (6 + 2 * brokers) * quiet_ns
    )
    carried_ns = (brokers + 2) * quiet_ns
    orderly_ns = stretched(settings.coalesce_ns) + carried_ns
    return Bounds(
        hop_ns=busy_ns,
        grace_ns=2 * quiet_ns if is_orderly else forgotten_ns + 2 * busy_ns,
        booted_ns=booted_ns,
        converged_ns=converged_ns,
        settled_ns=orderly_ns if is_orderly else converged_ns,
        carried_ns=carried_ns,
    )


def set_back_ns(faults: Sequence[Fault]) -> Duration:
    """The most that all clock steps together set back any one clock."""
    total: dict[str, Duration] = {}
    for fault in faults:
        if isinstance(fault, ClockStep):
            total[fault.host] = total.get(fault.host, 0) + max(0, -fault.by_ns)
    return max(total.values(), default=0)


def duplicating_links(faults: Sequence[Fault]) -> frozenset[str]:
    """Names of the links on which frames may arrive twice."""
    pairs = [(f.one, f.other) for f in faults if isinstance(f, Duplication)]
    return frozenset(f"{a}-{b}" for one, other in pairs for a, b in ((one, other), (other, one)))


def _hop_ns(options: Options, *, queue_bytes: int, is_busy: bool) -> Duration:
    service_ns = 0
    if options.workers:
        waiting = options.queue_frames_max // options.workers if is_busy else 0
        service_ns = options.service_ns * (waiting + _QUIET_FRAMES)
    wire_ns = max(_wire_ns(link, queue_bytes) for link in (options.link, options.access))
    return wire_ns + service_ns + SECOND // 1_000


def _wire_ns(link: LinkSpec, queue_bytes: int) -> Duration:
    transmit_ns = 0 if link.rate_bps is None else queue_bytes * BYTE_NS_BPS // link.rate_bps
    return link.delay_ns + 2 * link.jitter_ns + transmit_ns
