"""The client of a node: its connections, one after the other, and what lives longer than they do."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import signal
import ssl
import urllib.parse
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from . import errors, wire
from .calls import JSON, Calls, CallStream, Limits, Outgoing, Response, decode, encode
from .connection import CLOSE_TIMEOUT, HANDSHAKE_TIMEOUT, Connection
from .errors import CallCode, CallError
from .message import Type
from .publisher import Publisher
from .serving import Service
from .subscription import WINDOW, Durable, Policy, Spec, Start, Subscription, start_fields

log = logging.getLogger("ferry_client")

_S = TypeVar("_S", bound=Subscription)

DEFAULT_PORT = 4190
PUBLISHED_TAGS = 256  # tags of publish whose grants are kept
_SIGNALS = (signal.SIGINT, signal.SIGTERM)  # that end serve
FIRST_DELAY, LONGEST_DELAY = 0.05, 5.0  # seconds between attempts to connect
DRAIN_TIMEOUT = 5.0  # seconds for what is being handled when a node or this client stops


async def connect(
    address: str = f"tcp://127.0.0.1:{DEFAULT_PORT}",
    *,
    token: str | bytes = b"",
    token_file: str | Path | None = None,
    name: str = "",
    ca_file: str | Path | None = None,
    cert_file: str | Path | None = None,
    key_file: str | Path | None = None,
    tls: ssl.SSLContext | None = None,
    reconnect: bool = True,
    timeout: float = HANDSHAKE_TIMEOUT,
    max_buffered: int = 256 << 20,
    max_calls: int = 1000,
    max_message: int = 4 << 20,
    call_window: int = 4 << 20,
    stream_window: int = 256 << 10,
) -> Client:
    """Connects to a node and returns the client when the node has accepted it.

    address is tcp://HOST:PORT, tls://HOST:PORT or unix:///PATH. The identity is that of token, or of the certificate in cert_file and
    key_file. ca_file verifies the node; without it the system's CAs do. tls replaces the three files. A token over tcp is safe within
    one machine only.

    With reconnect the client connects again when a connection is lost, until close: publishers, subscriptions and services go on.
    timeout, in seconds, is for each attempt to connect. max_buffered bounds the bytes of messages that have arrived and wait for
    their loops; above, the client stops reading. max_calls, call_window and stream_window bound the calls that others make to this
    client; max_message bounds a request or response, in bytes.

    Raises Unauthenticated if the node knows no such identity, and ConnectionLost if there is no node.
    """
    if token_file is not None:
        token = Path(token_file).read_text().strip()
    client = Client(
        _Address(address, _tls(address, ca_file, cert_file, key_file, tls)),
        token=token.encode() if isinstance(token, str) else token,
        name=name,
        reconnect=reconnect,
        timeout=timeout,
        max_buffered=max_buffered,
        limits=Limits(max_calls, call_window, stream_window, max_message),
    )
    await client._start()
    return client


def serve(*services: Service, address: str = f"tcp://127.0.0.1:{DEFAULT_PORT}", **arguments: Any) -> None:
    """Connects to a node, and offers services until the process gets SIGINT or SIGTERM. Then the calls that are being served end, and serve returns.

    It is for programs that do nothing else: it runs the event loop of the main thread. A second signal ends the process at once. The other arguments are
    those of connect. Raises what connect and Client.serve_forever raise.
    """
    asyncio.run(_serve(services, address, arguments))


async def _serve(services: tuple[Service, ...], address: str, arguments: dict[str, Any]) -> None:
    async def serving() -> None:
        async with await connect(address, **arguments) as client:
            await client.serve_forever(*services)

    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(serving())
    stopped = False

    def stop() -> None:
        nonlocal stopped
        stopped = True
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
        task.cancel()

    with contextlib.suppress(NotImplementedError):  # on Windows, Ctrl-C cancels the task of asyncio.run
        for number in _SIGNALS:
            loop.add_signal_handler(number, stop)
    try:
        await task
    except asyncio.CancelledError:
        if not stopped:
            raise


def _tls(
    address: str,
    ca_file: str | Path | None,
    cert_file: str | Path | None,
    key_file: str | Path | None,
    tls: ssl.SSLContext | None,
) -> ssl.SSLContext | None:
    if not address.startswith("tls://"):
        if ca_file or cert_file or tls:
            raise ValueError(f"ferry: certificates are for tls://, and the address is {address}")
        return None
    if tls is not None:
        return tls
    context = ssl.create_default_context(cafile=None if ca_file is None else str(ca_file))
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if cert_file is not None:
        context.load_cert_chain(str(cert_file), None if key_file is None else str(key_file))
    return context


class _Address:
    """Where a node is, and how to connect to it."""

    def __init__(self, address: str, tls: ssl.SSLContext | None) -> None:
        self.text = address
        self.tls = tls
        parts = urllib.parse.urlsplit(address)
        self.path = parts.path
        self.host = parts.hostname or ""
        self.port = parts.port or DEFAULT_PORT
        if parts.scheme not in ("tcp", "tls", "unix"):
            raise ValueError(f"ferry: address {address!r}: want tcp://HOST:PORT, tls://HOST:PORT or unix:///PATH")
        if parts.scheme == "unix" and not self.path or parts.scheme != "unix" and not self.host:
            raise ValueError(f"ferry: address {address!r} names no host or path")

    async def open(self, link: Connection) -> None:
        loop = asyncio.get_running_loop()
        if self.host:
            await loop.create_connection(lambda: link, self.host, self.port, ssl=self.tls)
        else:
            await loop.create_unix_connection(lambda: link, self.path)


class Client:
    """A client of a node. connect makes it. It lives on one event loop, and its methods are for that loop.

        async with await connect("tcp://127.0.0.1:4190", token_file="ferry-data/token") as client:
            await client.publish("factory/press", b"97")
    """

    def __init__(
        self, address: _Address, *, token: bytes, name: str, reconnect: bool, timeout: float, max_buffered: int, limits: Limits
    ) -> None:
        self._address = address
        self._hello = wire.hello(token, name, limits.calls, limits.window, limits.stream_window)
        if len(self._hello) > wire.MAX_HANDSHAKE:
            raise ValueError(f"ferry: token and name have {len(self._hello)} bytes, which is more than {wire.MAX_HANDSHAKE}")
        self._reconnect = reconnect
        self._timeout = timeout
        self._max_buffered = max_buffered
        self._limits = limits
        self._link: Connection | None = None
        self._connected = asyncio.Event()
        self._closing = False
        self._error: errors.FerryError | None = None
        self._runner: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._publishers: dict[str, Publisher] = {}
        self._grants: dict[Publisher, asyncio.Future[None]] = {}
        self._published: OrderedDict[str, Publisher] = OrderedDict()
        self._subscriptions: dict[int, Subscription] = {}
        self._services: dict[str, Service] = {}
        self._offers: dict[int, str] = {}  # services by id
        self._results: dict[tuple[int, int], asyncio.Future[None]] = {}  # by kind and ref
        self._ref = 0
        self._dropped: errors.Dropped | None = None  # on tags that the node has not named
        self.connects = 0  # how often the client has connected

    # Connecting.

    @property
    def source(self) -> int:
        """The number that the node has given to this client, for messages that are addressed to it. It changes with each connection."""
        return 0 if self._link is None or self._link.welcome is None else self._link.welcome.source

    @property
    def node(self) -> str:
        """The id of the node, if it says so."""
        return "" if self._link is None or self._link.welcome is None else self._link.welcome.node

    @property
    def connected(self) -> bool:
        return self._connected.is_set()

    @property
    def error(self) -> errors.FerryError | None:
        """Why the client has ended, if it has by itself."""
        return self._error

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def _start(self) -> None:
        link = await self._dial()
        self._attach(link)
        self._runner = asyncio.create_task(self._run(link))

    async def _dial(self) -> Connection:
        link = Connection(self, self._hello, self._max_buffered)
        try:
            await asyncio.wait_for(self._open(link), self._timeout)
        except asyncio.TimeoutError:
            link.abort()
            raise errors.ConnectionLost(f"ferry: {self._address.text} did not respond within {self._timeout:g} s") from None
        except ssl.SSLError as e:
            raise errors.ConnectionLost(f"ferry: TLS with {self._address.text} failed: {e}; ca_file names the CA of the node") from None
        except OSError as e:
            raise errors.ConnectionLost(f"ferry: cannot connect to {self._address.text}: {e}; is the node running?") from None
        except asyncio.CancelledError:
            link.abort()
            raise
        self.connects += 1
        return link

    async def _open(self, link: Connection) -> None:
        await self._address.open(link)
        await link.welcomed

    def _attach(self, link: Connection) -> None:
        """Has publishers, subscriptions and services go on with a new connection."""
        link.calls = Calls(link, self._limits, self._services)
        self._link = link
        self._connected.set()
        for publisher in self._publishers.values():
            publisher._request(link, self._next_ref())
        for subscription in self._subscriptions.values():
            subscription._request(link)
        for ref, service in self._offers.items():
            link.send(wire.offer(ref, service))

    async def _run(self, link: Connection) -> None:
        """Connects again, until the client is closed."""
        loop = asyncio.get_running_loop()
        delay = FIRST_DELAY
        while True:
            began = loop.time()
            await link.ended
            if self._closing:
                return
            error: errors.FerryError = link.error or errors.ConnectionLost("ferry: the connection was lost")
            if loop.time() - began > LONGEST_DELAY:
                delay = FIRST_DELAY
            while self._reconnect and not isinstance(error, errors.Unauthenticated):
                await asyncio.sleep(delay * random.uniform(0.5, 1))
                delay = min(delay * 2, LONGEST_DELAY)
                try:
                    link = await self._dial()
                    break
                except errors.FerryError as e:
                    log.info("ferry: connecting again failed: %s", e)
                    error = e
            else:
                self._fail(error)
                return
            log.info("ferry: connected again to %s", self._address.text)
            self._attach(link)

    def _fail(self, error: errors.FerryError) -> None:
        """Ends the client by itself: everything that waits gets the error."""
        self._error = error
        self._connected.set()  # those that wait look again
        for publisher in self._publishers.values():
            publisher._failed(error)
        for subscription in list(self._subscriptions.values()):
            subscription._finish(error)
        self._subscriptions.clear()
        for future in (*self._results.values(), *self._grants.values()):
            _set(future, error)

    async def _linked(self) -> Connection:
        """Returns the connection, once there is one."""
        while True:
            if self._error is not None:
                raise self._error
            if self._closing:
                raise errors.ClosedError("ferry: the client is closed")
            link = self._link
            if link is not None and not link.closing and not link.draining:
                return link
            self._connected.clear()
            await self._connected.wait()

    def _next_ref(self) -> int:
        self._ref = self._ref % 0x7FFFFFFF + 1
        return self._ref

    # Publishing.

    async def publisher(self, tag: str, *, type: int = Type.RAW) -> Publisher:
        """Returns a publisher for a tag. type is the default for its messages.

        While a subscription with policy block is full, it waits for room. A second publisher of a tag is the first one again.
        Raises Forbidden if the identity may not publish on the tag, and BadRequest if it is no tag.
        """
        while True:
            found = self._publishers.get(tag)
            if found is not None:
                if (pending := self._grants.get(found)) is not None:
                    await asyncio.wait([pending])
                    continue
                found.users += 1
                return found
            link = await self._linked()
            if tag in self._publishers:
                continue
            made = Publisher(self, tag, type)
            made.users = 1
            granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._publishers[tag] = made
            self._grants[made] = granted
            made._request(link, self._next_ref())
            try:
                await granted
            except BaseException:
                if granted.cancelled():
                    self._grants.pop(made, None)
                    self._forget(made)
                raise
            return made

    async def publish(self, tag: str, payload: bytes, *, type: int = Type.RAW, **options: Any) -> None:
        """Publishes a message: publisher(tag) and send. The grants of the last 256 tags are kept. options are those of send."""
        found = self._published.get(tag)
        if found is None:
            found = self._published[tag] = await self.publisher(tag)
            if len(self._published) > PUBLISHED_TAGS:
                _, oldest = self._published.popitem(last=False)
                await oldest.close()
        else:
            self._published.move_to_end(tag)
        await found.send(payload, type=type, **options)

    async def flush(self) -> None:
        """Waits until the node has routed all messages of this client, or stored those on stored tags.

        Raises Dropped if the node has dropped messages since the last flush, and ConnectionLost if messages may be lost.
        """
        await self._confirm()
        dropped, self._dropped = self._dropped, None
        for publisher in self._publishers.values():
            mine, publisher._dropped = publisher._dropped, None
            dropped = dropped or mine
        if dropped is not None:
            raise dropped

    async def _confirm(self) -> None:
        while True:
            lossy = any(not p.stored and p._link is not None and p._credit < _window(p._link) for p in self._publishers.values())
            try:
                link = await self._linked()
                for publisher in list(self._publishers.values()):
                    if publisher._unsent:
                        await publisher._ready()  # what an earlier connection had got is sent again first
                await link.confirm()
            except errors.ConnectionLost:
                if lossy or self._error is not None:
                    raise
                continue
            return

    def _forget(self, publisher: Publisher) -> None:
        if self._publishers.get(publisher.tag) is publisher:
            del self._publishers[publisher.tag]
        self._published.pop(publisher.tag, None)

    async def _close_publisher(self, publisher: Publisher) -> None:
        await publisher._all_stored()
        if publisher.users:
            return  # it was taken again meanwhile
        self._forget(publisher)
        link = publisher._link
        publisher._failed(errors.ClosedError(f"ferry: the publisher of {publisher.tag!r} is closed"))
        if link is not None and link.welcome is not None and link.welcome.version >= 3:
            link.publishers.pop(publisher._number, None)
            link.send(wire.untag(publisher._number))

    # Subscribing.

    async def subscribe(
        self,
        filter: str,
        *,
        where: str = "",
        group: str = "",
        policy: Policy = Policy.BLOCK,
        window: int = WINDOW,
        queue: int = 0,
        addressed: bool = False,
    ) -> Subscription:
        """Subscribes to the tags that a filter matches, and returns when the node delivers them.

        where is a predicate on the payload, such as 'readings.0.value > 30', which the node evaluates. Members of a group share the
        messages. window is how many bytes of each tag the node sends ahead, queue how many it keeps behind that (0: its own bound);
        policy decides about further ones. With addressed, it delivers only messages that are sent to this client: see source.
        """
        return await self._subscribe(Subscription, Spec(filter, where, group, policy, window, queue, addressed))

    async def replay(self, filter: str, *, start: Start = "first", where: str = "", window: int = WINDOW) -> Subscription:
        """Reads a stored stream from a place in it, and then what comes. All tags of the filter belong to one stream.

        start is "first", "new", a sequence number or a datetime. After a lost connection it goes on where it was.
        """
        number, value = start_fields(start)
        return await self._subscribe(Subscription, Spec(filter, where, window=window, start=number, value=value))

    async def durable(
        self, filter: str, name: str, *, start: Start | None = None, where: str = "", window: int = WINDOW, concurrency: int = 0
    ) -> Durable:
        """Becomes a member of the durable of this name, whose position the node keeps. start is for its first member ("new").

        All members have the same filter and predicate. They share the messages, and each message is delivered until it is acked.
        concurrency is how many messages you handle at a time. When this process is lost, those that it has had longest count as
        delivered, and the others do not. 0 means any number: all count.
        """
        if not name:
            raise ValueError("ferry: a durable needs a name")
        if not 0 <= concurrency <= 0xFFFF:
            raise ValueError(f"ferry: a concurrency of {concurrency}: want 0 to 65535")
        number, value = (0, 0) if start is None else start_fields(start)
        return await self._subscribe(Durable, Spec(filter, where, window=window, start=number, value=value, durable=name, concurrency=concurrency))

    async def _subscribe(self, make: type[_S], spec: Spec) -> _S:
        link = await self._linked()
        if spec.stored and link.welcome is not None and link.welcome.version < 2:
            raise errors.FerryError("ferry: stored streams need version 2 of the wire, and the node speaks version 1: update it")
        ref = self._next_ref()
        subscription = make(self, ref, spec)
        self._subscriptions[ref] = subscription
        granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._results[wire.SUB, ref] = granted
        subscription._request(link)
        try:
            await granted
        except BaseException:
            self._close_subscription(subscription)
            raise
        finally:
            self._results.pop((wire.SUB, ref), None)
        return subscription

    def _close_subscription(self, subscription: Subscription) -> None:
        link = subscription._link
        subscription._finish(None)
        if self._subscriptions.pop(subscription._ref, None) is not None and link is not None:
            link.send(wire.unsub(subscription._ref))

    # Calls.

    async def call(
        self,
        method: str,
        request: Any = None,
        *,
        content_type: str = JSON,
        raw: bool = False,
        timeout: float | None = None,
        metadata: Mapping[str, str | list[str]] | None = None,
    ) -> Any:
        """Calls a method, such as "greeter.Greeter.Hello", and returns its response. request returns header and trailers, too."""
        response = await self.request(method, request, content_type=content_type, raw=raw, timeout=timeout, metadata=metadata)
        return response.message

    async def request(
        self,
        method: str,
        request: Any = None,
        *,
        content_type: str = JSON,
        raw: bool = False,
        timeout: float | None = None,
        metadata: Mapping[str, str | list[str]] | None = None,
    ) -> Response:
        """Calls a method and returns its response, with header and trailers.

        With application/json, request and response are what json.dumps and json.loads know; with any other content type, or with
        raw, they are bytes. timeout is in seconds. Raises CallError with the code of the response. A call that no handler has seen because the
        node stops is made again on the next connection.
        """
        data = encode(content_type, request, raw)
        loop = asyncio.get_running_loop()
        deadline = None if timeout is None else loop.time() + timeout
        for attempt in range(3):
            try:
                reply, call = await self._call(method, content_type, data, deadline, metadata)
                return Response(decode(content_type, reply, raw), call.header, call.trailers)
            except CallError as e:
                leaving = self._link is None or self._link.draining
                if not e.not_begun or e.status != CallCode.UNAVAILABLE or attempt == 2 or not leaving:
                    raise
        raise AssertionError("unreachable")

    async def _call(
        self, method: str, content_type: str, data: bytes, deadline: float | None, metadata: Mapping[str, str | list[str]] | None
    ) -> tuple[bytes, Outgoing]:
        loop = asyncio.get_running_loop()
        left = None if deadline is None else deadline - loop.time()
        try:
            calls = await asyncio.wait_for(self._calls(), left)
            left = None if deadline is None else deadline - loop.time()
            call = await asyncio.wait_for(calls.begin(method, content_type, data, metadata, left), left)
        except asyncio.TimeoutError:
            raise CallError(CallCode.DEADLINE_EXCEEDED, "the time of the call was over before it could be sent", not_begun=True) from None
        timer = None
        if deadline is not None:
            late = CallError(CallCode.DEADLINE_EXCEEDED, "the time of the call is over")
            timer = loop.call_at(deadline, call.abandon, late, CallCode.DEADLINE_EXCEEDED)
        try:
            response = await call.next()
            if response is None:
                raise CallError(CallCode.INTERNAL, f"{method} sent no response")
            if await call.next() is not None:
                raise CallError(CallCode.INTERNAL, f"{method} sent more than one response: use stream")
            return response, call
        finally:
            if timer is not None:
                timer.cancel()
            if not call.replied:
                call.abandon(CallError(CallCode.CANCELLED, "the call was cancelled"))

    async def stream(
        self,
        method: str,
        *,
        content_type: str = JSON,
        raw: bool = False,
        timeout: float | None = None,
        metadata: Mapping[str, str | list[str]] | None = None,
    ) -> CallStream:
        """Calls a method with a stream of requests and a stream of responses. The arguments are those of call."""
        deadline = None if timeout is None else asyncio.get_running_loop().time() + timeout
        try:
            calls = await asyncio.wait_for(self._calls(), timeout)
            call = await asyncio.wait_for(calls.begin(method, content_type, None, metadata, timeout), timeout)
        except asyncio.TimeoutError:
            raise CallError(CallCode.DEADLINE_EXCEEDED, "the time of the call was over before it could be sent", not_begun=True) from None
        return CallStream(call, content_type, raw, deadline)

    async def _calls(self) -> Calls:
        link = await self._linked()
        assert link.calls is not None
        return link.calls

    async def serve(self, service: Service) -> None:
        """Offers a service to the callers of the node, and returns when the node sends their calls. withdraw ends it."""
        if service.name in self._services:
            raise ValueError(f"ferry: {service.name} is served already: withdraw it first")
        link = await self._linked()
        ref = self._next_ref()
        self._services[service.name] = service
        self._offers[ref] = service.name
        try:
            await self._result(wire.OFFER, ref, link, wire.offer(ref, service.name))
        except BaseException:
            self._offers.pop(ref, None)
            self._services.pop(service.name, None)
            raise

    async def serve_forever(self, *services: Service) -> None:
        """Offers services, and handles their calls until the client is closed.

        Raises the error that has ended the client for good. If the task is cancelled, the services are offered until the client is closed, or withdraw is
        called.
        """
        for service in services:
            await self.serve(service)
        if self._runner is not None:
            await asyncio.wait({self._runner})
        if self._error is not None and not self._closing:
            raise self._error

    async def withdraw(self, service: Service) -> None:
        """Ends the offer of a service. Calls that have begun go on."""
        for ref, name in list(self._offers.items()):
            if name == service.name:
                del self._offers[ref]
                link = await self._linked()
                await self._result(wire.OFFER, ref, link, wire.offer(ref, name, withdraw=True))
        self._services.pop(service.name, None)

    async def _result(self, kind: int, ref: int, link: Connection, frame: bytes) -> None:
        """Sends a frame and waits for its RESULT."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._results[kind, ref] = future
        link.send(frame)
        try:
            await future
        finally:
            self._results.pop((kind, ref), None)

    # What the connection calls.

    def on_result(self, link: Connection, flags: int, kind: int, code: int, ref: int, value: int, reason: str, start: int) -> None:
        if kind == wire.TAG:
            self._on_tag(link, flags, code, ref, value, reason)
        elif kind == wire.SUB:
            self._on_sub(link, flags, code, ref, value, reason, start)
        elif kind == wire.OFFER:
            service = self._offers.get(ref, "")
            error = errors.node_error(f"ferry: service {service!r}", code, reason) if code else None
            future = self._results.get((kind, ref))
            if future is not None:
                _set(future, error)
            elif error is not None and service:
                log.error("ferry: the node has ended an offer: %s", error)
                del self._offers[ref]
                self._services.pop(service, None)

    def _on_tag(self, link: Connection, flags: int, code: int, ref: int, number: int, reason: str) -> None:
        publisher = link.tag_requests.pop(ref, None)
        if publisher is None:
            return
        granted = self._grants.pop(publisher, None)
        if self._publishers.get(publisher.tag) is not publisher:  # its creation was cancelled
            if code == 0 and link.welcome is not None and link.welcome.version >= 3:
                link.send(wire.untag(number))
            return
        if code:
            error = errors.node_error(f"ferry: tag {publisher.tag!r}", code, reason)
            self._forget(publisher)
            publisher._failed(error)
            if granted is not None:
                _set(granted, error)
            return
        publisher._granted(link, number, bool(flags & wire.RESULT_STORED))
        if granted is not None:
            _set(granted, None)

    def _on_sub(self, link: Connection, flags: int, code: int, ref: int, value: int, reason: str, start: int) -> None:
        subscription = self._subscriptions.get(ref)
        if subscription is None or subscription._link is not link:
            return
        error: errors.FerryError | None = None
        if code:
            error = errors.node_error(f"ferry: subscription of {subscription.filter!r}", code, reason)
        elif subscription._spec.stored and not flags & wire.RESULT_STORED:
            error = errors.FerryError(f"ferry: the node does not know stored streams, and {subscription.filter!r} needs one")
            link.send(wire.unsub(ref))
        future = self._results.get((wire.SUB, ref))
        if error is not None:
            del self._subscriptions[ref]
            subscription._finish(error)
        else:
            subscription._granted(value, start)
        if future is not None:
            _set(future, error)

    def on_credit(self, link: Connection, number: int, size: int) -> None:
        publisher = link.publishers.get(number)
        if publisher is not None:
            publisher._on_credit(size)

    def on_notice(self, link: Connection, number: int, count: int, code: int, reason: str) -> None:
        publisher = link.publishers.get(number)
        if publisher is not None:
            publisher._on_notice(count, code, reason)
        elif count:
            before = 0 if self._dropped is None else self._dropped.count
            self._dropped = errors.Dropped("", before + count, code, reason)
            log.warning("ferry: %s", self._dropped)

    def on_draining(self, link: Connection, reason: str) -> None:
        log.info("ferry: the node stops: %s", reason)
        for publisher in self._publishers.values():
            publisher._detached()
        for subscription in self._subscriptions.values():
            subscription._draining()
        task = asyncio.get_running_loop().create_task(self._leave(link))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _leave(self, link: Connection) -> None:
        """Ends a connection in order: what is being handled ends, and the node confirms what was sent."""
        try:
            await asyncio.wait_for(self._settled(link), DRAIN_TIMEOUT)
        except (asyncio.TimeoutError, errors.FerryError) as e:
            log.info("ferry: the connection ends early: %s", str(e) or "what it was handling took too long")
        await link.goodbye()

    async def _settled(self, link: Connection) -> None:
        for subscription in list(self._subscriptions.values()):
            if isinstance(subscription, Durable):
                await subscription._handled()
        if link.calls is not None:
            await link.calls.ended(True)
        await link.confirm()

    def on_closed(self, link: Connection, error: errors.FerryError) -> None:
        if self._link is not link:
            return
        self._link = None
        for publisher in self._publishers.values():
            publisher._lost()
        for subscription in self._subscriptions.values():
            subscription._lost()

    # The end.

    async def close(self, *, timeout: float = 10) -> None:
        """Ends the client: what was published is routed or stored, calls that are served end, and the node closes the connection.

        All of that has timeout seconds, which count for messages that only a new connection can bring to the node, too.
        Raises ConnectionLost if messages on stored tags are not stored by then.
        """
        if self._closing:
            return
        left: int
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout
        try:
            await asyncio.wait_for(self._finish(), timeout)
        except asyncio.TimeoutError:
            log.info("ferry: close took longer than %g s", timeout)
        except errors.FerryError as e:
            log.info("ferry: while closing: %s", e)
        finally:
            left = sum(len(p._copies) for p in self._publishers.values())
            self._closing = True
            link = self._link
            if link is not None:
                await link.goodbye(min(max(deadline - loop.time(), 0), CLOSE_TIMEOUT))
            if self._runner is not None:
                self._runner.cancel()
                await asyncio.gather(self._runner, *self._tasks, return_exceptions=True)
            if self._error is None:
                self._fail_quietly()
        if left:
            raise errors.ConnectionLost(f"ferry: {left} messages are not stored: close with a longer timeout, or send them again")

    def _fail_quietly(self) -> None:
        error = errors.ClosedError("ferry: the client is closed")
        for publisher in self._publishers.values():
            publisher._failed(error)
        for future in (*self._results.values(), *self._grants.values()):
            _set(future, error)
        self._connected.set()

    async def _finish(self) -> None:
        link = self._link
        if link is not None and link.calls is not None and not link.closing:
            for ref, name in list(self._offers.items()):
                del self._offers[ref]
                await self._result(wire.OFFER, ref, link, wire.offer(ref, name, withdraw=True))
            link.calls.refusing = True
            await link.calls.ended(False)
        for subscription in list(self._subscriptions.values()):
            self._close_subscription(subscription)
        if self._error is None:
            for publisher in list(self._publishers.values()):
                await publisher._all_stored()
            if self._link is not None:
                await self._link.confirm()


def _window(link: Connection) -> int:
    return 0 if link.welcome is None else link.welcome.window


def _set(future: asyncio.Future[None], error: Exception | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(None)
    else:
        future.set_exception(error)
        future.exception()  # the one that waits may have gone

