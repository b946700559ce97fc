"""Calls over a connection, both ways: those that this client makes, and those that it serves."""

from __future__ import annotations

import asyncio
import json
import logging
import struct
import zlib
from collections import deque
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import errors, wire
from .errors import CallCode, CallError
from .serving import Call, Handler, Service

if TYPE_CHECKING:
    from .connection import Connection

log = logging.getLogger("ferry_client")

JSON = "application/json"
METHOD_NUMBERS = 128  # with names of 510 bytes they make up the 64 KiB that the other end stores
MESSAGE_EXTRA = 64  # bytes that a message of a stream takes of the window on top of its length


class Limits:
    """What the other end may do to this client, and how long a message may be."""

    def __init__(self, calls: int, window: int, stream_window: int, max_message: int) -> None:
        self.calls = calls
        self.window = window
        self.stream_window = stream_window
        self.max_message = max_message


@dataclass(frozen=True)
class Response:
    """The response to a call, with its header and trailers."""

    message: Any
    header: dict[str, list[str]]
    trailers: dict[str, list[str]]


def encode(content_type: str, value: Any, raw: bool = False) -> bytes:
    """Returns the bytes of a message: JSON of any value, or, if raw or of another type, the bytes that value is."""
    if content_type == JSON and not raw:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise TypeError(f"ferry: a message of type {content_type} is bytes, not {type(value).__name__}: encode it first")
    return bytes(value)


def decode(content_type: str, data: bytes, raw: bool = False) -> Any:
    """Undoes encode."""
    return json.loads(data) if content_type == JSON and not raw else data


def metadata_extension(kind: int, metadata: Mapping[str, str | list[str]] | None) -> bytes:
    """Returns the entries of metadata, a header or a trailer. A name may have several values."""
    if not metadata:
        return b""
    out = []
    for name, values in metadata.items():
        for value in [values] if isinstance(values, str) else values:
            if kind == wire.EXT_METADATA and name == "tracestate":
                out.append(wire.entry(wire.EXT_TRACE_STATE, value.encode()))
            elif kind == wire.EXT_METADATA and name == "traceparent" and (context := _trace_context(value)) is not None:
                out.append(wire.entry(wire.EXT_TRACE_CONTEXT, context))
            else:
                out.append(wire.named_entry(kind, name, value.encode()))
    if len(out) > wire.MAX_METADATA:
        raise ValueError(f"ferry: {len(out)} entries of metadata, at most {wire.MAX_METADATA} are allowed")
    return b"".join(out)


def _trace_context(text: str) -> bytes | None:
    """Returns the 26 bytes of a traceparent, or None if it is malformed."""
    parts = text.split("-")
    if [len(p) for p in parts] != [2, 32, 16, 2]:
        return None
    try:
        return bytes.fromhex("".join(parts))
    except ValueError:
        return None


def _named(found: list[tuple[int, bytes]], kind: int) -> dict[str, list[str]]:
    out: dict[str, list[str]] = {}
    for of, value in found:
        if of == kind:
            name, text = wire.pair(value)
            out.setdefault(wire.utf8(name), []).append(text.decode(errors="replace"))
    return out


def received_metadata(found: list[tuple[int, bytes]]) -> dict[str, list[str]]:
    out = _named(found, wire.EXT_METADATA)
    for kind, value in found:
        if kind == wire.EXT_TRACE_CONTEXT and len(value) == 26:
            out["traceparent"] = ["-".join((value[:1].hex(), value[1:17].hex(), value[17:25].hex(), value[25:].hex()))]
        elif kind == wire.EXT_TRACE_STATE:
            out["tracestate"] = [value.decode(errors="replace")]
    return out


