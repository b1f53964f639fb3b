"""REQUEST and RESULT: the rare verbs of a broker, with arguments and results as JSON.

A verb is an entry of a table: a type for its arguments and a function. What cannot be read or done
is answered with REFUSED, never with an exception.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import msgspec

from penstock.guaranteed.facts import StreamUnwanted, StreamWanted
from penstock.guaranteed.settings import Retention, check_retention
from penstock.guaranteed.status import (
    broker_status,
    durable_status,
    stream_status,
    stream_statuses,
)
from penstock.kernel.errors import UsageError
from penstock.kernel.instant import Instant
from penstock.kernel.machine import Port
from penstock.wire.frames.guaranteed.base import (
    RESULT_BYTES_MAX,
    Start,
    StartKind,
    check_name,
    check_start,
)
from penstock.wire.frames.guaranteed.client import Answer, Ask, Refused, RefusedKind
from penstock.wire.frames.guaranteed.subscription import Position

if TYPE_CHECKING:
    from penstock.guaranteed.broker import Broker

# Of one answer: the rest is asked for with `after`.
_NAMES_MAX: Final = 400
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


class NoArguments(msgspec.Struct, frozen=True):
    """Of verbs that need none."""


class NamesAfter(msgspec.Struct, frozen=True):
    """A page of names: those behind this one."""

    after: str = ""


class SeekArguments(msgspec.Struct, frozen=True):
    """Where a durable name goes on; `value` is a tick or Unix nanoseconds."""

    durable: str
    start: Literal["first", "now", "tick", "time"]
    value: int = 0


class ParkedArguments(msgspec.Struct, frozen=True):
    """Parked messages of a name: a page of them, or what to do with one."""

    durable: str
    action: Literal["list", "retry", "discard"] = "list"
    # Of `list`: how many to leave out.
    skip: int = 0
    # Of the others: which one.
    pubend: str = ""
    tick: int = 0


class ForgetArguments(msgspec.Struct, frozen=True):
    """A durable name of this host, or a whole host, at the broker that stores the streams."""

    durable: str = ""
    host: str = ""


class CreateArguments(msgspec.Struct, frozen=True):
    """A new stream."""

    stream: str
    retention: Retention = Retention()
    slow_host: Literal["throttle", "lag"] = "throttle"


class StreamArguments(msgspec.Struct, frozen=True):
    """One stream."""

    stream: str


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
            "list": (NoArguments, self._list),
            "durables": (NamesAfter, self._durables),
            "seek": (SeekArguments, self._seek),
            "parked": (ParkedArguments, self._parked),
            "forget": (ForgetArguments, self._forget),
            "status": (NoArguments, self._status),
            "create": (CreateArguments, self._create),
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

    def stream_created(self, stream: str) -> None:
        """The stream is here: tells who has asked for it."""
        for who in self._creating.pop(stream, ()):
            self._answer(who, stream_status(self._broker, stream))

    def stream_refused(self, stream: str, reason: str, text: str) -> None:
        """The stream could not be created."""
        for who in self._creating.pop(stream, ()):
            self._refuse(who, reason, text)

    def stream_deleted(self, stream: str) -> None:
        """Nothing of the stream is on disk any more."""
        for who in self._deleting.pop(stream, ()):
            self._answer(who, {})

    # Verbs

    def _list(self, _arguments: NoArguments, _who: _Waiting, _now: Instant) -> Result:
        return {"streams": stream_statuses(self._broker)}

    def _status(self, _arguments: NoArguments, _who: _Waiting, _now: Instant) -> Result:
        return broker_status(self._broker)

    def _durables(self, arguments: NamesAfter, _who: _Waiting, now: Instant) -> Result:
        durables = self._broker.host.durables
        names = sorted(name for name in durables if name > arguments.after)
        page = names[:_NAMES_MAX]
        return {
            "durables": [durable_status(self._broker, durables[name], now=now) for name in page],
            "more": len(names) > len(page),
        }

    def _seek(self, arguments: SeekArguments, who: _Waiting, now: Instant) -> Result:
        start = Start(StartKind[arguments.start.upper()], arguments.value)
        try:
            check_start(start)
        except UsageError as error:
            raise RefusalError("bad_request", str(error)) from None

        def done(is_known: bool) -> None:
            if is_known:
                self._answer(who, {})
            else:
                refusal = _unknown_durable(arguments.durable)
                self._refuse(who, refusal.reason, refusal.text)

        self._broker.host.seek(arguments.durable, start, then=done, now=now)
        return LATER

    def _parked(self, arguments: ParkedArguments, _who: _Waiting, _now: Instant) -> Result:
        host, name = self._broker.host, arguments.durable
        if name not in host.durables:
            raise _unknown_durable(name)
        if arguments.action == "list":
            return self._parked_page(name, max(0, arguments.skip))
        position = Position(_read_pubend(arguments.pubend), arguments.tick)
        if arguments.action == "discard":
            why_not = None if host.parking.discard(name, position) else "unknown"
        else:
            why_not = host.retry_parked(name, position)
        if why_not == "unknown":
            raise RefusalError(
                "unknown", f"durable {name!r} has no parked message {_show_position(position)}"
            )
        if why_not is not None:
            raise RefusalError(
                why_not, f"nobody reads durable {name!r}: start its reader, then repeat this"
            )
        return {}

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

    def _forget(self, arguments: ForgetArguments, _who: _Waiting, now: Instant) -> Result:
        if bool(arguments.durable) == bool(arguments.host):
            raise RefusalError("bad_request", "forget: name either a durable or a host")
        if arguments.durable:
            if not self._broker.host.forget(arguments.durable, now=now):
                raise _unknown_durable(arguments.durable)
            return {}
        known = [p for p in self._broker.pubends.values() if arguments.host in p.rows.by_host]
        if not known:
            raise RefusalError(
                "unknown", f"no host {arguments.host!r} has read a stream of this broker"
            )
        for pubend in known:
            pubend.rows.forget(arguments.host)
        return {}

    def _create(self, arguments: CreateArguments, who: _Waiting, _now: Instant) -> Result:
        stream = arguments.stream
        try:
            check_name("the name of a stream", stream)
            check_retention(arguments.retention)
        except UsageError as error:
            raise RefusalError("bad_request", str(error)) from None
        if self._broker.pubends_of(stream):
            raise RefusalError(
                "exists", f"there is a stream {stream!r} already: use it, or delete it"
            )
        waiting = self._creating.setdefault(stream, [])
        waiting.append(who)
        if len(waiting) == 1:
            self._broker.tell(StreamWanted(stream, arguments.retention, arguments.slow_host))
        return LATER

    def _delete(self, arguments: StreamArguments, who: _Waiting, now: Instant) -> Result:
        stream = arguments.stream
        own = [pubend for pubend in self._broker.pubends.values() if pubend.stream == stream]
        if not own:
            raise RefusalError("unknown_stream", f"no stream {stream!r} is stored here")
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

    def _refuse(self, who: _Waiting, reason: str, text: str) -> None:
        self._broker.send_client(
            who.port,
            Refused(kind=RefusedKind.REQUEST, number=who.number, reason=reason, text=text),
        )


def _unknown_durable(name: str) -> RefusalError:
    return RefusalError(
        "unknown", f"no durable {name!r} at this broker: 'durables' lists its names"
    )


def _read_pubend(text: str) -> int:
    try:
        return int(text, 16)
    except ValueError:
        raise RefusalError(
            "bad_request", f"a pubend is 16 hexadecimal digits, not {text[:40]!r}"
        ) from None


def _show_position(position: Position) -> str:
    return f"{position.pubend:016x}:{position.tick}"
