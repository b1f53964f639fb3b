"""The benchmark compares like with like."""

from __future__ import annotations

import pytest

from penstock.bench.sim import PLAIN, in_simpy, over_hosts, over_links
from penstock.kernel.instant import MILLISECOND

SPAN_NS = 50 * MILLISECOND


def test_functions_and_hosts_carry_the_same_packets_and_the_queue_drops_some() -> None:
    hops, arrived = over_links(PLAIN, SPAN_NS)
    assert over_hosts(SPAN_NS) == (hops, arrived)
    assert 0 < arrived < 50 * 50


def test_simpy_carries_the_same_packets() -> None:
    pytest.importorskip("simpy")
    assert in_simpy(SPAN_NS) == over_links(PLAIN, SPAN_NS)
