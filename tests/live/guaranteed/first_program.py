"""The first program that somebody writes; the strict checker reads it with all tests."""

import asyncio

import penstock.streams


async def main() -> None:
    async with penstock.streams.connect() as node:
        orders = node.stream("orders", create=True)
        await orders.publish({"symbol": "IBM", "qty": 100})  # returns when it is on disk
        async with orders.subscribe("qty >= 100", durable="billing", start="first") as inbox:
            async for order in inbox:  # asking for the next acknowledges this one
                print(order["symbol"], order.position)


if __name__ == "__main__":
    asyncio.run(main())
