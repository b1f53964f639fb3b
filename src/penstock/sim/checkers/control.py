"""Bounds of congestion control, checked from outside: flows, sessions and known receivers.

Nothing grows with what other endpoints send: a publisher has no more flows than its settings
allow, none slower than they allow, and remembers only receivers that sent it something; a
receiver measures only publishers that it received from, and only filters subscribed to here.
Which messages are sent, and when, is checked in `send_queue`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from penstock.content.filter import Filter
from penstock.sim.checkers.endpoint_history import EndpointHistory
from penstock.transport.congestion.laws.ack_window import SIZE_MAX
from penstock.transport.congestion.settings import CongestionSettings
from penstock.transport.statistics import (
    EndpointStatistics,
    ReceiveStatistics,
    SendStatistics,
)
from penstock.wire.frames.ack import Ack
from penstock.wire.frames.echo_reply import EchoReply
from penstock.wire.frames.echo_request import EchoRequest
from penstock.wire.frames.feedback import Feedback

# Frames that an endpoint with congestion control handles, besides messages.
CONGESTION_FRAMES: Final = (Ack, EchoReply, EchoRequest, Feedback)


def receive_frame(history: EndpointHistory, frame: Any) -> None:
    """Note the sender of a congestion frame that arrives."""
    if type(frame) is not EchoReply:
        history.reporting_receivers.add(frame.subscriber)
    if type(frame) is Feedback and history.send_queue is not None:
        history.send_queue.has_feedback = True


def violations(
    history: EndpointHistory, statistics: EndpointStatistics
) -> Iterator[tuple[str, str]]:
    """Yield the check and the reason for each bound exceeded between two events."""
    congestion, settings = statistics.congestion, history.machine.settings.congestion
    if congestion is None or settings is None:
        return
    sizes = [*_receiver_sizes(history, congestion.receiver)]
    if congestion.sender is not None:
        sizes += _sender_sizes(history, congestion.sender, settings)
    for size, size_max, what in sizes:
        if size > size_max:
            yield "bounds", f"{size} {what}, not {size_max}"


def _receiver_sizes(
    history: EndpointHistory, receiver: ReceiveStatistics
) -> Iterator[tuple[int, int, str]]:
    subscribed: set[Filter] = set()
    for predicate in [
        *history.cached_predicates,
        *[subscription.predicate for subscription in history.subscriptions.values()],
    ]:
        subscribed.update(predicate.filters)
    sessions = len(receiver.sessions)
    yield sessions, len(history.received_publishers), "sessions"
    yield receiver.timers, sessions, "timers of feedback"
    yield receiver.request_allowances, sessions, "allowances for requests"
    yield receiver.filters, len(subscribed), "filters measured"
    for session in receiver.sessions:
        stray = [filter_ for filter_ in session.filters if filter_ not in subscribed]
        yield len(stray), 0, f"filters of {session.publisher} that nobody subscribed to"
        yield len(session.filters), len(subscribed), f"filters of {session.publisher}"


def _sender_sizes(
    history: EndpointHistory, sender: SendStatistics, settings: CongestionSettings
) -> Iterator[tuple[int, int, str]]:
    flows = sender.flows
    yield len(flows), settings.flows_max, "flows"
    for receiver, count in Counter(flow.limiting_receiver for flow in flows).items():
        yield count, settings.flows_each_max, f"flows of {receiver}"
    too_slow = [flow for flow in flows if flow.quota_mps < settings.rate_min_mps]
    yield len(too_slow), 0, f"flows slower than {settings.rate_min_mps}/s"
    for flow in flows:
        if flow.outstanding is not None:
            yield flow.outstanding, SIZE_MAX, f"messages of {flow.flow_id} outstanding"
    receivers = len(history.reporting_receivers)
    yield sender.receiver_budgets, receivers, "receivers with a budget"
    yield sender.receivers, receivers, "receivers known"
    yield sender.refused_receivers, receivers, "receivers refused"
