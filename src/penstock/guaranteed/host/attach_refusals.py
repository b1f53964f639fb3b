"""Why a subscription cannot be attached."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from penstock.guaranteed.host.durable_names import MOVED
from penstock.guaranteed.host.roster import Roster
from penstock.guaranteed.refusals import time_text
from penstock.guaranteed.settings import HostSettings
from penstock.kernel.machine import Port
from penstock.wire.frames.guaranteed.client import Refused, RefusedKind, refusal
from penstock.wire.frames.guaranteed.subscription import Attach, AttachFlags


class AttachRefusals:
    """What speaks against an ATTACH, by what the host knows."""

    def __init__(
        self,
        roster: Roster,
        *,
        settings: HostSettings,
        pubends_of: Callable[[str], list[int]],
        name_of: Callable[[Port], str],
        stopped: Mapping[int, str],
    ) -> None:
        self._roster: Final = roster
        self._settings: Final = settings
        self._pubends_of: Final = pubends_of
        self._name_of: Final = name_of
        # Pubends that nothing is taken from, by why.
        self._stopped: Final = stopped

    def find(self, port: Port, frame: Attach) -> Refused | None:
        """Why, as it is told to the client; None if nothing speaks against it."""

        def refused(reason: str, text: str) -> Refused:
            return refusal(RefusedKind.SUBSCRIPTION, frame.subscription, reason, text)

        subscriptions, durables = self._roster.subscriptions, self._roster.durables
        if (port, frame.subscription) in subscriptions:
            return refused("in_use", f"this connection has a subscription {frame.subscription}")
        if len(subscriptions) >= self._settings.subscriptions_max:
            return refused("full", f"this broker has its {len(subscriptions)} subscriptions")
        if not frame.streams:
            return refused("unknown_stream", "a subscription names at least one stream")
        for stream in frame.streams:
            if not self._pubends_of(stream):
                return refused(
                    "unknown_stream",
                    f"no stream {stream!r} here: create it with 'penstock stream create {stream}'",
                )
            for pubend in self._pubends_of(stream):
                if pubend in self._stopped:
                    return refused("rolled_back", self._stopped[pubend])
        durable = durables.get(frame.durable) if frame.durable else None
        if durable is None:
            if frame.durable and len(durables) >= self._settings.durables_max:
                return refused("full", f"this broker has its {len(durables)} durable names")
            return None
        reader = self._roster.reader_of.get(frame.durable)
        if reader is not None and not frame.flags & AttachFlags.TAKEOVER:
            return refused(
                "in_use",
                f"durable {frame.durable!r} is read by {self._name_of(reader.port)} since"
                f" {time_text(reader.since_ns)}: end that reader, or pass takeover=True",
            )
        if durable.streams != frame.streams:
            return refused(
                "other_streams",
                f"durable {frame.durable!r} reads {', '.join(durable.streams)}: name the same",
            )
        if durable.predicate != frame.predicate and not frame.flags & AttachFlags.CHANGE_FILTER:
            return refused(
                "other_filter",
                f"durable {frame.durable!r} has another filter: pass change_filter=True",
            )
        if frame.positions and durable.was_moved:
            # What the client says is from before that: it comes again, without.
            return refused(MOVED, f"durable {frame.durable!r} was moved: read on from there")
        return None
