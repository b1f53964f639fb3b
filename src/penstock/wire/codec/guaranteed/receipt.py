"""PUBLISH_WITH_RECEIPT and RECEIPT on the wire: they look like PUBLISH and CONFIRM."""

from __future__ import annotations

from typing import Final

from penstock.wire.codec.guaranteed.publication import ConfirmCodec, PublishCodec
from penstock.wire.frames.guaranteed.receipt import PublishWithReceipt, Receipt


class PublishWithReceiptCodec:
    """PUBLISH_WITH_RECEIPT: the fields of PUBLISH."""

    BYTES_MAX: Final = PublishCodec.BYTES_MAX
    size = staticmethod(PublishCodec.size)
    write = staticmethod(PublishCodec.write)

    @staticmethod
    def read(data: bytes) -> PublishWithReceipt:
        """Decodes a whole frame."""
        plain = PublishCodec.read(data)
        return PublishWithReceipt(stream=plain.stream, ids=plain.ids, bodies=plain.bodies)


class ReceiptCodec:
    """RECEIPT: the fields of CONFIRM."""

    BYTES_MAX: Final = ConfirmCodec.BYTES_MAX
    size = staticmethod(ConfirmCodec.size)
    write = staticmethod(ConfirmCodec.write)

    @staticmethod
    def read(data: bytes) -> Receipt:
        """Decodes a whole frame."""
        plain = ConfirmCodec.read(data)
        return Receipt(stream=plain.stream, runs=plain.runs)
