"""Messages, as they arrive."""

from __future__ import annotations

import contextvars
import datetime
import enum
from collections.abc import Iterable
from typing import NamedTuple

from . import wire


class Type(enum.IntEnum):
    """What the bytes of a payload are. 128 to 255 are private types: pass them as numbers."""

    RAW = 0
    Y3 = 1
    Y3N = 2
    CBOR = 3
    JSON = 4
    PROTOBUF = 5
    BSON = 6
    MSGPACK = 7


class Message(NamedTuple):
    """A message of a subscription.

    type is a number, see Type. time is in Unix nanoseconds, as the publisher has set it. source is the publisher's number: send to it
    with Publisher.send(..., to=source). Messages of stored streams have a sequence number and how often they were delivered before;
    their source is 0.
    """

    tag: str
    payload: bytes
    type: int
    time: int
    source: int
    sequence: int = 0
    deliveries: int = 0
    key: bytes = b""
    id: bytes = b""
    extension: bytes = b""

    @property
    def datetime(self) -> datetime.datetime:
        """The time, in UTC, to the microsecond."""
        return datetime.datetime.fromtimestamp(self.time // 1000 / 1e6, datetime.timezone.utc)

    def dead_letter(self) -> DeadLetter | None:
        """Where the message comes from, if it is a dead letter."""
        for kind, value in wire.entries(self.extension):
            if kind == wire.EXT_DEAD_LETTER:
                return DeadLetter._parse(value)
        return None


functions: contextvars.ContextVar[int | None] = contextvars.ContextVar("ferry_functions", default=None)
"""Through how many functions the messages have come that the task has taken last. None if it has taken none: it is a source."""


def handling(messages: Iterable[Message]) -> None:
    """Notes that the task handles messages. What it publishes then says so, and the node ends cycles of functions."""
    most = 0
    for m in messages:
        if m.extension:
            for kind, value in wire.entries(m.extension):
                if kind == wire.EXT_FUNCTIONS and len(value) == 1:
                    most = max(most, value[0])
    if functions.get() != most:
        functions.set(most)


class DeadLetter(NamedTuple):
    """Where a dead letter comes from: the message of a stream that was not handled, and why."""

    stream: str
    sequence: int
    deliveries: int
    tag: str
    reason: str

    @classmethod
    def _parse(cls, value: bytes) -> DeadLetter:
        stream, rest = wire.pair(value)
        f = wire.Fields(rest)
        return cls(wire.utf8(stream), f.uint(8), f.uint(4), f.text(), wire.utf8(f.rest()))


def stored_fields(extension: bytes) -> tuple[str, int, int, bytes, bytes]:
    """Returns tag, sequence number, deliveries, key and id of a PUB whose tag is in its extension."""
    tag, sequence, deliveries, key, id_ = b"", 0, 0, b"", b""
    for kind, value in wire.entries(extension):
        if kind == wire.EXT_TAG:
            tag = value
        elif kind == wire.EXT_SEQUENCE and len(value) == 8:
            sequence = int.from_bytes(value, "big")
        elif kind == wire.EXT_DELIVERIES and len(value) == 4:
            deliveries = int.from_bytes(value, "big")
        elif kind == wire.EXT_KEY:
            key = value
        elif kind == wire.EXT_ID:
            id_ = value
    if not tag or not sequence:
        raise wire.Malformed("a PUB by name without a tag or a sequence number")
    return wire.utf8(tag), sequence, deliveries, key, id_


def published_fields(extension: bytes) -> tuple[bytes, bytes]:
    """Returns key and id of a PUB that has a tag number."""
    key = id_ = b""
    for kind, value in wire.entries(extension):
        if kind == wire.EXT_KEY:
            key = value
        elif kind == wire.EXT_ID:
            id_ = value
    return key, id_
