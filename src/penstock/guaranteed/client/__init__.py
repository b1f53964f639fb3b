"""A client of guaranteed streams, as a machine with one port."""

from penstock.guaranteed.client.client import BROKER, Client
from penstock.guaranteed.client.facts import (
    AckStored,
    Answered,
    ClientFact,
    Confirmed,
    Ended,
    Fenced,
    Missed,
    Moved,
    NotTaken,
    Opened,
    Poisonous,
    Receipted,
    Received,
    ReceivedMany,
    Welcomed,
)
from penstock.guaranteed.client.subscription import SubscriptionOptions

__all__ = [
    "BROKER",
    "AckStored",
    "Answered",
    "Client",
    "ClientFact",
    "Confirmed",
    "Ended",
    "Fenced",
    "Missed",
    "Moved",
    "NotTaken",
    "Opened",
    "Poisonous",
    "Receipted",
    "Received",
    "ReceivedMany",
    "SubscriptionOptions",
    "Welcomed",
]
