"""A client of ferry nodes, with asyncio and the standard library only.

    import asyncio
    from ferry_client import connect

    async def main():
        async with await connect("tcp://127.0.0.1:4190", token_file="ferry-data/token") as client:
            async with await client.subscribe("sensors/#", where="readings.0.value > 1") as readings:
                async for message in readings:
                    print(message.tag, message.payload)

    asyncio.run(main())

connect returns a Client. It publishes (Publisher), subscribes (Subscription), reads stored streams (replay, Durable), and calls and serves
methods (call, stream, Service; serve is a whole program that serves). ferry_client.worker is for functions that a node runs as processes. docs/native.md of ferry is the wire.
"""

from .calls import CallStream, Response
from .client import Client, connect, serve
from .errors import (
    BadRequest,
    CallCode,
    CallError,
    ClosedError,
    ConnectionLost,
    Detail,
    Draining,
    Dropped,
    FerryError,
    Forbidden,
    InvalidPayload,
    LimitReached,
    NodeError,
    ProtocolError,
    Timeout,
    TooLarge,
    Unauthenticated,
    VersionMismatch,
)
from .message import DeadLetter, Message, Type
from .publisher import Publisher
from .serving import Call, Service
from .subscription import Durable, Nanoseconds, Policy, Reject, Retry, Start, Subscription
from .wire import Code

__all__ = [
    "BadRequest",
    "Call",
    "CallCode",
    "CallError",
    "CallStream",
    "Client",
    "ClosedError",
    "Code",
    "ConnectionLost",
    "DeadLetter",
    "Detail",
    "Draining",
    "Dropped",
    "Durable",
    "FerryError",
    "Forbidden",
    "InvalidPayload",
    "LimitReached",
    "Message",
    "Nanoseconds",
    "NodeError",
    "Policy",
    "ProtocolError",
    "Publisher",
    "Reject",
    "Response",
    "Retry",
    "Service",
    "Start",
    "Subscription",
    "Timeout",
    "TooLarge",
    "Type",
    "Unauthenticated",
    "VersionMismatch",
    "connect",
    "serve",
]
