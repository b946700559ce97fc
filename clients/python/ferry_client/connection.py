"""One connection to a node: bytes of the socket to frames and back, the handshake, heartbeats, and the end."""

from __future__ import annotations

import asyncio
import logging
import struct
from typing import TYPE_CHECKING, Protocol, cast

from . import errors, wire
from .message import Message, published_fields, stored_fields

if TYPE_CHECKING:
    from .calls import Calls
    from .publisher import Publisher

log = logging.getLogger("ferry_client")

READ_BUFFER = 256 << 10  # bytes of a read
WRITE_BATCH = 64 << 10  # bytes that are gathered for one write
WRITE_HIGH = 512 << 10  # bytes that wait for the socket; above, publishers wait
HANDSHAKE_TIMEOUT = 10.0  # seconds to WELCOME, and within half a frame
CLOSE_TIMEOUT = 5.0  # seconds from GOAWAY to the end of the connection
MAX_FRAME = 64 << 20  # bytes of a frame that this client accepts, whatever WELCOME says
MAX_UNSENT = 128 << 20  # bytes for a node that does not read; more end the connection
MAX_TAGS = 1 << 20  # tags whose numbers a connection keeps

_new = tuple.__new__
_REPEATED: dict[int, struct.Struct] = {}  # by length of the payload: header, time and payload of a PUB


class Receiver(Protocol):
    """A subscription, as the connection sees it."""

    def receive(self, messages: list[Message], number: int, size: int) -> None:
        """Takes messages of one tag number, whose frames have size bytes."""


class Owner(Protocol):
    """The client, as the connection sees it. All methods are called by the event loop and do not wait."""

    def on_result(self, link: Connection, flags: int, kind: int, code: int, ref: int, value: int, reason: str, start: int) -> None: ...
    def on_credit(self, link: Connection, number: int, size: int) -> None: ...
    def on_notice(self, link: Connection, number: int, count: int, code: int, reason: str) -> None: ...
    def on_draining(self, link: Connection, reason: str) -> None: ...
    def on_closed(self, link: Connection, error: errors.FerryError) -> None: ...


