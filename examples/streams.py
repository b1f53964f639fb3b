"""Guaranteed streams: orders go to disk, and two programs read them, each at its own pace.

Start a broker in another terminal, then this program:

    penstock stream broker --directory streams
    python examples/streams.py

It connects to tcp://127.0.0.1:7451, or to the address in $PENSTOCK_STREAMS. Run it twice: the
second time, billing goes on behind the last order that it has read.
"""

import asyncio

import penstock.streams

SYMBOLS = ("IBM", "AMD", "ARM")


async def take_orders(node: penstock.streams.StreamNode, count: int) -> None:
    """Publishes orders: many are on their way at once, and all are on disk at the end."""
    orders = node.stream("orders", create=True)
    pending = [await orders.submit({"symbol": SYMBOLS[n % 3], "qty": 10 * n}) for n in range(count)]
    stored = [await each for each in pending]
    print(f"{len(stored)} orders are on disk, the last one at {stored[-1].position}")


async def bill(node: penstock.streams.StreamNode, count: int) -> None:
    """Reads large orders under a durable name: after a restart it goes on where it was."""
    orders = node.stream("orders")
    async with orders.subscribe("qty >= 100", durable="billing", start="first") as inbox:
        print("billing goes on" if inbox.resumed else "billing begins with the first order")
        for _ in range(count):
            order = await anext(inbox)  # asking for the next acknowledges this one
            print(f"  bill {order['qty']} of {order['symbol']}")


async def look(node: penstock.streams.StreamNode) -> None:
    """Reads along without a name: no cursor is kept, and nothing is held for it."""
    async with node.stream("orders").subscribe('symbol = "ARM"', start="first") as inbox:
        found = await inbox.receive(1, wait="5s")
        print(f"the first order of ARM was of {found[0]['qty']}")


async def main() -> None:
    """Takes 20 orders, and bills five."""
    async with penstock.streams.connect(name="desk") as node:
        await take_orders(node, 20)
        await bill(node, 5)
        await look(node)


if __name__ == "__main__":
    asyncio.run(main())
