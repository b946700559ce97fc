"""Calls the service of greeter.py, which runs with the same address and token.

Prints:

    {'message': 'Hello, Bo'}
    invalid argument: a name is missing
    2 3 4
"""

import asyncio
import os

from ferry_client import CallError, connect

ADDRESS = os.environ.get("FERRY_ADDRESS", "tcp://127.0.0.1:4190")
TOKEN_FILE = os.environ.get("FERRY_TOKEN_FILE", "ferry-data/token")


async def main() -> None:
    async with await connect(ADDRESS, token_file=TOKEN_FILE) as client:
        print(await client.call("python.Greeter.Hello", {"name": "Bo"}, timeout=5))
        try:
            await client.call("python.Greeter.Hello", {})
        except CallError as error:
            print(error)
        async with await client.stream("python.Greeter.Next", timeout=5) as call:
            for n in (1, 2, 3):
                await call.send(n)
            await call.end()
            print(*[n async for n in call])


asyncio.run(main())