class Connection(asyncio.BufferedProtocol):
    """A connection from HELLO to its end. It lives on one event loop."""

    def __init__(self, owner: Owner, hello: bytes, max_buffered: int) -> None:
        self._owner = owner
        self._hello = hello
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self.welcome: wire.Welcome | None = None
        self.max_frame = 0  # bytes that the node takes
        self.welcomed: asyncio.Future[None] = self._loop.create_future()
        self.ended: asyncio.Future[None] = self._loop.create_future()
        self.error: errors.FerryError | None = None
        self.draining = False
        self.closing = False  # GOAWAY was sent, or the connection has failed
        self._failed = False  # what still arrives is discarded
        self.calls: Calls | None = None

        self._buffer = bytearray(READ_BUFFER)
        self._view = memoryview(self._buffer)
        self._start = self._end = 0  # what is in the buffer and not parsed
        self._longest = wire.MAX_HANDSHAKE  # the longest frame, header included
        self._last_read = self._loop.time()
        self._timer: asyncio.TimerHandle | None = None

        self.receivers: dict[int, Receiver] = {}  # by the id of the subscription
        self._selected: Receiver | None = None
        self._selects = False
        self._tags: dict[int, str] = {}  # by number, as TAG of the node says
        self.publishers: dict[int, Publisher] = {}  # by number, as RESULT of the node says
        self.tag_requests: dict[int, Publisher] = {}  # by ref, until RESULT
        self._buffered = 0  # bytes of messages that subscriptions have not taken
        self._max_buffered = max_buffered
        self._reading = True

        self.out: list[bytes | bytearray | memoryview] = []
        self.out_size = 0
        self.scheduled = False
        self.writable = True
        self._writers: list[asyncio.Future[None]] = []
        self._pings: dict[int, asyncio.Future[None]] = {}
        self._last_ping = 0

    # The socket.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=WRITE_HIGH)
        self._transport.write(self._hello)
        self._timer = self._loop.call_later(HANDSHAKE_TIMEOUT, self._tick)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._view[self._end :]

    def buffer_updated(self, nbytes: int) -> None:
        self._end += nbytes
        self._last_read = self._loop.time()
        try:
            self._parse()
        except wire.Malformed as e:
            self._violation(e)
        except Exception as e:  # a bug of this package must not leave a connection that does nothing
            log.exception("ferry: handling a frame failed")
            self.fail(errors.FerryError(f"ferry: handling a frame failed: {e!r}; this is a bug of ferry_client"))

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        if self.error is None:
            if exc is not None:
                why = f"ferry: the connection was lost: {exc}"
            elif self._end > self._start:
                why = "ferry: the node closed the connection within a frame"
            else:
                why = "ferry: the node closed the connection"
            self.error = errors.ConnectionLost(why)
        self.closing = True
        if self._timer is not None:
            self._timer.cancel()
        self._transport = None
        self.out.clear()
        self.writable = True
        for waiter in (*self._writers, *self._pings.values()):
            if not waiter.done():
                waiter.set_exception(self.error)
                waiter.exception()  # the task that waits may have gone
        self._writers.clear()
        self._pings.clear()
        if not self.welcomed.done():
            self.welcomed.set_exception(self.error)
            self.welcomed.exception()
        if self.calls is not None:
            self.calls.connection_lost(self.error)
        if not self.ended.done():
            self.ended.set_result(None)
        self._owner.on_closed(self, self.error)

    def pause_writing(self) -> None:
        self.writable = False

    def resume_writing(self) -> None:
        self.writable = True
        for waiter in self._writers:
            if not waiter.done():
                waiter.set_result(None)
        self._writers.clear()

    # Writing.

    def send(self, frame: bytes) -> None:
        """Appends a frame to the next write."""
        if self.closing:
            return
        self.out.append(frame)
        self.out_size += len(frame)
        if not self.scheduled:
            self.schedule()

    def schedule(self) -> None:
        """Has what was appended written at the end of this turn of the event loop."""
        self.scheduled = True
        self._loop.call_soon(self.flush)

    def flush(self) -> None:
        """Writes what was appended."""
        self.scheduled = False
        out = self.out
        if not out:
            return
        self.out = []
        self.out_size = 0
        transport = self._transport
        if transport is None:
            return
        transport.write(out[0] if len(out) == 1 else b"".join(out))
        if not self.writable and transport.get_write_buffer_size() > MAX_UNSENT:
            self.fail(errors.ConnectionLost(f"ferry: the node does not read: {MAX_UNSENT} bytes wait"))
            transport.abort()

    async def wait_writable(self) -> None:
        """Waits until the socket has taken most of what was written."""
        while not self.writable:
            waiter = self._loop.create_future()
            self._writers.append(waiter)
            await waiter

    async def confirm(self) -> None:
        """Waits for the response to a PING: the node has routed, stored or dropped all messages before it."""
        if self.closing:
            raise self.error or errors.ConnectionLost("ferry: the connection is closed")
        self._last_ping += 1
        waiter = self._pings[self._last_ping] = self._loop.create_future()
        self.send(wire.ping(self._last_ping))
        await waiter

    # The end.

    def fail(self, error: errors.FerryError, code: int | None = None, reason: str = "") -> None:
        """Ends the connection at once. With a code, GOAWAY says why."""
        if self.error is None:
            self.error = error
        self._failed = True
        if self._transport is None:
            return
        if code is not None and not self.closing:
            self.flush()
            self._transport.write(wire.goaway(code, reason))
        self.closing = True
        self._transport.close()
        transport = self._transport
        self._loop.call_later(1.0, transport.abort)  # if the node does not read

    def _violation(self, e: wire.Malformed) -> None:
        self.fail(errors.ProtocolError(f"ferry: the node broke the protocol: {e}"), e.code, str(e))

    async def goodbye(self, timeout: float = CLOSE_TIMEOUT) -> None:
        """Sends GOAWAY, and reads until the node closes the connection, for timeout seconds at most."""
        if not self.closing:
            self.send(wire.goaway(wire.Code.OK))
            self.flush()
            self.closing = True
            if self.error is None:
                self.error = errors.ConnectionLost("ferry: the client has closed the connection")
        done, _ = await asyncio.wait([self.ended], timeout=timeout)
        if not done and self._transport is not None:
            self._transport.abort()
            await asyncio.wait([self.ended], timeout=CLOSE_TIMEOUT)

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    # Liveness.

    def _tick(self) -> None:
        now = self._loop.time()
        silent = now - self._last_read
        if self.welcome is None:
            self.fail(errors.ConnectionLost(f"ferry: no WELCOME within {HANDSHAKE_TIMEOUT:g} s: is the address that of a ferry node?"))
            return
        beat = self.welcome.heartbeat
        if self._reading and self._end > self._start and silent >= HANDSHAKE_TIMEOUT:
            self.fail(errors.ConnectionLost("ferry: the node sent half a frame and no more"), wire.Code.TIMEOUT, "half a frame")
            return
        if self._reading and silent >= 3 * beat:
            self.fail(errors.ConnectionLost(f"ferry: the node was silent for {silent:.1f} s"), wire.Code.TIMEOUT, "no heartbeat")
            return
        self.send(wire.ping(0))
        self._timer = self._loop.call_later(min(beat / 2, HANDSHAKE_TIMEOUT), self._tick)

    # Reading.

    def _parse(self) -> None:
        buffer = self._buffer
        while True:
            pos, end = self._start, self._end
            if end - pos < 8 or self._failed:
                break
            length, kind, flags, third, words = wire.HEAD.unpack_from(buffer, pos)
            if length < 4:
                raise wire.Malformed(f"a frame of length {length}")
            if length + 4 > self._longest:
                raise wire.Malformed(f"a frame of {length + 4} bytes is longer than {self._longest}", wire.Code.TOO_LARGE)
            stop = pos + 4 + length
            if stop > end:
                break
            if kind == wire.PUB:
                self._start = self._take_pubs(pos, end)
                continue
            self._start = stop
            self._control(kind, flags, third, words, bytes(self._view[pos + 8 : stop]))
        self._make_room()

    def _make_room(self) -> None:
        """Moves the beginning of a frame to the beginning of the buffer, and gives the buffer the size that the frame needs."""
        start, end = self._start, self._end
        left = end - start
        size = len(self._buffer)
        if left == 0:
            self._start = self._end = 0
            if size > READ_BUFFER:
                self._replace(READ_BUFFER, start, end)
        elif left >= size - 4096:  # a long frame: grow as its bytes arrive, not as its length claims
            self._replace(size * 2, start, end)
        elif start and (end > size // 2 or left < 4096):
            self._buffer[:left] = self._buffer[start:end]
            self._start, self._end = 0, left

    def _replace(self, size: int, start: int, end: int) -> None:
        buffer = bytearray(size)
        buffer[: end - start] = self._buffer[start:end]
        self._buffer, self._view = buffer, memoryview(buffer)
        self._start, self._end = 0, end - start

    def _take_pubs(self, pos: int, end: int) -> int:
        """Passes the PUBs from pos on to their subscription, up to the first frame that is something else or not whole."""
        receiver = self._selected
        if not self._selects:
            raise wire.Malformed("a PUB before the first SELECT")
        buffer, view = self._buffer, self._view
        unpack = wire.PUB_HEAD.unpack_from
        longest = self._longest
        messages: list[Message] = []
        append = messages.append
        current = -1  # the tag number of messages
        began = pos
        tag = ""
        while end - pos >= 24:
            length, kind, flags, type_, words, number, source, time = unpack(buffer, pos)
            if kind != wire.PUB:
                break
            stop: int = pos + 4 + length
            if stop > end:
                break
            if length < 20:
                raise wire.Malformed(f"a PUB of length {length}")
            if length + 4 > longest:
                raise wire.Malformed(f"a frame of {length + 4} bytes is longer than {longest}", wire.Code.TOO_LARGE)
            if number != current:
                if messages:
                    self._pass_on(receiver, messages, current, pos - began)
                    messages = []
                    append = messages.append
                    began = pos
                current = number
                if number != wire.BY_NAME:
                    found = self._tags.get(number)
                    if found is None:
                        raise wire.Malformed(f"a PUB with tag number {number}, which no TAG has named")
                    tag = found
            if words == 0 and number != wire.BY_NAME:
                size = length + 4
                if end - stop >= size and buffer[pos : pos + 16] == buffer[stop : stop + 16]:
                    # The next frame has the same header, so probably more have: read them all at once.
                    head = bytes(view[pos : pos + 16])
                    repeated = _REPEATED.get(length) or _repeated(length)
                    before = len(messages)
                    for h, time, payload in repeated.iter_unpack(view[pos : pos + (end - pos) // size * size]):
                        if h != head:
                            break
                        append(_new(Message, (tag, payload, type_, time, source, 0, 0, b"", b"", b"")))
                    pos += (len(messages) - before) * size
                    continue
                append(_new(Message, (tag, bytes(view[pos + 24 : stop]), type_, time, source, 0, 0, b"", b"", b"")))
            else:
                append(self._extended(bytes(view[pos + 24 : stop]), tag, type_, words, number, source, time))
            pos = stop
        if messages:
            self._pass_on(receiver, messages, current, pos - began)
        return pos

    def _extended(self, body: bytes, tag: str, type_: int, words: int, number: int, source: int, time: int) -> Message:
        """Returns the message of a PUB with an extension."""
        f = wire.Fields(body)
        extension = f.extension(words, number == wire.BY_NAME)
        if number == wire.BY_NAME:
            tag, sequence, deliveries, key, id_ = stored_fields(extension)
            return Message(tag, f.rest(), type_, time, source, sequence, deliveries, key, id_, extension)
        key, id_ = published_fields(extension)
        return Message(tag, f.rest(), type_, time, source, 0, 0, key, id_, extension)

    def _pass_on(self, receiver: Receiver | None, messages: list[Message], number: int, size: int) -> None:
        if receiver is not None:
            receiver.receive(messages, number, size)

    def hold(self, size: int) -> None:
        """Counts bytes of messages that wait for their subscription. Above the limit the connection reads no more."""
        self._buffered += size
        if self._reading and self._buffered > self._max_buffered and self._transport is not None:
            self._reading = False
            self._transport.pause_reading()

    def release(self, size: int) -> None:
        """Undoes hold."""
        self._buffered -= size
        if not self._reading and self._buffered <= self._max_buffered // 2:
            self._reading = True
            self._last_read = self._loop.time()
            if self._transport is not None and not self._transport.is_closing():
                self._transport.resume_reading()

    def deselect(self, receiver: Receiver) -> None:
        """Forgets a subscription: what still arrives for it is discarded."""
        if self._selected is receiver:
            self._selected = None

    def _control(self, kind: int, flags: int, third: int, words: int, body: bytes) -> None:
        if self.welcome is None and kind not in (wire.WELCOME, wire.GOAWAY):
            raise wire.Malformed(f"a frame of kind {kind} before WELCOME")
        if kind == wire.SELECT:
            self._selected = self.receivers.get(wire.Fields(body).uint(4))
            self._selects = True
        elif kind == wire.CREDIT:
            f = wire.Fields(body)
            f.skip(4)
            self._owner.on_credit(self, f.uint(4), f.uint(4))
        elif kind == wire.TAG:
            f = wire.Fields(body)
            number = f.uint(4)
            if len(self._tags) >= MAX_TAGS and number not in self._tags:
                raise wire.Malformed(f"more than {MAX_TAGS} tag numbers", wire.Code.LIMIT_REACHED)
            self._tags[number] = f.text()
        elif kind == wire.PING:
            value = wire.Fields(body).uint(8)
            if not flags & wire.PING_RESPONSE:
                self.send(wire.ping(value, response=True))
            elif (waiter := self._pings.pop(value, None)) is not None and not waiter.done():
                waiter.set_result(None)
        elif kind == wire.RESULT:
            f = wire.Fields(body)
            of = f.uint(1)
            f.skip(1)
            code, ref, value = f.uint(2), f.uint(4), f.uint(4)
            reason = f.text()
            self._owner.on_result(self, flags, of, code, ref, value, reason, f.uint(8) if flags & wire.RESULT_FROM else 0)
        elif kind == wire.NOTICE:
            f = wire.Fields(body)
            number, count, code = f.uint(4), f.uint(4), f.uint(2)
            self._owner.on_notice(self, number, count, code, f.text())
        elif kind == wire.GOAWAY:
            f = wire.Fields(body)
            self._goaway(f.uint(2), f.text())
        elif kind == wire.WELCOME:
            self._welcome(body)
        elif wire.CALL <= kind <= wire.CALLCREDIT and self.calls is not None:
            self.calls.handle(kind, flags, third, words, body)
        else:
            raise wire.Malformed(f"a frame of kind {kind}")

    def _welcome(self, body: bytes) -> None:
        if self.welcome is not None:
            raise wire.Malformed("a second WELCOME")
        welcome = wire.Welcome(body)
        if not wire.VERSION_LOW <= welcome.version <= wire.VERSION_HIGH:
            raise wire.Malformed(f"WELCOME has version {welcome.version}", wire.Code.VERSION_MISMATCH)
        if welcome.data_streams:
            raise wire.Malformed("WELCOME announces data streams, which this transport has not")
        if welcome.max_frame < wire.PUB_HEAD.size or not welcome.heartbeat:
            raise wire.Malformed(f"WELCOME with frames of {welcome.max_frame} bytes and a heartbeat of {welcome.heartbeat:g} s")
        self.welcome = welcome
        self.max_frame = welcome.max_frame
        self._longest = min(welcome.max_frame + wire.STORED_EXTRA, MAX_FRAME)
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(min(welcome.heartbeat / 2, HANDSHAKE_TIMEOUT), self._tick)
        if not self.welcomed.done():
            self.welcomed.set_result(None)

    def _goaway(self, code: int, reason: str) -> None:
        if code == wire.Code.DRAINING and self.welcome is not None:
            if not self.draining:
                self.draining = True
                self._owner.on_draining(self, reason)
            return
        if code == wire.Code.OK:
            self.fail(errors.ConnectionLost("ferry: the node has ended the connection"))
        else:
            self.fail(errors.node_error("ferry: the node ended the connection", code, reason))


def _repeated(length: int) -> struct.Struct:
    """Returns the layout of a PUB of this length: header with tag number and source id, time, payload."""
    if len(_REPEATED) >= 256:
        _REPEATED.clear()
    layout = _REPEATED[length] = struct.Struct(f">16sq{length - 20}s")
    return layout