class _Message:
    """A message that arrives in pieces."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._pieces: list[bytes] = []
        self.size = 0
        self.within = False
        self.compressed = False

    def add(self, piece: bytes, more: bool) -> bytes | None:
        """Returns the message with its last piece. Raises CallError above the limit."""
        self._pieces.append(piece)
        self.size += len(piece)
        self.within = more
        if self.size > self._limit:
            self._pieces.clear()
            raise CallError(CallCode.RESOURCE_EXHAUSTED, f"a message is longer than {self._limit} bytes")
        if more:
            return None
        pieces, self._pieces = self._pieces, []
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def begin(self, compressed: bool) -> None:
        self.size = 0
        self.compressed = compressed


def _gunzip(data: bytes, limit: int) -> bytes:
    d = zlib.decompressobj(31)
    try:
        out = d.decompress(data, limit + 1)
    except zlib.error as e:
        raise CallError(CallCode.INVALID_ARGUMENT, f"the message is no gzip: {e}") from None
    if len(out) > limit:
        raise CallError(CallCode.RESOURCE_EXHAUSTED, f"a message is longer than {limit} bytes")
    if not d.eof or d.unused_data:
        raise CallError(CallCode.INVALID_ARGUMENT, "the message is not one whole gzip member")
    return out


class _Side:
    """One end's part in a call: messages in, messages out, and their credit."""

    def __init__(self, calls: Calls, number: int, send_credit: int) -> None:
        self.calls = calls
        self.number = number
        self.send_credit = send_credit
        self.received: deque[tuple[bytes, int]] = deque()  # messages with the bytes of window that they took
        self.owed = 0  # bytes that the messages took which were read, and that CALLCREDIT has not returned
        self.stream_credit = calls.limits.stream_window  # what the other end may send
        self.ended = False  # no message follows in received
        self.error: errors.FerryError | None = None
        self.message = _Message(calls.limits.max_message)
        self._waiter: asyncio.Future[None] | None = None
        self._senders: list[asyncio.Future[None]] = []

    def wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def wake_senders(self) -> None:
        senders, self._senders = self._senders, []
        for s in senders:
            if not s.done():
                s.set_result(None)

    def credit(self, size: int) -> None:
        self.send_credit += size
        if self.send_credit > 0:
            self.wake_senders()

    async def next(self) -> bytes | None:
        """Returns the next message, or None at the end."""
        while not self.received:
            if self.error is not None:
                raise self.error
            if self.ended:
                return None
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        data, taken = self.received.popleft()
        self.owed += taken
        if self.owed >= self.calls.limits.stream_window // 2 and not self.ended:
            self.calls.link.send(wire.call_credit(self.number, self.owed))
            self.stream_credit += self.owed
            self.owed = 0
        return data

    async def send(self, message: bytes, extension: bytes = b"", end: bool = False) -> None:
        """Sends a message in DATA, as credit and the socket allow."""
        link = self.calls.link
        while self.send_credit <= 0 or not link.writable:
            if self.error is not None:
                raise self.error
            if self.send_credit > 0:
                await link.wait_writable()
                continue
            waiter = asyncio.get_running_loop().create_future()
            self._senders.append(waiter)
            await waiter
        if self.error is not None:
            raise self.error
        self.send_credit -= len(message) + MESSAGE_EXTRA
        send_pieces(link, self.number, message, extension, end)


def send_pieces(link: Connection, number: int, message: bytes, extension: bytes, end: bool) -> None:
    """Sends a message in one DATA, or in several."""
    for at in range(0, max(len(message), 1), wire.MAX_PIECE):
        flags = wire.CALL_MORE if at + wire.MAX_PIECE < len(message) else 0
        if at == 0 and end:
            flags |= wire.CALL_END
        link.send(wire.data(number, extension if at == 0 else b"", message[at : at + wire.MAX_PIECE], flags))


