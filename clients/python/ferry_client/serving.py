"""Services that a client offers to the callers of its node."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

_NAME = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")


class Call:
    """What a handler knows of its call beside the request. timeout is in seconds, None if the caller has set none."""

    def __init__(self, method: str, metadata: dict[str, list[str]], timeout: float | None) -> None:
        self.method = method
        self.metadata = metadata
        self.timeout = timeout
        self.trailers: dict[str, str | list[str]] = {}  # goes to the caller with the last response


UnaryHandler = Callable[[Any, Call], Awaitable[Any]]
StreamHandler = Callable[[AsyncIterator[Any], Call], AsyncIterator[Any]]


class Handler:
    """A method of a service: one request and one response, or streams of both."""

    def __init__(self, unary: UnaryHandler | None, stream: StreamHandler | None) -> None:
        self._unary = unary
        self._stream = stream

    @property
    def streams(self) -> bool:
        return self._stream is not None

    def unary(self, request: Any, call: Call) -> Awaitable[Any]:
        assert self._unary is not None
        return self._unary(request, call)

    def stream(self, requests: AsyncIterator[Any], call: Call) -> AsyncIterator[Any]:
        assert self._stream is not None
        return self._stream(requests, call)


class Service:
    """Methods that others call through the node. Client.serve offers it.

        greeter = Service("greeter.Greeter")

        @greeter.unary("Hello")
        async def hello(request, call):
            return {"message": "Hello, " + request["name"]}

        @greeter.stream("Count")
        async def count(requests, call):
            async for request in requests:
                yield request + 1

    With the content type application/json, requests and responses are what json.loads and json.dumps know; with any other one, or with
    raw, they are bytes. A handler raises CallError to choose the code of the response; any other exception becomes the code unknown. A handler
    is cancelled when its caller cancels, or its time is over.
    """

    def __init__(self, name: str, *, content_type: str = "application/json", raw: bool = False) -> None:
        if not _NAME.fullmatch(name):
            raise ValueError(f"ferry: {name!r} is no name of a service: want letters, digits, - and _, in parts that dots separate")
        self.name = name
        self.content_type = content_type
        self.raw = raw
        self.handlers: dict[str, Handler] = {}

    def unary(self, method: str) -> Callable[[UnaryHandler], UnaryHandler]:
        """Makes a coroutine function the handler of a method: one request, one response."""

        def add(handler: UnaryHandler) -> UnaryHandler:
            self.handlers[method] = Handler(handler, None)
            return handler

        return add

    def stream(self, method: str) -> Callable[[StreamHandler], StreamHandler]:
        """Makes an async generator function the handler of a method: a stream of requests, a stream of responses."""

        def add(handler: StreamHandler) -> StreamHandler:
            self.handlers[method] = Handler(None, handler)
            return handler

        return add
