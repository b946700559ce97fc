"""Subscriptions: messages as they come, from a place in a stream, and for a durable."""

from __future__ import annotations

import asyncio
import datetime
import enum
import inspect
import logging
import zlib
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from . import errors, wire
from .connection import Connection
from .message import Message, handling

if TYPE_CHECKING:
    from .client import Client

log = logging.getLogger("ferry_client")

_S = TypeVar("_S", bound="Subscription")

WINDOW = 1 << 20  # bytes of each tag, or of a stored subscription, that the node sends ahead


class Policy(enum.IntEnum):
    """What the node does with messages beyond the queue of a subscription that is too slow."""

    BLOCK = 0  # publishers wait
    DROP_OLDEST = 1
    DROP_NEWEST = 2



class Nanoseconds(int):
    """A time in Unix nanoseconds, where a datetime is not exact enough."""


Start = Literal["new", "first"] | int | datetime.datetime | Nanoseconds
"""Where a stored subscription begins: at the next message, the oldest one, a sequence number, or a time."""


def start_fields(start: Start) -> tuple[int, int]:
    """Returns start and value of a SUB."""
    if start == "new":
        return 1, 0
    if start == "first":
        return 2, 0
    if isinstance(start, datetime.datetime):
        since = start.astimezone(datetime.timezone.utc) - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
        return 4, (since.days * 86_400 + since.seconds) * 1_000_000_000 + since.microseconds * 1000
    if isinstance(start, Nanoseconds):
        return 4, start
    if isinstance(start, int):
        return 3, start
    raise ValueError(f'ferry: {start!r} is no start: want "new", "first", a sequence number or a datetime')


@dataclass
class Spec:
    """What SUB says."""

    filter: str
    where: str = ""
    group: str = ""
    policy: int = Policy.BLOCK
    window: int = WINDOW
    queue: int = 0
    addressed: bool = False
    start: int = 0
    value: int = 0
    durable: str = ""
    concurrency: int = 0

    @property
    def stored(self) -> bool:
        return bool(self.start or self.durable)

    def frame(self, ref: int) -> bytes:
        return wire.sub(
            ref,
            policy=self.policy,
            window=self.window,
            queue=self.queue,
            filter=self.filter,
            group=self.group,
            where=self.where,
            addressed=self.addressed,
            start=self.start,
            value=self.value,
            durable=self.durable,
            concurrency=self.concurrency,
        )