class Outgoing(_Side):
    """A call that this client makes, from CALL to REPLY."""

    def __init__(self, calls: Calls, number: int, send_credit: int, taken: int) -> None:
        super().__init__(calls, number, send_credit)
        self.taken = taken  # bytes of the window of single requests; negative: the requests are a stream
        self.header: dict[str, list[str]] = {}
        self.trailers: dict[str, list[str]] = {}
        self.replied = False
        self.abandoned = False  # nothing takes the responses any more
        self._first = True

    def on_data(self, flags: int, extension: bytes, message: bytes) -> None:
        if self._first and extension:
            self.header = received_metadata(wire.entries(extension))
        self._first = False
        if flags & wire.CALL_NO_MESSAGE:
            if self.message.within:
                raise wire.Malformed("a DATA without a message within a message")
            return
        self._take(flags, message)

    def _take(self, flags: int, piece: bytes) -> None:
        if not self.message.within:
            self.message.begin(bool(flags & wire.CALL_COMPRESSED))
        if self.abandoned:
            return
        if self.message.compressed:
            self.abandon(CallError(CallCode.INTERNAL, "the response is compressed, and the request was not"))
            return
        try:
            whole = self.message.add(piece, bool(flags & wire.CALL_MORE))
        except CallError as e:
            self.abandon(e)
            return
        if whole is not None:
            self.received.append((whole, len(whole) + MESSAGE_EXTRA))
            self.wake()

    def abandon(self, error: errors.FerryError, code: int = CallCode.CANCELLED) -> None:
        """Ends the call from this side: CANCEL, and an error for those that wait. Its number is free after REPLY."""
        if not self.replied and not self.abandoned:
            self.abandoned = True
            self.calls.link.send(wire.cancel(self.number, CallCode.DEADLINE_EXCEEDED if code == CallCode.DEADLINE_EXCEEDED else CallCode.CANCELLED))
        self.received.clear()
        self._fail(error)

    def on_reply(self, flags: int, code: int, extension: bytes, message: bytes) -> None:
        self.replied = True
        found = wire.entries(extension)
        if self._first and extension:
            self.header = received_metadata(found)
        self.trailers = _named(found, wire.EXT_TRAILER)
        if not flags & wire.CALL_NO_MESSAGE:
            self._take(flags & ~wire.CALL_MORE, message)
        self.ended = True
        if code:
            text, details = "", []
            for kind, value in found:
                if kind == wire.EXT_STATUS_TEXT:
                    text = value.decode(errors="replace")
                elif kind == wire.EXT_DETAIL:
                    url, detail = wire.pair(value)
                    details.append(errors.Detail(wire.utf8(url), detail))
            self._fail(CallError(code, text, details=tuple(details), trailers=self.trailers, not_begun=bool(flags & wire.REPLY_NOT_BEGUN)))
        self.wake()
        self.wake_senders()

    def _fail(self, error: errors.FerryError) -> None:
        if self.error is None:
            self.error = error
        self.wake()
        self.wake_senders()


class Incoming(_Side):
    """A call that this client serves, from CALL to REPLY."""

    def __init__(self, calls: Calls, number: int, method: str, service: Service | None, compression: int, unary: bool) -> None:
        super().__init__(calls, number, calls.peer_stream_window)
        self.method = method
        self.service = service
        self.compression = compression
        self.unary = unary  # the only request is in CALL and the DATA that continue it
        self.window = 0  # bytes that the only request has taken of the shared window
        self.task: asyncio.Task[None] | None = None
        self.timer: asyncio.TimerHandle | None = None
        self.cancelled = 0  # the code, if the call was cancelled
        self.last = False  # no message begins any more

    def take(self, flags: int, piece: bytes) -> None:
        """Takes a piece of a request."""
        if not self.message.within:
            self.message.begin(bool(flags & wire.CALL_COMPRESSED))
            if not self.unary and self.stream_credit <= 0:
                raise wire.Malformed("a message of a stream without credit", wire.Code.NO_CREDIT)
            if flags & wire.CALL_END:
                self.last = True
        if self.error is not None:
            return
        try:
            whole = self.message.add(piece, bool(flags & wire.CALL_MORE))
            if whole is None:
                return
            taken = 0 if self.unary else len(whole) + MESSAGE_EXTRA
            self.stream_credit -= taken
            if self.message.compressed:
                if self.compression != 1:
                    raise CallError(CallCode.UNIMPLEMENTED, "this service reads requests that are compressed with gzip only")
                whole = _gunzip(whole, self.calls.limits.max_message)
        except CallError as e:
            self.stop(e)
            return
        self.received.append((whole, taken))
        if self.last:
            self.ended = True
        self.wake()

    def no_more(self) -> None:
        self.ended = True
        self.wake()

    def stop(self, error: errors.FerryError) -> None:
        """Ends the handler. REPLY follows when it has returned."""
        if self.error is None:
            self.error = error
        self.received.clear()
        self.wake()
        self.wake_senders()
        if self.task is not None:
            self.task.cancel()


