"""What a host of a run does."""

from enum import StrEnum


class HostRole(StrEnum):
    """The role of a host, as in the column `hosts.role`."""

    BROKER = "broker"
    PUBLISHER = "publisher"
    SUBSCRIBER = "subscriber"
    # Publishes and subscribes.
    PEER = "peer"
    # Neither publishes nor subscribes.
    IDLE = "idle"

    @property
    def subscribes(self) -> bool:
        """Whether it subscribes to anything."""
        return self in {HostRole.SUBSCRIBER, HostRole.PEER}

    @classmethod
    def of_client(cls, *, publishes: bool, subscribes: bool) -> "HostRole":
        """The role of a client."""
        if publishes:
            return cls.PEER if subscribes else cls.PUBLISHER
        return cls.SUBSCRIBER if subscribes else cls.IDLE
