"""The driver of ferry_client for `ferry conformance client`: it reads instructions as lines of JSON, and writes reports.

    ferry conformance client -- python3 clients/python/tests/conformance.py

With --listen PATH it accepts connections on a Unix socket instead, and is a driver of its own for each, because it takes Python longer
to start than most cases to run.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import ferry_client as ferry  # noqa: E402

POLICIES = {"block": ferry.Policy.BLOCK, "drop-oldest": ferry.Policy.DROP_OLDEST, "drop-newest": ferry.Policy.DROP_NEWEST}


def report(**fields: Any) -> None:
    sys.stdout.write(json.dumps(fields) + "\n")
    sys.stdout.flush()


def echo(name: str) -> ferry.Service:
    """The service that the kit calls."""
    service = ferry.Service(name, raw=True)

    @service.unary("Say")
    async def say(request: bytes, call: ferry.Call) -> bytes:
        return request

    @service.stream("Repeat")
    async def repeat(requests: Any, call: ferry.Call) -> Any:
        async for request in requests:
            yield request

    @service.unary("Fail")
    async def fail(request: bytes, call: ferry.Call) -> bytes:
        raise ferry.CallError(ferry.CallCode.NOT_FOUND, "no k")

    @service.unary("Wait")
    async def wait(request: bytes, call: ferry.Call) -> bytes:
        await asyncio.get_running_loop().create_future()
        return b""

    return service


class Observer:
    """A subscription and what its handler does with each message."""

    def __init__(
        self, number: int, subscription: ferry.Subscription, outcomes: list[str], type_names: dict[int, str], client: ferry.Client, publish: str
    ) -> None:
        self.number = number
        self.client = client
        self.publish = publish  # the tag of what the handler publishes
        self.subscription = subscription
        self.outcomes = outcomes
        self.handled = 0
        self.released = asyncio.Event()
        self.type_names = type_names
        self.task = asyncio.create_task(self.observe())

    async def observe(self) -> None:
        try:
            async for m in self.subscription:
                report(
                    event="message",
                    sub=self.number,
                    tag=m.tag,
                    type=self.type_names.get(m.type, str(m.type)),
                    payload=m.payload.hex(),
                    time=m.time,
                    source=m.source,
                    sequence=m.sequence,
                    deliveries=m.deliveries,
                    key=m.key.decode(errors="replace"),
                    message_id=m.id.decode(errors="replace"),
                )
                if self.publish:
                    await (await self.client.publisher(self.publish)).send(m.payload)
                await self.handle(m)
        except ferry.FerryError as e:
            report(event="ended", sub=self.number, code=None if e.code is None else int(e.code))

    async def handle(self, m: ferry.Message) -> None:
        outcome = self.outcomes[min(self.handled, len(self.outcomes) - 1)]
        self.handled += 1
        if outcome == "hold":
            await self.released.wait()
        if not isinstance(self.subscription, ferry.Durable):
            return
        if outcome in ("ok", "hold"):
            self.subscription.ack(m)
        elif outcome == "reject":
            self.subscription.reject(m, reason="rejected")
        else:
            _, _, delay = outcome.partition(":")
            self.subscription.nak(m, delay=int(delay or 0) / 1000, reason="failed")


class Driver:
    def __init__(self) -> None:
        self.client: ferry.Client | None = None
        self.observers: dict[int, Observer] = {}
        self.calls: dict[int, asyncio.Task[None]] = {}
        self.services: dict[str, ferry.Service] = {}
        self.types = {t.name.lower(): int(t) for t in ferry.Type}
        self.type_names = {int(t): t.name.lower() for t in ferry.Type}

    async def do(self, instruction: dict[str, Any]) -> None:
        number = instruction.pop("id")
        verb = getattr(self, "do_" + instruction.pop("do"), None)
        if verb is None:
            report(id=number, unsupported=True)
            return
        try:
            await verb(**instruction)
        except ferry.FerryError as e:
            if e.code is None:
                report(id=number, error=str(e))
            else:
                report(id=number, error=str(e), code=int(e.code))
        except Exception as e:
            report(id=number, error=f"{type(e).__name__}: {e}")
        else:
            report(id=number)

    async def do_noop(self) -> None:
        pass

    async def do_connect(
        self, addr: str, token: str = "", name: str = "", reconnect: bool = False, ca: str = "", cert: str = "", key: str = ""
    ) -> None:
        if self.client is not None:
            await self.end()
        self.client = await ferry.connect(
            addr, token=token, name=name, reconnect=reconnect, ca_file=ca or None, cert_file=cert or None, key_file=key or None
        )

    async def do_close(self) -> None:
        client, self.client = self.connected(), None
        await client.close()

    def connected(self) -> ferry.Client:
        if self.client is None:
            raise ferry.ClosedError("not connected")
        return self.client

    async def do_publish(
        self,
        tag: str,
        payload: str = "",
        repeat: int = 1,
        count: int = 1,
        type: str = "raw",
        time: int = 0,
        key: str = "",
        message_id: str = "",
        to: int = 0,
        stored: bool = False,
    ) -> None:
        publisher = await self.connected().publisher(tag)
        send = publisher.send_stored if stored else publisher.send
        data = bytes.fromhex(payload) * repeat
        for _ in range(count):
            await send(data, type=self.types[type] if type in self.types else int(type), time=time, key=key, id=message_id, to=to)

    async def do_flush(self) -> None:
        await self.connected().flush()

    async def do_subscribe(
        self,
        sub: int,
        filter: str,
        where: str = "",
        group: str = "",
        addressed: bool = False,
        policy: str = "block",
        window: int = 0,
        queue: int = 0,
        durable: str = "",
        value: int = 0,
        outcomes: list[str] | None = None,
        publish: str = "",
        **rest: str,
    ) -> None:
        client = self.connected()
        size = {"window": window} if window else {}
        start: Any = rest.get("from") or None
        if start == "sequence":
            start = value
        elif start == "time":
            start = ferry.Nanoseconds(value)
        made: ferry.Subscription
        if durable:
            made = await client.durable(filter, durable, start=start, where=where, **size)
        elif start is not None:
            made = await client.replay(filter, start=start, where=where, **size)
        else:
            made = await client.subscribe(filter, where=where, group=group, policy=POLICIES[policy], queue=queue, addressed=addressed, **size)
        self.observers[sub] = Observer(sub, made, outcomes or ["ok"], self.type_names, client, publish)

    async def do_release(self, sub: int) -> None:
        observer = self.observers[sub]
        observer.released.set()

    async def do_unsubscribe(self, sub: int) -> None:
        await self.observers[sub].subscription.close()

    async def do_call(
        self,
        call: int,
        method: str,
        payloads: list[str] | None = None,
        count: int = 1,
        stream: bool = False,
        open: bool = False,
        content: str = "application/json",
        timeout: int = 0,
        metadata: dict[str, str] | None = None,
    ) -> None:
        client = self.connected()
        requests = [bytes.fromhex(p) for p in payloads or []] * count
        options = {"content_type": content, "raw": True, "timeout": timeout / 1000 or None, "metadata": metadata}
        run = self.streamed(client, call, method, requests, open, options) if stream else self.unary(client, call, method, requests, options)
        self.calls[call] = asyncio.create_task(self.outcome(call, run))

    async def unary(self, client: ferry.Client, call: int, method: str, requests: list[bytes], options: dict[str, Any]) -> dict[str, list[str]]:
        trailers: dict[str, list[str]] = {}
        for request in requests:
            response = await client.request(method, request, **options)
            report(event="response", call=call, payload=response.message.hex())
            trailers = response.trailers
        return trailers

    async def streamed(
        self, client: ferry.Client, call: int, method: str, requests: list[bytes], open: bool, options: dict[str, Any]
    ) -> dict[str, list[str]]:
        async with await client.stream(method, **options) as stream:

            async def feed() -> None:
                for request in requests:
                    await stream.send(request)
                if not open:
                    await stream.end()

            feeding = asyncio.create_task(feed())
            try:
                async for response in stream:
                    report(event="response", call=call, payload=response.hex())
            finally:
                feeding.cancel()
                await asyncio.gather(feeding, return_exceptions=True)
            return stream.trailers

    async def outcome(self, call: int, run: Coroutine[Any, Any, dict[str, list[str]]]) -> None:
        code, message = 0, ""
        trailers: dict[str, list[str]] = {}
        try:
            trailers = await run
        except ferry.CallError as e:
            code, message, trailers = int(e.status), e.message, e.trailers
        except ferry.FerryError as e:
            code, message = int(ferry.CallCode.UNKNOWN), str(e)
        except asyncio.CancelledError:
            code, message = int(ferry.CallCode.CANCELLED), "cancelled"
        report(event="result", call=call, code=code, message=message, trailer={name: values[0] for name, values in trailers.items()})

    async def do_cancel(self, call: int) -> None:
        self.calls[call].cancel()

    async def do_serve(self, service: str) -> None:
        made = echo(service)
        await self.connected().serve(made)
        self.services[service] = made

    async def do_withdraw(self, service: str) -> None:
        await self.connected().withdraw(self.services.pop(service))

    async def end(self) -> None:
        """Ends the client at the end of the case, without waiting for what the kit will not send any more."""
        for task in (*(o.task for o in self.observers.values()), *self.calls.values()):
            task.cancel()
        if self.client is not None:
            client, self.client = self.client, None
            with contextlib.suppress(ferry.FerryError):
                await client.close(timeout=0.01)


async def main() -> None:
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[str] = asyncio.Queue()

    def read() -> None:
        for line in sys.stdin:
            loop.call_soon_threadsafe(lines.put_nowait, line)
        loop.call_soon_threadsafe(lines.put_nowait, "")

    threading.Thread(target=read, daemon=True).start()
    driver = Driver()
    while line := await lines.get():
        await driver.do(json.loads(line))
    await driver.end()


def listen(path: str) -> None:
    """Forks a driver for each connection."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen()
    print("listening", flush=True)
    while True:
        connection, _ = server.accept()
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            server.close()
            os.dup2(connection.fileno(), 0)
            os.dup2(connection.fileno(), 1)
            connection.close()
            return
        connection.close()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--listen"]:
        listen(sys.argv[2])
    asyncio.run(main())