class Calls:
    """The calls of one connection."""

    def __init__(self, link: Connection, limits: Limits, services: Mapping[str, Service]) -> None:
        welcome = link.welcome
        assert welcome is not None
        self.link = link
        self.limits = limits
        self._services = services
        self.max_calls = welcome.calls
        self.window = welcome.call_window  # what is left for single requests
        self.peer_stream_window = welcome.stream_window
        self.accepts = welcome.version >= 2 and welcome.calls > 0 and welcome.call_window > 0
        self._outgoing: dict[int, Outgoing] = {}
        self._incoming: dict[int, Incoming] = {}
        self._next = -1
        self._methods: dict[tuple[str, str], int] = {}
        self._method_slots: list[tuple[str, str]] = []
        self._slot = 0
        self._peer_methods: dict[int, tuple[str, str]] = {}
        self._peer_names = 0
        self._room: list[asyncio.Future[None]] = []
        self._idle: asyncio.Future[None] | None = None
        self.refusing = False  # calls that arrive get UNAVAILABLE
        self._own_window = limits.window
        self.error: errors.FerryError | None = None

    # Calls that this client makes.

    async def begin(
        self, method: str, content_type: str, request: bytes | None, metadata: Mapping[str, str | list[str]] | None, timeout: float | None
    ) -> Outgoing:
        """Sends CALL: with its only request, or without one if request is None."""
        extension = metadata_extension(wire.EXT_METADATA, metadata)
        while True:
            if self.error is not None:
                raise CallError(CallCode.UNAVAILABLE, f"the connection was lost: {self.error}", not_begun=True)
            if not self.accepts:
                raise CallError(CallCode.UNIMPLEMENTED, "the node accepts no calls", not_begun=True)
            if self.link.draining or self.link.closing:
                raise CallError(CallCode.UNAVAILABLE, "the node stops", not_begun=True)
            if len(self._outgoing) < self.max_calls and (request is None or self.window > 0):
                if self.link.writable:
                    break
                await self._writable()
                continue
            room = asyncio.get_running_loop().create_future()
            self._room.append(room)
            await room
        number = self._number()
        of = self._method_number(method, content_type)
        size = -1 if request is None else len(request) + len(wire.padded(extension))
        call = self._outgoing[number] = Outgoing(self, number, self.peer_stream_window, size)
        ms = 0 if timeout is None else max(1, min(round(timeout * 1000), 0xFFFFFFFF))
        if request is None:
            self.link.send(wire.call(number, of, ms, extension, b"", wire.CALL_NO_MESSAGE))
            return call
        self.window -= size
        first, more = request[: wire.MAX_PIECE], len(request) > wire.MAX_PIECE
        self.link.send(wire.call(number, of, ms, extension, first, wire.CALL_END | (wire.CALL_MORE if more else 0)))
        if more:
            send_pieces(self.link, number, request[wire.MAX_PIECE :], b"", False)
        return call

    async def _writable(self) -> None:
        try:
            await self.link.wait_writable()
        except errors.ConnectionLost:
            pass  # begin raises what that means

    def _number(self) -> int:
        while True:
            self._next = (self._next + 2) % (1 << 32)
            if self._next not in self._outgoing:
                return self._next

    def _method_number(self, method: str, content_type: str) -> int:
        key = (method, content_type)
        number = self._methods.get(key)
        if number is None:
            number = self._slot
            self._slot = (self._slot + 1) % METHOD_NUMBERS
            if number < len(self._method_slots):
                del self._methods[self._method_slots[number]]
                self._method_slots[number] = key
            else:
                self._method_slots.append(key)
            self._methods[key] = number
            self.link.send(wire.method(number, method, content_type))
        return number

    def _make_room(self) -> None:
        room, self._room = self._room, []
        for waiter in room:
            if not waiter.done():
                waiter.set_result(None)

    # Frames.

    def handle(self, kind: int, flags: int, third: int, words: int, body: bytes) -> None:
        f = wire.Fields(body)
        if kind == wire.METHOD:
            number = f.uint(2)
            f.skip(2)
            self._on_method(number, f.text(), f.text())
            return
        if kind == wire.OFFER:
            raise wire.Malformed("OFFER from a node")
        number = f.uint(4)
        if kind == wire.CALL:
            of = f.uint(2)
            f.skip(2)
            timeout = f.uint(4)
            self._on_call(number, of, timeout, flags, third, f.extension(words, True), f.rest())
        elif kind == wire.DATA:
            extension = f.extension(words, True)
            self._on_data(number, flags, extension, f.rest())
        elif kind == wire.REPLY:
            code = f.uint(4)
            extension = f.extension(words, True)
            call = self._outgoing.pop(number, None)
            if call is not None:
                if call.taken >= 0:
                    self.window += call.taken
                call.on_reply(flags, code, extension, f.rest())
                self._make_room()
                self._wake_idle()
        elif kind == wire.CANCEL:
            self._on_cancel(number, f.uint(4))
        elif kind == wire.CALLCREDIT:
            self._on_credit(number, f.uint(4))

    def _on_data(self, number: int, flags: int, extension: bytes, message: bytes) -> None:
        if len(message) > wire.MAX_PIECE:
            raise wire.Malformed(f"a DATA with {len(message)} bytes of a message")
        if number & 1:
            call = self._outgoing.get(number)
            if call is not None:
                call.on_data(flags, extension, message)
            return
        incoming = self._incoming.get(number)
        if incoming is None or incoming.last and not incoming.message.within:
            return
        if flags & wire.CALL_NO_MESSAGE:
            if incoming.message.within:
                raise wire.Malformed("a DATA without a message within a message")
            if flags & wire.CALL_END:
                incoming.last = True
                incoming.no_more()
            return
        if incoming.unary:
            self._take_window(incoming, len(message))
        incoming.take(flags, message)

    def _on_credit(self, number: int, size: int) -> None:
        if number & 1:
            call = self._outgoing.get(number)
            if call is None:
                return
            if call.taken < 0:
                call.credit(size)
            else:
                size = min(size, call.taken)
                call.taken -= size
                self.window += size
                self._make_room()
        elif (incoming := self._incoming.get(number)) is not None:
            incoming.credit(size)

    def connection_lost(self, error: errors.FerryError) -> None:
        self.error = error
        outgoing = list(self._outgoing.values())
        self._outgoing.clear()
        for call in outgoing:
            call.replied = True
            call._fail(CallError(CallCode.UNAVAILABLE, f"the connection was lost: {error}"))
        for incoming in list(self._incoming.values()):
            incoming.cancelled = CallCode.CANCELLED
            incoming.stop(CallError(CallCode.CANCELLED, "the connection was lost"))
        self._make_room()
        self._wake_idle()

    # Calls that this client serves.

    def _on_method(self, number: int, name: str, content_type: str) -> None:
        if number >= 1024:
            raise wire.Malformed(f"METHOD has number {number}")
        if max(len(name.encode()), len(content_type.encode())) > 255:
            raise wire.Malformed("METHOD has a name of more than 255 bytes")
        old = self._peer_methods.get(number, ("", ""))
        size = self._peer_names + len(name) + len(content_type) - len(old[0]) - len(old[1])
        service, _, _ = name.rpartition(".")
        if size > 64 << 10 and service not in self._services:
            name, content_type = "", ""  # calls get UNIMPLEMENTED
            size = self._peer_names - len(old[0]) - len(old[1])
        self._peer_names = size
        self._peer_methods[number] = (name, content_type)

    def _on_call(self, number: int, of: int, timeout: int, flags: int, compression: int, extension: bytes, message: bytes) -> None:
        if number & 1 or number in self._incoming:
            raise wire.Malformed(f"CALL has number {number}, which is in use or of the other end")
        if len(message) > wire.MAX_PIECE:
            raise wire.Malformed(f"a CALL with {len(message)} bytes of a message")
        found = self._peer_methods.get(of)
        if found is None:
            raise wire.Malformed(f"CALL has method number {of}, which no METHOD has named")
        if len(self._incoming) >= self.limits.calls:
            raise wire.Malformed(f"more than {self.limits.calls} calls", wire.Code.NO_CREDIT)
        method, content_type = found
        service_name, _, short = method.rpartition(".")
        service = self._services.get(service_name)
        handler = service.handlers.get(short) if service is not None else None
        call = Incoming(self, number, method, service, compression, bool(flags & wire.CALL_END))
        if call.unary:
            if self._own_window <= 0:
                raise wire.Malformed("a CALL without credit", wire.Code.NO_CREDIT)
            self._take_window(call, len(message) + len(extension))
        entries = wire.entries(extension)
        metadata = received_metadata(entries)
        self._incoming[number] = call
        refused: CallError | None = None
        if self.refusing:
            refused = CallError(CallCode.UNAVAILABLE, "the client stops", not_begun=True)
        elif handler is None or service is None:
            refused = CallError(CallCode.UNIMPLEMENTED, f"no method {method}", not_begun=True)
        elif content_type != service.content_type:
            refused = CallError(CallCode.UNIMPLEMENTED, f"{method} takes {service.content_type}, not {content_type}", not_begun=True)
        elif sum(1 for kind, _ in entries if kind == wire.EXT_METADATA) > wire.MAX_METADATA:
            refused = CallError(CallCode.INVALID_ARGUMENT, f"more than {wire.MAX_METADATA} entries of metadata", not_begun=True)
        if refused is not None or handler is None:
            self._reply(call, refused, b"", None)
            return
        if timeout:
            call.timer = asyncio.get_running_loop().call_later(timeout / 1000, self._on_cancel, number, int(CallCode.DEADLINE_EXCEEDED))
        call.task = asyncio.get_running_loop().create_task(self._serve(call, handler, Call(method, metadata, timeout / 1000 if timeout else None)))
        if not flags & wire.CALL_NO_MESSAGE:
            call.take(flags, message)
        elif flags & wire.CALL_END:
            call.last = True
            call.no_more()

    def _take_window(self, call: Incoming, size: int) -> None:
        call.window += size
        self._own_window -= size

    def _on_cancel(self, number: int, code: int) -> None:
        call = self._incoming.get(number)
        if call is not None and not call.cancelled:
            call.cancelled = CallCode.DEADLINE_EXCEEDED if code == CallCode.DEADLINE_EXCEEDED else CallCode.CANCELLED
            text = "the time of the call is over" if code == CallCode.DEADLINE_EXCEEDED else "the caller has cancelled"
            call.stop(CallError(call.cancelled, text))

    async def _serve(self, call: Incoming, handler: Handler, context: Call) -> None:
        failed: CallError | None = None
        last: bytes | None = None
        try:
            if handler.streams:
                await self._serve_stream(call, handler, context)
            else:
                last = await self._serve_one(call, handler, context)
        except asyncio.CancelledError:
            failed = call.error if isinstance(call.error, CallError) else CallError(CallCode.CANCELLED, "the service stops")
        except CallError as e:
            failed = e
        except Exception as e:
            log.exception("ferry: the handler of %s failed", call.method)
            failed = CallError(CallCode.UNKNOWN, f"{type(e).__name__}: {e}")
        if failed is None and isinstance(call.error, CallError):
            failed = call.error
        extension = b""
        try:
            extension = metadata_extension(wire.EXT_TRAILER, context.trailers)
        except (ValueError, struct.error) as e:
            failed = failed or CallError(CallCode.INTERNAL, str(e))
        self._reply(call, failed, extension, last)

    async def _serve_one(self, call: Incoming, handler: Handler, context: Call) -> bytes:
        request = await call.next()
        if request is None:
            raise CallError(CallCode.INVALID_ARGUMENT, f"{call.method} takes one request, and there is none")
        response = await handler.unary(_decoded(call, request), context)
        if not call.ended and await call.next() is not None:
            raise CallError(CallCode.INVALID_ARGUMENT, f"{call.method} takes one request, and there are more")
        data = _encoded(call, response)
        if len(data) > wire.MAX_PIECE:
            at = (len(data) - 1) // wire.MAX_PIECE * wire.MAX_PIECE
            await self._send_first_pieces(call, data, at)
            return data[at:]
        return data

    async def _send_first_pieces(self, call: Incoming, data: bytes, size: int) -> None:
        """Sends all pieces of the last response but the one that REPLY carries."""
        if call.send_credit <= 0:
            raise CallError(CallCode.RESOURCE_EXHAUSTED, "the caller gives no credit for a response of several pieces")
        for at in range(0, size, wire.MAX_PIECE):
            if not self.link.writable:
                await self.link.wait_writable()
            self.link.send(wire.data(call.number, b"", data[at : at + wire.MAX_PIECE], wire.CALL_MORE))

    async def _serve_stream(self, call: Incoming, handler: Handler, context: Call) -> None:
        async def requests() -> AsyncIterator[Any]:
            while (request := await call.next()) is not None:
                yield _decoded(call, request)

        async for response in handler.stream(requests(), context):
            await call.send(_encoded(call, response))

    def _reply(self, call: Incoming, failed: CallError | None, extension: bytes, message: bytes | None) -> None:
        self._incoming.pop(call.number, None)
        self._own_window += call.window
        if call.timer is not None:
            call.timer.cancel()
        code, flags = 0, 0
        if failed is not None:
            code, message = int(failed.status), None
            if failed.message:
                extension += wire.entry(wire.EXT_STATUS_TEXT, wire.cut(failed.message, 4096))
            for detail in failed.details:
                extension += wire.named_entry(wire.EXT_DETAIL, detail.type_url, detail.value)
            if failed.not_begun:
                flags |= wire.REPLY_NOT_BEGUN
        if message is None:
            flags |= wire.CALL_NO_MESSAGE
        self.link.send(wire.reply(call.number, code, extension, message or b"", flags))
        self._wake_idle()

    async def ended(self, outgoing: bool) -> None:
        """Waits until no call is being served, and with outgoing until those that this client has made have ended too."""
        while self._incoming or outgoing and self._outgoing:
            self._idle = asyncio.get_running_loop().create_future()
            await self._idle

    def _wake_idle(self) -> None:
        if self._idle is not None and not self._idle.done():
            self._idle.set_result(None)


