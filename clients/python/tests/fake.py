"""A node of which a test plays every frame."""

from __future__ import annotations

import asyncio
import contextlib
import struct
from collections.abc import Awaitable, Callable

from ferry_client import wire

LIMIT = 20.0  # seconds that any step may take on a slow machine


class Peer:
    """One connection of a client, from the node's side."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def frame(self, *skip: int) -> tuple[int, int, bytes]:
        """Returns kind, flags and body of the next frame that is of none of the kinds to skip."""
        while True:
            length, kind, flags, _, _ = wire.HEAD.unpack(await self.reader.readexactly(8))
            body = await self.reader.readexactly(length - 4)
            if kind not in skip:
                return kind, flags, body

    async def expect(self, kind: int) -> bytes:
        """Returns the body of the next frame, which is of this kind. Heartbeats do not count."""
        while True:
            got, _, body = await self.frame()
            if got == kind:
                return body
            if got == wire.PING and body == bytes(8):
                continue
            raise AssertionError(f"got a frame of kind {got}, want {kind}")

    def send(self, *frames: bytes) -> None:
        self.writer.write(b"".join(frames))

    async def ended(self) -> None:
        """Waits until the client has closed the connection."""
        with contextlib.suppress(ConnectionResetError):  # something was still on its way to it
            while await self.reader.read(1 << 16):
                pass

    async def welcome(self, **fields: int) -> None:
        """Takes HELLO and sends WELCOME."""
        await self.expect(wire.HELLO)
        self.send(welcome(**fields))

    async def grant(self, number: int = 0, stored: bool = False) -> None:
        """Takes TAG and grants a number."""
        ref = int.from_bytes((await self.expect(wire.TAG))[:4], "big")
        self.send(result(wire.TAG, ref, number, wire.RESULT_STORED if stored else 0))

    async def subscribed(self, stored: bool = False, wait_ms: int = 0, start: int = 0) -> tuple[int, bytes]:
        """Takes SUB and accepts it. Returns its id, and its body."""
        body = await self.expect(wire.SUB)
        ref = int.from_bytes(body[:4], "big")
        self.send(result(wire.SUB, ref, wait_ms, wire.RESULT_STORED if stored else 0, start=start), wire.frame(wire.SELECT, body[:4]))
        return ref, body


def welcome(
    version: int = 3,
    data_streams: int = 0,
    source: int = 1,
    max_frame: int = 1 << 20,
    window: int = 1 << 20,
    heartbeat: int = 10_000,
    calls: int = 0,
    call_window: int = 0,
    stream_window: int = 0,
) -> bytes:
    body = struct.pack(">BBHIIII", version, data_streams, 0, source, max_frame, window, heartbeat)
    if version >= 2:
        body += struct.pack(">III", calls, call_window, stream_window)
    if version >= 3:
        body += wire.text("fake")
    return wire.frame(wire.WELCOME, body)


def result(kind: int, ref: int, value: int = 0, flags: int = 0, code: int = 0, reason: str = "", start: int = 0) -> bytes:
    body = struct.pack(">BxHII", kind, code, ref, value) + wire.text(reason)
    if start:
        return wire.frame(wire.RESULT, body + struct.pack(">Q", start), flags | wire.RESULT_FROM)
    return wire.frame(wire.RESULT, body, flags)


def named(number: int, tag: str) -> bytes:
    return wire.frame(wire.TAG, struct.pack(">I", number) + wire.text(tag))


def pub(number: int, payload: bytes, time: int = 1, source: int = 7, type: int = 0, extension: bytes = b"") -> bytes:
    extension = wire.padded(extension)
    size = 20 + len(extension) + len(payload)
    return wire.PUB_HEAD.pack(size, wire.PUB, 0, type, len(extension) // 4, number, source, time) + extension + payload


def stored(tag: str, sequence: int, payload: bytes, deliveries: int = 0, key: bytes = b"") -> bytes:
    extension = wire.entry(wire.EXT_TAG, tag.encode()) + wire.entry(wire.EXT_SEQUENCE, sequence.to_bytes(8, "big"))
    if deliveries:
        extension += wire.entry(wire.EXT_DELIVERIES, deliveries.to_bytes(4, "big"))
    if key:
        extension += wire.entry(wire.EXT_KEY, key)
    return pub(wire.BY_NAME, payload, source=0, extension=extension)


class Node:
    """Listens on a free port and runs a script for each connection, in order: the first script for the first one."""

    def __init__(self, *scripts: Callable[[Peer], Awaitable[None]]) -> None:
        self._scripts = list(scripts)
        self._server: asyncio.AbstractServer | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self.address = ""

    async def __aenter__(self) -> Node:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.address = "tcp://127.0.0.1:%d" % self._server.sockets[0].getsockname()[1]
        return self

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not self._scripts:
            writer.close()
            return
        script = self._scripts.pop(0)
        self._tasks.append(asyncio.create_task(self._play(script, reader, writer)))

    async def _play(self, script: Callable[[Peer], Awaitable[None]], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await asyncio.wait_for(script(Peer(reader, writer)), LIMIT)
        finally:
            writer.close()

    async def __aexit__(self, kind: object, *rest: object) -> None:
        assert self._server is not None
        self._server.close()
        if kind is not None:
            for task in self._tasks:
                task.cancel()
        failures = await asyncio.gather(*self._tasks, return_exceptions=True)
        for failure in failures:
            if kind is None and isinstance(failure, BaseException):
                raise failure
