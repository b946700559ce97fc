"""A worker of a ferry node, for functions with a `command`. docs/worker.md of ferry is the protocol.

    from ferry_worker import JSON, Message, serve      # in a package: from ferry_client.worker import ...

    def handle(message):
        yield Message("out/" + message.tag, JSON, message.payload)

    if __name__ == "__main__":
        serve(handle)

The file needs nothing but the standard library, so that a function can have a copy of it beside its own program.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import os
import queue
import socket
import struct
import threading
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

RAW, Y3, Y3N, CBOR, JSON, PROTOBUF, BSON, MSGPACK = range(8)  # types of payloads

_HELLO, _MESSAGE, _END, _CANCEL = 1, 2, 3, 4
_DONE, _FAILED = 0, 1
_MAGIC = b"ferry worker"
_VERSION = 1
_EXTRA = 73_756  # bytes that a frame may have beside the largest payload
_HEAD = struct.Struct("<BIIqH")
_BATCH = 64 << 10  # bytes that are gathered for one write


@dataclass
class Message:
    """A message. type is a number above, or a private one from 128 to 255."""

    tag: str
    type: int = RAW
    payload: bytes = b""
    source: int = 0  # the client that published it; not used in a message that is sent
    time: int = 0  # Unix time in nanoseconds; 0 in a message that is sent means now
    to: int = 0  # the one client that gets it; 0 means all that observe the tag


class Error(Exception):
    """The parent does not speak the protocol of this file."""


class _Parent:
    """The socket to the parent. read returns None when the parent is gone, or wants this process to end."""

    def __init__(self) -> None:
        number = os.environ.pop("FERRY_WORKER_SOCKET", "")
        if not number.isdecimal():
            raise Error("this program is a function of a ferry node: name it in functions[].command, or run ferry dev")
        self._socket = socket.socket(fileno=int(number))
        self._socket.set_inheritable(False)
        self._stream = self._socket.makefile("rb", 256 << 10)
        self.longest = 64  # bytes of a frame
        self._out: list[bytes] = []
        self._size = 0

    def read(self) -> tuple[int, bytes] | None:
        prefix = self._stream.read(4)
        if len(prefix) < 4:
            return None
        length = int.from_bytes(prefix, "little")
        if not 0 < length <= self.longest:
            raise Error(f"the parent sent a frame of {length} bytes, at most {self.longest} are allowed")
        frame = self._stream.read(length)
        return (frame[0], frame[1:]) if len(frame) == length else None

    def write(self, kind: int, *parts: bytes) -> None:
        size = sum(map(len, parts))
        self._out += (struct.pack("<IB", 1 + size, kind), *parts)
        self._size += size
        if self._size >= _BATCH:
            self.flush()

    def flush(self) -> None:
        out, self._out, self._size = self._out, [], 0
        self._socket.sendall(b"".join(out))


def _parse(body: bytes) -> Message:
    if len(body) < _HEAD.size:
        raise Error("the parent sent a message that is too short")
    type_, source, to, time, size = _HEAD.unpack_from(body)
    if _HEAD.size + size > len(body):
        raise Error("the parent sent a tag that is longer than its message")
    tag = body[_HEAD.size : _HEAD.size + size]
    return Message(tag.decode(), type_, body[_HEAD.size + size :], source, time, to)


def _messages(result: Any) -> Iterable[Message]:
    """Returns what a handler has returned as messages: one, several or none."""
    if isinstance(result, Message):
        return (result,)
    return result or ()


def _send(parent: _Parent, m: Message) -> None:
    tag = m.tag.encode()
    parent.write(_MESSAGE, _HEAD.pack(m.type, 0, m.to, m.time, len(tag)), tag, m.payload)


class _Handling:
    """What the thread that reads tells the one that handles."""

    def __init__(self) -> None:
        self.requests: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()  # the parent sends at most 16 ahead
        self.unwanted = 0  # requests up to this number are cancelled
        self.number = 0  # the request that is being handled
        self.cancel: Callable[[], None] | None = None
        self._lock = threading.Lock()

    def begin(self, cancel: Callable[[], None]) -> None:
        """Has cancel called when the request is not wanted any more."""
        with self._lock:
            self.cancel = cancel
            if self.number <= self.unwanted:
                cancel()

    def end(self) -> None:
        with self._lock:
            self.cancel = None

    def on_cancel(self, number: int) -> None:
        with self._lock:
            self.unwanted = max(self.unwanted, number)
            if self.cancel is not None and self.number <= number:
                self.cancel()

    def read(self, parent: _Parent) -> None:
        """Reads until the parent is gone. A worker that does not read while it writes can deadlock with its parent."""
        try:
            while (frame := parent.read()) is not None:
                kind, body = frame
                if kind == _MESSAGE:
                    self.requests.put(body)
                elif kind == _CANCEL and len(body) == 8:
                    self.on_cancel(int.from_bytes(body, "little"))
                else:
                    raise Error(f"the parent sent a frame of kind {kind}")
        except (OSError, Error):
            traceback.print_exc()  # the parent logs what a worker prints
        self.requests.put(None)


def serve(handle: Callable[[Message], Any]) -> None:
    """Calls handle with each message, one at a time, and publishes the messages that it returns or yields.

    handle is a function, a generator, a coroutine function or an async generator. After an exception the message counts as failed;
    on a durable it comes again. Coroutines are cancelled when the node no longer wants the message; other handlers are killed with
    their process. serve returns when the node ends this process.
    """
    parent = _Parent()
    hello = parent.read()
    if hello is None or hello[0] != _HELLO or len(hello[1]) < 17 or hello[1][:12] != _MAGIC or hello[1][12] != _VERSION:
        raise Error(f"the parent does not speak version {_VERSION} of the worker protocol: update ferry or this file")
    parent.longest = _EXTRA + int.from_bytes(hello[1][13:17], "little")
    parent.write(_HELLO, hello[1][:17])  # the same magic, version and largest payload
    parent.flush()

    state = _Handling()
    threading.Thread(target=state.read, args=(parent,), daemon=True).start()
    loop: asyncio.AbstractEventLoop | None = None
    try:
        while (body := state.requests.get()) is not None:
            state.number += 1
            status, text = _DONE, b""
            try:
                if state.number <= state.unwanted:
                    raise asyncio.CancelledError
                result = handle(_parse(body))
                if inspect.isawaitable(result) or inspect.isasyncgen(result):
                    loop = loop or asyncio.new_event_loop()
                    loop.run_until_complete(_handle_async(parent, state, result))
                else:
                    for m in _messages(result):
                        _send(parent, m)
            except asyncio.CancelledError:
                status, text = _FAILED, b"cancelled"
            except Exception as error:
                traceback.print_exc()
                status, text = _FAILED, f"{type(error).__name__}: {error}".encode(errors="replace")[:8192]
            parent.write(_END, struct.pack("<QB", state.number, status), text)
            parent.flush()
    except BrokenPipeError:
        pass  # the parent is gone
    finally:
        if loop is not None:
            loop.close()


async def _handle_async(parent: _Parent, state: _Handling, result: Any) -> None:
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    assert task is not None

    def cancel() -> None:
        loop.call_soon_threadsafe(task.cancel)

    state.begin(cancel)
    try:
        if inspect.isasyncgen(result):
            messages: Any
            async with contextlib.aclosing(result) as messages:
                async for m in messages:
                    _send(parent, m)
            return
        for m in _messages(await result):
            _send(parent, m)
    finally:
        state.end()
