"""Bounds of congestion control, checked from outside: flows, sessions and known receivers.

Nothing grows with what other endpoints send: a publisher has no more flows than its settings
allow, none slower than they allow, and remembers only receivers that sent it something; a
receiver measures only publishers that it received from, and only filters subscribed to here.
What is sent, and when, is checked in `send_queue`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from penstock.content.filter import Filter
from penstock.sim.checkers.endpoint_history import EndpointHistory
from penstock.transport.congestion.controller import CongestionController
from penstock.transport.congestion.laws.ack_window import SIZE_MAX
from penstock.transport.congestion.sender.sender import SendController
from penstock.transport.congestion.settings import CongestionSettings
from penstock.wire.frames.ack import Ack
from penstock.wire.frames.echo_reply import EchoReply
from penstock.wire.frames.echo_request import EchoRequest
from penstock.wire.frames.feedback import Feedback

# Frames that an endpoint with congestion control handles, besides messages.
CONGESTION_FRAMES: Final = (Ack, EchoReply, EchoRequest, Feedback)


def receive_frame(history: EndpointHistory, frame: Any) -> None:
    """One of these frames arrives."""
    if type(frame) is not EchoReply:
        history.reporting_receivers.add(frame.subscriber)
    if type(frame) is Feedback and history.send_queue is not None:
        history.send_queue.has_feedback = True


def violations(history: EndpointHistory) -> Iterator[tuple[str, str]]:
    """What is wrong with an endpoint's congestion control between events: the check, and why."""
    congestion = history.machine.congestion
    if congestion is None:
        return
    sizes = [*_receiver_sizes(history, congestion)]
    if congestion._sender is not None:
        sizes += _sender_sizes(history, congestion._sender, congestion._settings)
    for size, size_max, what in sizes:
        if size > size_max:
            yield "bounds", f"{size} {what}, not {size_max}"


def _receiver_sizes(
    history: EndpointHistory, congestion: CongestionController
) -> Iterator[tuple[int, int, str]]:
    receiver = congestion._receiver
    subscribed: set[Filter] = set()
    for predicate in [
        *history.cached_predicates,
        *[subscription.predicate for subscription in history.subscriptions.values()],
    ]:
        subscribed.update(predicate.filters)
    yield len(receiver.sessions), len(history.received_publishers), "sessions"
    yield len(receiver._timers), len(receiver.sessions), "timers of feedback"
    yield len(receiver._request_allowances), len(receiver.sessions), "allowances for requests"
    yield len(receiver._interests_by_filter), len(subscribed), "filters measured"
    for session in receiver.sessions:
        stray = [view for view in session.flow_views if view.filter not in subscribed]
        yield len(stray), 0, f"filters of {session.publisher} that nobody subscribed to"
        yield len(session.flow_views), len(subscribed), f"filters of {session.publisher}"


def _sender_sizes(
    history: EndpointHistory, sender: SendController, settings: CongestionSettings
) -> Iterator[tuple[int, int, str]]:
    flows = [*sender.flow_table]
    yield len(flows), settings.flows_max, "flows"
    for receiver, count in Counter(flow.clr for flow in flows).items():
        yield count, settings.flows_each_max, f"flows of {receiver}"
    too_slow = [flow for flow in flows if flow.quota_mps < settings.rate_min_mps]
    yield len(too_slow), 0, f"flows slower than {settings.rate_min_mps}/s"
    for flow in flows:
        if flow.window is not None:
            yield len(flow.window), SIZE_MAX, f"messages of {flow.id} outstanding"
    limits, receivers = sender.feedback_receiver.limits, len(history.reporting_receivers)
    yield len(limits._receiver_budgets), receivers, "receivers with a budget"
    yield limits.receiver_count, receivers, "receivers known"
    yield len(limits.refusals), receivers, "receivers refused"
