"""Every name of streams in use: never run, but the strict checker reads it with all tests."""

from datetime import timedelta

from penstock import streams


async def main() -> None:
    addresses = ["tcp://127.0.0.1", "tcp://127.0.0.1:7452"]
    async with streams.connect(addresses, name="n", timeout="1s", drain=0.5) as node:
        info: streams.StreamInfo = await node.create_stream(
            "orders", retention=streams.Retention(size="1MB"), slow_host="lag"
        )
        orders = node.stream(info.name, confirm="received")
        publisher: streams.Publisher = orders
        await publisher.publish({"n": 1})
        pending: streams.Pending = await orders.submit({"n": 1}, b"", publication=7)
        position: streams.Position | None = (await pending).position
        print(position, node.statistics().unconfirmed, await node.drain("1s"))
        wanted = streams.Filter("n > ?", 1)
        async with node.subscribe(
            wanted, streams=["orders"], expire=timedelta(days=1), poison="park"
        ) as inbox:
            async for item in inbox.with_losses():
                if isinstance(item, streams.Loss):
                    print(item.count, item.reason)
                else:
                    await item.ack()
            lag: streams.Lag = await inbox.lag()
            print(lag.messages, inbox.statistics().delivered, await inbox.losses.receive())
        async for parked in node.parked("d"):
            await node.parked("d").retry(parked)
        durables: list[streams.DurableInfo] = await node.list_durables()
        await node.seek(durables[0].name, position or "first")
