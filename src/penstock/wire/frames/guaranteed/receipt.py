"""PUBLISH with a receipt, and RECEIPT: a broker says that it has a message before it is on disk.

They are frames of their own, so that PUBLISH and CONFIRM, which there are for every message, carry
nothing for them. CONFIRM follows all the same: the client keeps the message until then.
"""

from __future__ import annotations

from penstock.wire.frames.guaranteed.publication import Confirm, Publish


class PublishWithReceipt(Publish, frozen=True, kw_only=True, gc=False):
    """PUBLISH_WITH_RECEIPT: messages for a stream, answered with RECEIPT, then with CONFIRM."""


class Receipt(Confirm, frozen=True, kw_only=True, gc=False):
    """RECEIPT: these publications are taken, and where; they may still be lost in a crash."""
