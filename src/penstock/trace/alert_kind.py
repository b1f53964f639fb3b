"""Which hosts an alert or a report is about."""

from enum import StrEnum


class AlertKind(StrEnum):
    """What the hosts do, as in the column `alerts.kind`."""

    NORMAL = "normal"
    RECOVERING = "recovering"