class Subscription:
    """Messages of the tags that a filter matches. Client.subscribe and Client.replay make it.

        async for message in subscription:
            print(message.tag, message.payload)

    The node sends window bytes of each tag ahead, and more as the loop takes messages. The subscription outlives connections. The loop
    ends when the subscription or the client is closed, and raises the reason if the node has ended it. One task at a time iterates.
    """

    def __init__(self, client: Client, ref: int, spec: Spec) -> None:
        self._client = client
        self._ref = ref
        self._spec = spec
        self._link: Connection | None = None
        self._queue: deque[tuple[Connection, list[Message], int, int]] = deque()
        self._taken: tuple[Connection, int, int] | None = None  # the run that the loop has: connection, tag number, bytes
        self._rest: deque[Message] = deque()  # what is left of it
        self._owed: dict[int, int] = {}  # bytes that were taken and not yet given back, by tag number
        self._next = 0  # the sequence number with which a stream goes on after the loss of the connection; 0 means as it began
        self._asked = 0  # the same when the last SUB was sent
        self._waiter: asyncio.Future[None] | None = None
        self._closed = False
        self._error: errors.FerryError | None = None

    @property
    def filter(self) -> str:
        return self._spec.filter

    def __aiter__(self) -> AsyncIterator[Message]:
        return self._messages()

    async def _messages(self) -> AsyncIterator[Message]:
        rest = self._rest
        while True:
            while rest:
                message = rest.popleft()
                handling((message,))
                yield message
            run = await self._next_run()
            if not run:
                return
            rest.extend(run)

    async def get(self) -> Message:
        """Returns the next message. Raises ClosedError at the end."""
        while (message := self._pop()) is None:
            run = await self._next_run()
            if not run:
                raise errors.ClosedError(f"ferry: the subscription of {self.filter!r} is closed")
            self._rest.extend(run)
        handling((message,))
        return message

    def _pop(self) -> Message | None:
        return self._rest.popleft() if self._rest else None

    async def batches(self) -> AsyncIterator[list[Message]]:
        """Iterates over lists of messages: those that have arrived together, at least one."""
        if self._rest:
            rest = list(self._rest)
            self._rest.clear()
            handling(rest)
            yield rest
        while run := await self._next_run():
            handling(run)
            yield run

    async def __aenter__(self: _S) -> _S:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends the subscription. Messages that have arrived and were not taken are discarded."""
        if not self._closed:
            self._client._close_subscription(self)

    # What the connection and the client call.

    def receive(self, messages: list[Message], number: int, size: int) -> None:
        link = self._link
        if link is None:
            return
        link.hold(size)
        self._queue.append((link, messages, number, size))
        self._next = messages[-1].sequence + 1
        waiter = self._waiter
        if waiter is not None:
            self._waiter = None
            if not waiter.done():
                waiter.set_result(None)

    def _request(self, link: Connection) -> None:
        """Sends SUB. A stream goes on behind the last message that has arrived, or where it has begun."""
        if self._spec.start and not self._spec.durable and self._next:
            self._spec.start, self._spec.value = 3, self._next
        self._asked = self._next
        self._link = link
        self._owed.clear()
        link.receivers[self._ref] = self
        link.send(self._spec.frame(self._ref))

    def _granted(self, value: int, start: int) -> None:
        """The node has accepted SUB. A stream begins with message number start, if that is not 0."""
        if start and self._next == self._asked:
            self._next = start

    def _lost(self) -> None:
        """The connection has ended."""
        self._link = None

    def _draining(self) -> None:
        """The connection will end soon."""

    def _finish(self, error: errors.FerryError | None) -> None:
        """Ends the subscription: the loop gets what has arrived, and then the error."""
        if self._closed:
            return
        self._closed = True
        self._error = error
        if error is None:
            self._discard()
        link, self._link = self._link, None
        if link is not None:
            link.receivers.pop(self._ref, None)
            link.deselect(self)
        self._wake()

    # The rest.

    def _wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def _discard(self) -> None:
        """Forgets what has arrived."""
        while self._queue:
            link, _, _, size = self._queue.popleft()
            link.release(size)
        self._rest.clear()
        self._settle()

    def _settle(self) -> None:
        """Gives the node credit for the run that the loop has taken, once it makes up half a window."""
        taken, self._taken = self._taken, None
        if taken is None:
            return
        link, number, size = taken
        link.release(size)
        if link is not self._link:
            return
        size += self._owed.pop(number, 0)
        if size >= self._spec.window // 2:
            link.send(wire.credit(self._ref, number, size))
        else:
            self._owed[number] = size

    async def _next_run(self) -> list[Message]:
        """Returns the next messages, or none at the end."""
        self._settle()
        while not self._queue:
            if self._closed:
                if self._error is not None:
                    raise self._error
                return []
            if self._waiter is not None and not self._waiter.done():
                raise RuntimeError(f"ferry: two tasks iterate over the subscription of {self.filter!r}: use one, or a group")
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        link, messages, number, size = self._queue.popleft()
        self._taken = (link, number, size)
        return messages


class Durable(Subscription):
    """A member of a durable of a stored stream. Client.durable makes it. The node delivers each message until one member acks it.

        async for order in durable:
            try:
                handle(order)
            except Exception as e:
                durable.nak(order, reason=str(e))
            else:
                durable.ack(order)

    run does that for a handler. Messages with one key (without one: with one tag) are in order. After a nak, later messages with the
    key come behind the one that has failed: the iterators leave out those that have arrived already. One list of batches may still
    have some: pass them to release.
    """

    def __init__(self, client: Client, ref: int, spec: Spec) -> None:
        super().__init__(client, ref, spec)
        self._open: set[int] = set()  # sequence numbers that the loop has and that are not done
        self._acks: list[int] = []
        self._untried: list[int] = []
        self._scheduled = False
        self._refused: dict[str | bytes, tuple[int, int]] = {}  # by key: the highest number with a NAK, and _given then
        self._given = 0  # bytes that the loop has taken
        self._ack_wait = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._idle: asyncio.Future[None] | None = None

    @property
    def name(self) -> str:
        return self._spec.durable

    @property
    def ack_wait(self) -> float:
        """Seconds after which messages have failed if this client no longer runs. While it does, handlers may take as long as they want."""
        return self._ack_wait

    def ack(self, *messages: Message) -> None:
        """Says that messages are done. Acks that are given together travel together."""
        self.ack_all(messages)

    def ack_all(self, messages: Iterable[Message]) -> None:
        """Says that messages are done."""
        opened, acks = self._open, self._acks
        for m in messages:
            if m.sequence in opened:  # not one of an earlier connection
                opened.discard(m.sequence)
                acks.append(m.sequence)
        self._schedule()

    def nak(self, message: Message, *, delay: float = 0, reason: str = "") -> None:
        """Says that a message has failed. It comes again after delay seconds; 0 means after the durable's own time."""
        if message.sequence in self._open:
            self._refuse_key(message)
            self._send_nak(message, round(delay * 1000), reason, 0)

    def reject(self, message: Message, *, reason: str = "") -> None:
        """Says that a message has failed and need not come again: it becomes a dead letter."""
        if message.sequence in self._open:
            self._send_nak(message, 0, reason, wire.NAK_REJECT)

    def release(self, *messages: Message) -> None:
        """Says that messages were not tried. They come again, and this delivery does not count."""
        for m in messages:
            if m.sequence in self._open:
                self._refuse_key(m)
                self._give_back(m)

    async def run(self, handler: Callable[[Message], Awaitable[Any] | Any], *, concurrency: int | None = None) -> None:
        """Handles messages until the durable is closed: acks one when its handler returns, naks it when the handler raises.

        With a concurrency above 1, messages of different keys are handled at the same time, those of one key in order. A handler
        raises Retry or Reject to choose the delay, or to make a dead letter of the message. Without a concurrency it is that of
        Client.durable, or 1; it cannot be above what the node was told there.
        """
        told = self._spec.concurrency
        concurrency = concurrency or told or 1
        if told and concurrency > told:
            raise ValueError(f"ferry: a concurrency of {concurrency}, and the node was told {told}: give Client.durable the larger one")
        lanes: list[asyncio.Queue[Message | None]] = [asyncio.Queue(maxsize=16) for _ in range(concurrency)]
        tasks = [asyncio.create_task(self._work(lane, handler)) for lane in lanes]
        try:
            async for message in self._messages():
                lane = lanes[zlib.crc32(message.key or message.tag.encode()) % concurrency] if concurrency > 1 else lanes[0]
                await lane.put(message)
            for lane in lanes:
                await lane.put(None)
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for lane in lanes:
                while not lane.empty():
                    if (left := lane.get_nowait()) is not None:
                        self.release(left)

    async def _work(self, lane: asyncio.Queue[Message | None], handler: Callable[[Message], Awaitable[Any] | Any]) -> None:
        while (message := await lane.get()) is not None:
            if message.sequence not in self._open:
                continue  # of a connection that has ended
            if self._held_back(message):
                continue
            handling((message,))
            try:
                result = handler(message)
                if inspect.isawaitable(result):
                    await result
            except Reject as e:
                self.reject(message, reason=str(e))
            except Retry as e:
                self.nak(message, delay=e.delay, reason=str(e))
            except asyncio.CancelledError:
                self.nak(message, reason="the member was stopped")
                raise
            except Exception as e:
                log.exception("ferry: the handler of durable %r failed with message %d", self.name, message.sequence)
                self.nak(message, reason=f"{type(e).__name__}: {e}")
            else:
                self.ack(message)

    # What the client calls.

    def _request(self, link: Connection) -> None:
        self._refused.clear()
        super()._request(link)

    def _granted(self, value: int, start: int) -> None:
        self._ack_wait = value / 1000
        if self._timer is not None:
            self._timer.cancel()
        if self._ack_wait:
            self._timer = asyncio.get_running_loop().call_later(self._ack_wait / 3, self._tick)

    def _lost(self) -> None:
        super()._lost()
        if self._timer is not None:
            self._timer.cancel()
        self._open.clear()
        self._acks.clear()
        self._untried.clear()
        self._discard()  # they come again
        self._idle_now()

    def _draining(self) -> None:
        """Gives back what was not tried."""
        for _, messages, _, _ in self._queue:
            self._untried.extend([m.sequence for m in messages])
        for m in self._rest:
            self._open.discard(m.sequence)
            self._untried.append(m.sequence)
        self._discard()
        self._flush()

    async def _handled(self) -> None:
        """Waits until the loop has acked what it has."""
        while self._open and self._link is not None:
            self._idle = asyncio.get_running_loop().create_future()
            await self._idle

    def _finish(self, error: errors.FerryError | None) -> None:
        if self._closed:
            return
        if error is None and self._link is not None:
            self._draining()
        if self._timer is not None:
            self._timer.cancel()
        super()._finish(error)
        self._open.clear()
        self._idle_now()

    # The rest.

    async def _messages(self) -> AsyncIterator[Message]:
        while True:
            while (message := self._pop()) is not None:
                handling((message,))
                yield message
            run = await self._next_run()
            if not run:
                return
            self._rest.extend(run)

    def _pop(self) -> Message | None:
        while self._rest:
            message = self._rest.popleft()
            if not self._refused or not self._held_back(message):
                return message
        return None

    async def batches(self) -> AsyncIterator[list[Message]]:
        async for run in super().batches():
            if self._refused:
                run = [m for m in run if not self._held_back(m)]
                if not run:
                    continue
            yield run

    async def _next_run(self) -> list[Message]:
        run = await super()._next_run()
        self._open.update([m.sequence for m in run])
        return run

    def _settle(self) -> None:
        if self._taken is not None:
            self._given += self._taken[2]
            self._flush()  # the node handles a NAK before the CREDIT that follows it
        super()._settle()

    def _held_back(self, message: Message) -> bool:
        """Reports whether a message with the same key has failed and has not come again. Then this one goes back, not tried."""
        key = message.key or message.tag
        refused = self._refused.get(key)
        if refused is None:
            return False
        number, given = refused
        link = self._link
        if message.sequence <= number or link is None or self._given - given > self._spec.window + link.max_frame + wire.STORED_EXTRA:
            del self._refused[key]
            return False
        self._refused[key] = (message.sequence, given)
        self._give_back(message)
        return True

    def _refuse_key(self, message: Message) -> None:
        """Has later messages with the key held back until this one comes again."""
        key = message.key or message.tag
        self._refused[key] = (max(message.sequence, self._refused.get(key, (0, 0))[0]), self._given)
        if len(self._refused) > 1024:
            self._forget_keys()

    def _give_back(self, message: Message) -> None:
        self._open.discard(message.sequence)
        self._untried.append(message.sequence)
        self._schedule()

    def _forget_keys(self) -> None:
        link = self._link
        if link is None:
            return
        behind = self._given - self._spec.window - link.max_frame - wire.STORED_EXTRA
        self._refused = {key: value for key, value in self._refused.items() if value[1] >= behind}

    def _send_nak(self, message: Message, delay_ms: int, reason: str, flags: int) -> None:
        self._open.discard(message.sequence)
        if self._link is not None:
            self._link.send(wire.nak(self._ref, [(message.sequence, 1)], delay_ms, reason, flags))
        if not self._open:
            self._idle_now()

    def _schedule(self) -> None:
        if not self._scheduled and (self._acks or self._untried):
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        """Sends the ACKs that have gathered."""
        self._scheduled = False
        link = self._link
        acks, self._acks = self._acks, []
        untried, self._untried = self._untried, []
        if link is not None:
            for sequences, untried_ones in ((acks, False), (untried, True)):
                found = wire.ranges(sorted(sequences))
                for at in range(0, len(found), 300):  # 3.6 kB, which each node takes
                    part = found[at : at + 300]
                    link.send(wire.nak(self._ref, part, flags=wire.NAK_NOT_TRIED) if untried_ones else wire.ack(self._ref, part))
        if not self._open:
            self._idle_now()

    def _idle_now(self) -> None:
        idle, self._idle = self._idle, None
        if idle is not None and not idle.done():
            idle.set_result(None)

    def _tick(self) -> None:
        """Tells the node that messages are still being handled. A blocked event loop does not, so they go to another member."""
        if self._link is None:
            return
        if self._open or self._queue:
            self._link.send(wire.in_progress(self._ref))
        self._timer = asyncio.get_running_loop().call_later(self._ack_wait / 3, self._tick)


class Retry(Exception):
    """A handler of Durable.run raises it: the message comes again after delay seconds; 0 means after the durable's own time."""

    def __init__(self, reason: str = "", *, delay: float = 0) -> None:
        super().__init__(reason)
        self.delay = delay


class Reject(Exception):
    """A handler of Durable.run raises it: the message becomes a dead letter and does not come again."""

