"""REQUEST and RESULT: the rare verbs of a broker, with arguments and results as JSON.

A verb is an entry of a table: a type for its arguments and a function. What cannot be read or done
is answered with REFUSED, never with an exception.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec

from penstock.guaranteed.facts import StreamUnwanted, StreamWanted
from penstock.guaranteed.lag import Lags
from penstock.guaranteed.request_arguments import (
    ChangeArguments,
    CreateArguments,
    ForgetArguments,
    NamesAfter,
    NoArguments,
    ParkedArguments,
    SeekArguments,
    StreamArguments,
)
from penstock.guaranteed.settings import check_retention
from penstock.guaranteed.status import (
    broker_status,
    durable_places,
    durable_status,
    stream_places,
    stream_status,
)
from penstock.kernel.errors import UsageError
from penstock.kernel.instant import Instant
from penstock.kernel.machine import Port
from penstock.wire.frames.guaranteed.base import (
    RESULT_BYTES_MAX,
)
from penstock.wire.frames.guaranteed.client import Answer, Ask, RefusedKind, refusal
from penstock.wire.frames.guaranteed.subscription import Position

if TYPE_CHECKING:
    from penstock.guaranteed.broker import Broker
    from penstock.guaranteed.pubend.pubend import Pubend

# Of one answer: the rest is asked for with `after`.
_NAMES_MAX: Final = 400
_PAGE_BYTES_MAX: Final = 600_000
_PARKED_BODY_BYTES_MAX: Final = 600_000


class RefusalError(Exception):
    """A request is answered with no: a word for programs, a line for people."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(text)
        self.reason: Final = reason
        self.text: Final = text


class Later:
    """The answer comes when something is on disk."""


Result: TypeAlias = Any
LATER: Final = Later()


class _Waiting(msgspec.Struct, frozen=True):
    port: Port
    number: int


