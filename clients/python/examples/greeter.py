"""Serves a service through a node until Ctrl-C or SIGTERM. call.py calls it.

    ferry run -c examples/calls/node.yaml &
    FERRY_ADDRESS=tcp://127.0.0.1:4790 FERRY_TOKEN_FILE=ferry-data/calls/token python3 clients/python/examples/greeter.py

Others call it too: ferry call --token-file ferry-data/calls/token tcp://127.0.0.1:4790 python.Greeter.Hello '{"name":"Bo"}'
"""

import os
from collections.abc import AsyncIterator

from ferry_client import Call, CallCode, CallError, Service, serve

ADDRESS = os.environ.get("FERRY_ADDRESS", "tcp://127.0.0.1:4190")
TOKEN_FILE = os.environ.get("FERRY_TOKEN_FILE", "ferry-data/token")

greeter = Service("python.Greeter")


@greeter.unary("Hello")
async def hello(request: dict[str, str], call: Call) -> dict[str, str]:
    if "name" not in request:
        raise CallError(CallCode.INVALID_ARGUMENT, "a name is missing")
    return {"message": "Hello, " + request["name"]}


@greeter.stream("Next")
async def successor(requests: AsyncIterator[int], call: Call) -> AsyncIterator[int]:
    async for n in requests:
        yield n + 1


serve(greeter, address=ADDRESS, token_file=TOKEN_FILE)
