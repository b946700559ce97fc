"""Handles each message of a stored stream at least once. The node stores the tag orders/#.

    ferry run -c examples/stream/durable.yaml &
    python3 clients/python/examples/orders.py

Prints:

    pump: once more
    pump: done after 1 delivery before
    valve: done after 0 deliveries before
"""

import asyncio
import json
import os
import uuid

from ferry_client import Message, Retry, connect

ADDRESS = os.environ.get("FERRY_ADDRESS", "tcp://127.0.0.1:4190")
TOKEN_FILE = os.environ.get("FERRY_TOKEN_FILE", "ferry-data/token")


async def main() -> None:
    tag = f"orders/{uuid.uuid4()}"
    async with await connect(ADDRESS, token_file=TOKEN_FILE) as client:
        billing = await client.durable(tag, f"billing-{uuid.uuid4()}", start="new")
        publisher = await client.publisher(tag)
        for number, item in enumerate(["pump", "valve"]):
            order = json.dumps({"item": item}).encode()
            await publisher.send_stored(order, id=f"{tag}-{number}")  # returns when the node has stored it, once

        async def handle(message: Message) -> None:
            item = json.loads(message.payload)["item"]
            if item == "pump" and message.deliveries == 0:
                print(f"{item}: once more")
                raise Retry("no pumps left", delay=0.05)  # later orders of the tag wait
            print(f"{item}: done after {message.deliveries} deliver{'y' if message.deliveries == 1 else 'ies'} before")
            if item == "valve":
                asyncio.get_running_loop().call_soon(asyncio.ensure_future, billing.close())

        await billing.run(handle)


asyncio.run(main())