def _encoded(call: Incoming, value: Any) -> bytes:
    assert call.service is not None
    return encode(call.service.content_type, value, call.service.raw)


def _decoded(call: Incoming, data: bytes) -> Any:
    assert call.service is not None
    try:
        return decode(call.service.content_type, data, call.service.raw)
    except ValueError as e:
        raise CallError(CallCode.INVALID_ARGUMENT, f"the request is no JSON: {e}") from None


class CallStream:
    """A call with a stream of requests and a stream of responses. Client.stream makes it.

        async with await client.stream("echo.Echo.Repeat") as call:
            await call.send("a")
            await call.end()
            async for response in call:
                print(response)

    Leaving the with statement cancels the call if it has not ended. The iteration raises CallError if the call fails.
    """

    def __init__(self, call: Outgoing, content_type: str, raw: bool, deadline: float | None) -> None:
        self._call = call
        self._content_type = content_type
        self._raw = raw
        self._timer: asyncio.TimerHandle | None = None
        if deadline is not None:
            self._timer = asyncio.get_running_loop().call_at(deadline, self._late)

    def _late(self) -> None:
        self._call.abandon(CallError(CallCode.DEADLINE_EXCEEDED, "the time of the call is over"), CallCode.DEADLINE_EXCEEDED)

    @property
    def header(self) -> dict[str, list[str]]:
        """The header of the responses, once one has arrived."""
        return self._call.header

    @property
    def trailers(self) -> dict[str, list[str]]:
        """The trailers, after the last response."""
        return self._call.trailers

    async def send(self, request: Any) -> None:
        """Sends a request, as the credit of the call allows. After the end of the call it raises CallError."""
        if self._call.replied:
            raise self._call.error or CallError(CallCode.CANCELLED, "the call has ended")
        await self._call.send(encode(self._content_type, request, self._raw))

    async def end(self) -> None:
        """Says that no request follows."""
        if not self._call.replied and not self._call.abandoned:
            self._call.calls.link.send(wire.data(self._call.number, b"", b"", wire.CALL_END | wire.CALL_NO_MESSAGE))

    def cancel(self) -> None:
        """Ends the call."""
        if self._timer is not None:
            self._timer.cancel()
        if not self._call.replied:
            self._call.abandon(CallError(CallCode.CANCELLED, "the call was cancelled"))

    async def __aenter__(self) -> CallStream:
        return self

    async def __aexit__(self, *exc: object) -> None:
        self.cancel()

    async def __aiter__(self) -> AsyncIterator[Any]:
        while (data := await self._call.next()) is not None:
            yield decode(self._content_type, data, self._raw)
        if self._timer is not None:
            self._timer.cancel()