class Requests:
    """Answers the requests of all clients of one broker."""

    def __init__(self, broker: Broker) -> None:
        self._broker: Final = broker
        # Who waits for a stream to be created or deleted.
        self._creating: Final[dict[str, list[_Waiting]]] = {}
        self._deleting: Final[dict[str, list[_Waiting]]] = {}
        self._verbs: Final[Mapping[str, tuple[type[Any], Callable[..., Result]]]] = {
            "list": (NamesAfter, self._list),
            "durables": (NamesAfter, self._durables),
            "seek": (SeekArguments, self._seek),
            "parked": (ParkedArguments, self._parked),
            "forget": (ForgetArguments, self._forget),
            "status": (NoArguments, self._status),
            "create": (CreateArguments, self._create),
            "change": (ChangeArguments, self._change),
            "delete": (StreamArguments, self._delete),
        }

    def receive(self, port: Port, frame: Ask, *, now: Instant) -> None:
        """Answers a request, now or later."""
        who = _Waiting(port, frame.number)
        try:
            verb = self._verbs.get(frame.verb)
            if verb is None:
                known = ", ".join(self._verbs)
                raise RefusalError("unknown_verb", f"no request {frame.verb!r}: there are {known}")
            arguments_type, answer = verb
            try:
                arguments = msgspec.json.decode(frame.arguments or b"{}", type=arguments_type)
            except (msgspec.DecodeError, RecursionError) as error:
                raise RefusalError("bad_request", f"{frame.verb}: {str(error)[:500]}") from None
            result = answer(arguments, who, now)
        except RefusalError as refusal:
            self._refuse(who, refusal.reason, refusal.text)
        else:
            if result is not LATER:
                self._answer(who, result)

    # Streams that the driver creates and deletes

    def stream_created(self, stream: str, *, now: Instant) -> None:
        """The stream is here: tells who has asked for it."""
        for who in self._creating.pop(stream, ()):
            self._answer(who, stream_status(self._broker, stream, {}, {}, now=now))

    def stream_refused(self, stream: str, reason: str, text: str) -> None:
        """The stream could not be created."""
        for who in self._creating.pop(stream, ()):
            self._refuse(who, reason, text)

    def stream_deleted(self, stream: str) -> None:
        """Nothing of the stream is on disk any more."""
        for who in self._deleting.pop(stream, ()):
            self._answer(who, {})

    # Verbs

    def _list(self, arguments: NamesAfter, who: _Waiting, now: Instant) -> Result:
        names = sorted(name for name in self._broker.streams.names() if name > arguments.after)
        places = {name: stream_places(self._broker, name) for name in names[:_NAMES_MAX]}

        def measured(lags: Lags, now: Instant) -> None:
            rows = (
                stream_status(self._broker, name, own, lags, now=now)
                for name, own in places.items()
                if self._broker.streams.everywhere(name)
            )
            self._answer(who, _page("streams", rows, more=len(names) > len(places)))

        wanted = (place for own in places.values() for place in own.values())
        self._broker.lags.measure(wanted, measured, now=now)
        return LATER

    def _status(self, _arguments: NoArguments, _who: _Waiting, _now: Instant) -> Result:
        return broker_status(self._broker)

    def _durables(self, arguments: NamesAfter, who: _Waiting, now: Instant) -> Result:
        durables = self._broker.host.durables
        if arguments.only and arguments.only not in durables:
            raise _unknown_durable(arguments.only)
        wanted_names = [arguments.only] if arguments.only else durables
        names = sorted(name for name in wanted_names if name > arguments.after)
        places = {
            name: list(durable_places(self._broker, durables[name])) for name in names[:_NAMES_MAX]
        }

        def measured(lags: Lags, _now: Instant) -> None:
            rows = (
                durable_status(self._broker, durables[name], own, lags)
                for name, own in places.items()
                if name in durables
            )
            self._answer(who, _page("durables", rows, more=len(names) > len(places)))

        wanted = (place for own in places.values() for place in own)
        self._broker.lags.measure(wanted, measured, now=now)
        return LATER

    def _seek(self, arguments: SeekArguments, who: _Waiting, now: Instant) -> Result:
        start = arguments.wire_start
        durable = self._broker.host.durables.get(arguments.durable)
        if durable is not None and arguments.pubend:
            position = Position(int(arguments.pubend, 16), arguments.value)
            if position.pubend not in durable.cursors:
                raise RefusalError(
                    "unknown",
                    f"position {position} is of another stream: durable"
                    f" {durable.name!r} reads {', '.join(durable.streams)}",
                )

        def done(is_known: bool) -> None:
            if is_known:
                self._answer(who, {})
            else:
                refusal = _unknown_durable(arguments.durable)
                self._refuse(who, refusal.reason, refusal.text)

        self._broker.host.names.seek(arguments.durable, start, then=done, now=now)
        return LATER

    def _parked(self, arguments: ParkedArguments, who: _Waiting, _now: Instant) -> Result:
        host, name = self._broker.host, arguments.durable
        if name not in host.durables:
            raise _unknown_durable(name)
        if arguments.action == "list":
            return self._parked_page(name, max(0, arguments.skip))
        if arguments.pubend:
            positions = [Position(int(arguments.pubend, 16), arguments.tick)]
        else:
            positions = [message.position for message in host.parking.of(name)]
        for position in positions:
            if arguments.action == "discard":
                why_not = None if host.parking.discard(name, position) else "unknown"
            else:
                why_not = host.names.retry_parked(name, position)
            if why_not == "unknown":
                raise RefusalError(
                    "unknown",
                    f"durable {name!r} has no parked message {position}:"
                    f" 'penstock stream parked {name}' lists them",
                )
            if why_not is not None:
                raise RefusalError(
                    why_not, f"nobody reads durable {name!r}: start its reader, then repeat this"
                )
        self._answer_when_saved(who, {"messages": len(positions)})
        return LATER

    def _parked_page(self, name: str, skip: int) -> Result:
        parked = self._broker.host.parking.of(name)
        page: list[dict[str, Any]] = []
        room_bytes = _PARKED_BODY_BYTES_MAX
        for message in parked[skip : skip + _NAMES_MAX]:
            is_large = len(message.body) > _PARKED_BODY_BYTES_MAX
            if not is_large and len(message.body) > room_bytes:
                break
            room_bytes -= 0 if is_large else len(message.body)
            page.append(
                {
                    "pubend": f"{message.pubend:016x}",
                    "tick": message.tick,
                    "published_ns": message.published_ns,
                    "attempts": message.attempts,
                    "reason": message.reason[:500],
                    # Base64; too large for an answer: `retry` still hands it out.
                    "body": None if is_large else message.body,
                }
            )
        return {"messages": page, "more": skip + len(page) < len(parked)}

    def _forget(self, arguments: ForgetArguments, who: _Waiting, now: Instant) -> Result:
        if arguments.durable:
            if not self._broker.host.names.forget(arguments.durable, now=now):
                raise _unknown_durable(arguments.durable)
        else:
            self._forget_host(arguments.host)
        self._answer_when_saved(who, {})
        return LATER

    def _forget_host(self, host: str) -> None:
        if host == self._broker.name:
            # Its durable names would lose their messages without a word.
            raise RefusalError(
                "bad_request", f"{host!r} is this broker itself: delete its durables instead"
            )
        if self._broker.links.has_child(host):
            raise RefusalError(
                "bad_request", f"broker {host!r} is linked to this one: end it, then repeat this"
            )
        known = [p for p in self._broker.pubends.values() if host in p.rows.by_host]
        if not known:
            raise RefusalError(
                "unknown",
                f"no host {host!r} holds a stream of this broker: 'penstock stream status' names"
                " them",
            )
        for pubend in known:
            pubend.rows.forget(host)

    def _create(self, arguments: CreateArguments, who: _Waiting, _now: Instant) -> Result:
        stream = arguments.stream
        if self._broker.streams.everywhere(stream):
            raise RefusalError(
                "exists", f"there is a stream {stream!r} already: use it, or delete it"
            )
        waiting = self._creating.setdefault(stream, [])
        waiting.append(who)
        if len(waiting) == 1:
            self._broker.tell(StreamWanted(stream, arguments.retention, arguments.slow_host))
        return LATER

    def _change(self, arguments: ChangeArguments, who: _Waiting, _now: Instant) -> Result:
        own = self._own(arguments.stream)
        retention = arguments.applied(own[0].stored.size.retention)
        try:
            check_retention(retention)
        except UsageError as error:
            raise RefusalError("bad_request", str(error)) from None
        for pubend in own:
            pubend.stored.change_retention(retention)

        def changed(now: Instant) -> None:
            self._answer(who, stream_status(self._broker, arguments.stream, {}, {}, now=now))

        self._broker.disk.save("answered", None, changed)
        return LATER

    def _own(self, stream: str) -> list[Pubend]:
        own = [pubend for pubend in self._broker.pubends.values() if pubend.stream == stream]
        if not own:
            raise RefusalError(
                "unknown_stream",
                f"no stream {stream!r} is stored here: 'penstock stream list' shows those that are",
            )
        return own

    def _delete(self, arguments: StreamArguments, who: _Waiting, now: Instant) -> Result:
        stream = arguments.stream
        own = self._own(stream)
        self._deleting.setdefault(stream, []).append(who)
        for pubend in own:
            self._broker.remove_pubend(pubend, now=now)
            self._broker.tell(StreamUnwanted(pubend.id, stream, pubend.log))
        return LATER

    # Answers

    def _answer(self, who: _Waiting, result: Result) -> None:
        encoded = msgspec.json.encode(result)
        if len(encoded) > RESULT_BYTES_MAX:
            self._refuse(who, "too_large", "the answer is too large for one frame")
        else:
            self._broker.send_client(who.port, Answer(number=who.number, result=encoded))

    def _answer_when_saved(self, who: _Waiting, result: Result) -> None:
        """Answers when all that was saved until now is on disk."""
        # Deletes nothing; saves are done in their order.
        self._broker.disk.save("answered", None, lambda _now: self._answer(who, result))

    def _refuse(self, who: _Waiting, reason: str, text: str) -> None:
        self._broker.send_client(who.port, refusal(RefusedKind.REQUEST, who.number, reason, text))


def _page(what: str, rows: Iterator[msgspec.Struct], *, more: bool) -> Result:
    """As many rows as an answer takes; the rest is asked for with `after`."""
    page: list[msgspec.Raw] = []
    room_bytes = _PAGE_BYTES_MAX
    for row in rows:
        encoded = msgspec.json.encode(row)
        room_bytes -= len(encoded)
        if page and room_bytes < 0:
            return {what: page, "more": True}
        page.append(msgspec.Raw(encoded))
    return {what: page, "more": more}


def _unknown_durable(name: str) -> RefusalError:
    return RefusalError(
        "unknown", f"no durable {name!r} at this broker: 'penstock stream durables' lists them"
    )
