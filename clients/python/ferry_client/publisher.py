"""Publishing on a tag."""

from __future__ import annotations

import asyncio
import json
import logging
import time as clock
from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from . import errors, wire
from .connection import WRITE_BATCH, Connection
from .message import Type, functions

if TYPE_CHECKING:
    from .client import Client

log = logging.getLogger("ferry_client")

_pack = wire.PUB_HEAD.pack
_now = clock.time_ns
_HEAD = wire.PUB_HEAD.size


class _Copy:
    """A message of a stored tag, kept until the node has stored it."""

    __slots__ = ("extension", "flags", "payload", "size", "stored", "time", "to", "type")

    def __init__(self, payload: bytes, type: int, time: int, extension: bytes, to: int) -> None:
        self.payload = payload
        self.type = type
        self.time = time
        self.extension = extension
        self.flags = wire.PUB_ADDRESSED if to else 0
        self.to = to
        self.size = _HEAD + len(extension) + len(payload)
        self.stored: asyncio.Future[None] | None = None


class Publisher:
    """A grant to publish on one tag. Client.publisher makes it. Its methods are for the event loop of the client.

    send waits for credit: while the node or a slow subscriber does not take more, it does not return. A message that send has taken
    leaves with the next write. On a tag that the node stores, the publisher keeps it until the node has stored it, and sends it again
    on the next connection if this one is lost. On other tags, messages that were on their way are lost with the connection.
    """

    def __init__(self, client: Client, tag: str, type: int) -> None:
        self._client = client
        self._tag = tag
        self._type = int(type)
        self.users = 1
        self._link: Connection | None = None  # while messages can be sent
        self._number = 0
        self._source = 0
        self._credit = 0  # bytes; not positive: wait
        self._stored = False
        self._error: errors.FerryError | None = None
        self._waiters: list[asyncio.Future[None]] = []
        self._copies: deque[_Copy] = deque()  # sent and not stored, or to be sent again, oldest first
        self._unsent = 0  # how many of the last of them this connection has not got
        self._dropped_copies = 0  # how many of the first of them the node has dropped
        self._returned = 0  # bytes of CREDIT for a message whose other bytes have not come back
        self._dropped: errors.Dropped | None = None

    @property
    def tag(self) -> str:
        return self._tag

    @property
    def stored(self) -> bool:
        """Whether the node stores the messages of the tag at least once."""
        return self._stored

    @property
    def waiting(self) -> int:
        """How many messages the node has not stored yet."""
        return len(self._copies)

    async def send(
        self,
        payload: bytes | bytearray | memoryview,
        *,
        type: int | None = None,
        time: int = 0,
        key: str | bytes = b"",
        id: str | bytes = b"",
        to: int = 0,
    ) -> None:
        """Publishes a message. It returns when the message is accepted for the next write.

        type is that of the payload, see Type; the default is the publisher's. time is in Unix nanoseconds, 0 means now. Messages with
        one key (at most 255 bytes) keep their order on stored tags. Of its messages with one id (at most 128 bytes) a stored tag keeps one.
        to sends to the client with this source number only.
        Raises TooLarge if the node does not take a message of this size, and ConnectionLost or ClosedError if the client has ended.
        """
        link = self._link
        if link is None or self._credit <= 0 or not link.writable:
            link = await self._ready()
        if payload.__class__ is not bytes:
            payload = _as_bytes(payload)
        if self._stored or key or id or to or functions.get() is not None:
            self._append(link, self._copy(link, payload, type, time, key, id, to))
            return
        size = _HEAD + len(payload)
        if size > link.max_frame:
            raise self._too_large(size, link)
        self._credit -= size
        out = link.out
        out.append(_pack(size - 4, wire.PUB, 0, self._type if type is None else type, 0, self._number, self._source, time or _now()))
        out.append(payload)
        link.out_size += size
        if link.out_size >= WRITE_BATCH:
            link.flush()
        elif not link.scheduled:
            link.schedule()

    async def send_json(self, value: Any, **options: Any) -> None:
        """Publishes value as JSON. options are those of send."""
        await self.send(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode(), type=Type.JSON, **options)

    async def send_many(self, payloads: Iterable[bytes], *, type: int | None = None) -> None:
        """Publishes messages one after the other. It is send in a loop, and faster. Messages that are sent together have one time."""
        number_type = self._type if type is None else type
        heads: dict[int, bytes] = {}
        link: Connection | None = None
        for payload in payloads:
            if link is None or self._credit <= 0 or self._link is not link or link.out_size >= WRITE_BATCH:
                if link is not None and link.out_size >= WRITE_BATCH:
                    link.flush()
                link = self._link
                if link is None or self._credit <= 0 or not link.writable:
                    link = await self._ready()
                heads.clear()
                time = _now()
                if not link.scheduled:
                    link.schedule()
            if payload.__class__ is not bytes:
                payload = _as_bytes(payload)
            if self._stored or functions.get() is not None:
                self._append(link, self._copy(link, payload, type, time, b"", b"", 0))
                continue
            size = len(payload) + _HEAD
            head = heads.get(size)
            if head is None:
                if size > link.max_frame:
                    raise self._too_large(size, link)
                head = heads[size] = _pack(size - 4, wire.PUB, 0, number_type, 0, self._number, self._source, time)
            self._credit -= size
            link.out.append(head)
            link.out.append(payload)
            link.out_size += size

    async def send_stored(self, payload: bytes | bytearray | memoryview, **options: Any) -> None:
        """Publishes a message and waits until the node has stored it, over new connections too. options are those of send.

        Raises Dropped if the node refuses the message, and FerryError if no stream of the node stores the tag.
        """
        link = await self._ready()
        if not self._stored:
            raise errors.FerryError(f"ferry: no stream of the node stores {self._tag!r}: configure one, or use send and flush")
        copy = self._copy(link, _as_bytes(payload), *_options(**options))
        copy.stored = asyncio.get_running_loop().create_future()
        self._append(link, copy)
        await copy.stored

    async def flush(self) -> None:
        """Waits until the node has routed all messages, or stored them if it stores the tag.

        Raises Dropped if the node has dropped messages since the last flush, and ConnectionLost if messages may be lost.
        """
        await self._client._confirm()
        if self._dropped is not None:
            dropped, self._dropped = self._dropped, None
            raise dropped

    async def close(self) -> None:
        """Gives the grant back. Messages that the node has not stored yet are waited for."""
        if self.users > 1:
            self.users -= 1
            return
        self.users = 0
        await self._client._close_publisher(self)

    # What the client and the connection call.

    def _request(self, link: Connection, ref: int) -> None:
        link.tag_requests[ref] = self
        link.send(wire.tag(ref, self._tag))

    def _granted(self, link: Connection, number: int, stored: bool) -> None:
        welcome = link.welcome
        assert welcome is not None
        link.publishers[number] = self
        self._link, self._number, self._source, self._stored = link, number, welcome.source, stored
        self._credit = welcome.window
        self._returned = 0
        if not stored and self._copies:
            log.warning("ferry: the node no longer stores %r: %d messages may be lost", self._tag, len(self._copies))
        self._unsent = len(self._copies)
        self._pump()

    def _detached(self) -> None:
        """The connection takes no more messages. What it has got may still be confirmed."""
        self._link = None

    def _lost(self) -> None:
        self._link = None
        self._drop_first(self._dropped_copies)
        self._dropped_copies = 0
        self._unsent = len(self._copies)

    def _failed(self, error: errors.FerryError) -> None:
        self._error = error
        self._link = None
        for copy in self._copies:
            if copy.stored is not None and not copy.stored.done():
                copy.stored.set_exception(error)
        self._wake()

    def _on_credit(self, size: int) -> None:
        self._credit += size
        if self._copies:
            self._returned += size
            copies = self._copies
            while len(copies) > self._unsent and self._returned >= copies[0].size:
                self._returned -= copies[0].size
                if self._dropped_copies:
                    self._dropped_copies -= 1
                self._drop_first(1)
        self._pump()

    def _on_notice(self, count: int, code: int, reason: str) -> None:
        if count == 0:
            log.warning("ferry: the node does not store %r for now: %s", self._tag, reason)
            return
        error = errors.Dropped(self._tag, count + (self._dropped.count if self._dropped else 0), code, reason)
        self._dropped = error
        log.warning("ferry: %s", error)
        for i in range(self._dropped_copies, min(self._dropped_copies + count, len(self._copies) - self._unsent)):
            stored = self._copies[i].stored
            if stored is not None and not stored.done():
                stored.set_exception(error)
            self._dropped_copies += 1

    # The rest.

    def _copy(self, link: Connection, payload: bytes, type: int | None, time: int, key: str | bytes, id: str | bytes, to: int) -> _Copy:
        copy = _Copy(payload, self._type if type is None else type, time or _now(), _extension(key, id), to)
        if copy.size > link.max_frame:
            raise self._too_large(copy.size, link)
        return copy

    def _append(self, link: Connection, copy: _Copy) -> None:
        if self._stored:
            self._copies.append(copy)
        self._write(link, copy)

    def _write(self, link: Connection, copy: _Copy) -> None:
        words = len(copy.extension) // 4
        self._credit -= copy.size
        head = _pack(copy.size - 4, wire.PUB, copy.flags, copy.type, words, self._number, copy.to or self._source, copy.time)
        link.out.append(head + copy.extension if words else head)
        link.out.append(copy.payload)
        link.out_size += copy.size
        if link.out_size >= WRITE_BATCH:
            link.flush()
        elif not link.scheduled:
            link.schedule()

    def _pump(self) -> None:
        """Sends again what an earlier connection had got, as credit allows, and then lets senders go on."""
        link = self._link
        if link is None:
            return
        while self._unsent and self._credit > 0:
            copy = self._copies[len(self._copies) - self._unsent]
            if copy.size > link.max_frame:  # the next node takes less than the last one
                self._refuse_unsent(copy, link)
                continue
            self._write(link, copy)
            self._unsent -= 1
        if self._credit > 0:
            self._wake()

    def _refuse_unsent(self, copy: _Copy, link: Connection) -> None:
        error = self._too_large(copy.size, link)
        log.error("ferry: a message of %r is lost: %s", self._tag, error)
        if copy.stored is not None and not copy.stored.done():
            copy.stored.set_exception(error)
        self._copies.remove(copy)
        self._unsent -= 1

    def _drop_first(self, count: int) -> None:
        for _ in range(count):
            stored = self._copies.popleft().stored
            if stored is not None and not stored.done():
                stored.set_result(None)
        if count and not self._copies:
            self._wake()

    def _wake(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def _wait(self) -> None:
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        await waiter

    async def _ready(self) -> Connection:
        """Waits until a message can be sent."""
        while True:
            if self._error is not None:
                raise self._error
            link = self._link
            if link is None or self._credit <= 0 or self._unsent:
                await self._wait()
            elif not link.writable:
                try:
                    await link.wait_writable()
                except errors.ConnectionLost:
                    continue
            else:
                return link

    async def _all_stored(self) -> None:
        while self._copies:
            if self._error is not None:
                raise self._error
            await self._wait()

    def _too_large(self, size: int, link: Connection) -> errors.NodeError:
        reason = f"its frame has {size} bytes, and the node takes {link.max_frame}"
        return errors.node_error(f"ferry: a message on {self._tag!r}", wire.Code.TOO_LARGE, reason)


def _options(
    type: int | None = None, time: int = 0, key: str | bytes = b"", id: str | bytes = b"", to: int = 0
) -> tuple[int | None, int, str | bytes, str | bytes, int]:
    return type, time, key, id, to


def _as_bytes(payload: bytes | bytearray | memoryview) -> bytes:
    if isinstance(payload, str):
        raise TypeError("ferry: a payload is bytes: encode the text, or use send_json")
    return bytes(payload)


def _extension(key: str | bytes, id: str | bytes) -> bytes:
    out = b""
    through = functions.get()
    if through is not None:
        out += wire.entry(wire.EXT_FUNCTIONS, bytes((through,)))
    if key:
        data = key.encode() if isinstance(key, str) else key
        if len(data) > 255:
            raise ValueError(f"ferry: a key has {len(data)} bytes, at most 255 are allowed")
        out += wire.entry(wire.EXT_KEY, data)
    if id:
        data = id.encode() if isinstance(id, str) else id
        if len(data) > 128:
            raise ValueError(f"ferry: an id has {len(data)} bytes, at most 128 are allowed")
        out += wire.entry(wire.EXT_ID, data)
    return wire.padded(out)
