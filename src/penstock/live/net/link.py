"""A link between two brokers: two connections that live and die together.

*Control* carries what must not queue behind data, *data* all the rest; the type of a frame says
which. The room of a link is that of its data connection: control frames are few and small.
"""

from __future__ import annotations

from time import monotonic_ns
from typing import Final

from msgspec.structs import replace

from penstock.live.net.frame_connection import AnyFrame, FrameConnection
from penstock.wire.frames.guaranteed.base import BrokerFrame
from penstock.wire.frames.guaranteed.channels import CHANNEL_OF, Channel
from penstock.wire.frames.guaranteed.hello import Hello, Ping


class Link:
    """Begins with its control connection; `pair` adds the other, and the port of the machine."""

    def __init__(
        self,
        token: int,
        control: FrameConnection,
        *,
        broker: str,
        life: int,
        reached_at: str = "",
    ) -> None:
        self.token: Final = token
        self.broker: Final = broker
        self.life: Final = life
        # As this end was told where the other one is, if this end has opened it.
        self.reached_at: Final = reached_at
        self.port = ""
        self._made_ns: Final = monotonic_ns()
        self._control: Final = control
        self._data: FrameConnection | None = None
        # Bytes for control that were taken out of the room of the machine.
        self._control_bytes = 0

    @property
    def is_paired(self) -> bool:
        """Whether both connections are there."""
        return self._data is not None

    @property
    def peer(self) -> str:
        """The address at the other end."""
        return self._control.peer

    @property
    def alive_ns(self) -> int:
        """When the connection that is silent for longer has received anything."""
        if self._data is None:
            # Nothing but the second connection counts.
            return self._made_ns
        return min(self._control.last_received_ns, self._data.last_received_ns)

    def is_data(self, connection: FrameConnection) -> bool:
        """Whether this is the connection whose room is that of the link."""
        return connection is self._data

    def pair(self, data: FrameConnection, port: str) -> None:
        """The second connection is there."""
        assert self._data is None, "a link has two connections"
        self._data, self.port = data, port
        # Queues stay in the machine: 64 KB unsent in the kernel are a second at 60 KB/s.
        data.limit_unsent()

    def put(self, frame: AnyFrame) -> None:
        """Adds a frame to the next write of its channel."""
        assert self._data is not None
        if CHANNEL_OF[type(frame)] is Channel.CONTROL:
            self._control_bytes += self._control.put(frame)
        elif type(frame) is Hello:
            self._data.put(replace(frame, token=self.token))
        else:
            self._data.put(frame)

    def put_control(self, frame: BrokerFrame) -> None:
        """Writes a frame of the link itself, which no machine has sent."""
        self._control.say(frame)

    def flush(self) -> int:
        """Writes what was put; returns the bytes for which there is room again at once."""
        room_bytes, self._control_bytes = self._control_bytes, 0
        if room_bytes:
            self._control.flush()
        return room_bytes + (self._data.flush() if self._data is not None else 0)

    def ping(self) -> None:
        """Shows the other end that this one is there."""
        for connection in (self._control, self._data):
            if connection is not None:
                connection.say(Ping())

    def connections(self) -> tuple[FrameConnection, ...]:
        """The connections that there are."""
        return (self._control,) if self._data is None else (self._control, self._data)

    def close(self, error: Exception | None = None) -> None:
        """Ends both connections."""
        for connection in self.connections():
            connection.close(error)
