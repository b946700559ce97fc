"""Publishes and subscribes, with a predicate that the node evaluates on the payload.

    ferry run &
    python3 clients/python/examples/publish.py

Prints:

    python/press {'value': 97}
    python/oven {'value': 180}
"""

import asyncio
import json
import os

from ferry_client import connect

ADDRESS = os.environ.get("FERRY_ADDRESS", "tcp://127.0.0.1:4190")
TOKEN_FILE = os.environ.get("FERRY_TOKEN_FILE", "ferry-data/token")


async def main() -> None:
    async with await connect(ADDRESS, token_file=TOKEN_FILE) as client:
        async with await client.subscribe("python/#", where="value > 90") as hot:
            press, oven = await client.publisher("python/press"), await client.publisher("python/oven")
            await press.send_json({"value": 20})
            await press.send_json({"value": 97})
            await client.flush()  # the node has routed them
            await oven.send_json({"value": 180})
            for _ in range(2):
                message = await hot.get()
                print(message.tag, json.loads(message.payload))


asyncio.run(main())
