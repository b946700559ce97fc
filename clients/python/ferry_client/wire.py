"""Frames of the native wire, as docs/native.md of ferry specifies them: bytes in, bytes out, and no socket."""

from __future__ import annotations

import enum
import struct

VERSION_LOW, VERSION_HIGH = 1, 3
MAGIC = 0x46525259  # "FRRY"
MAX_HANDSHAKE = 8 << 10  # bytes of a HELLO or WELCOME, header included
MAX_PIECE = 64 << 10  # bytes of a message in a CALL, DATA or REPLY
STORED_EXTRA = 4 << 10  # bytes that a node may add to a stored PUB
BY_NAME = 0xFFFFFFFF  # the tag number of a PUB whose tag is in the extension

# Kinds of frames.
HELLO, WELCOME, PING, GOAWAY, TAG, SUB, UNSUB, CREDIT, PUB, SELECT, RESULT, NOTICE, JOIN = range(1, 14)
CALL, REPLY, CANCEL, DATA, METHOD, CALLCREDIT, OFFER, ACK, NAK, FORWARD, UNTAG = range(16, 27)

# Flags, by kind of frame.
PING_RESPONSE = 0x01
SUB_ADDRESSED = 0x01
UNSUB_NOT_TRIED = 0x02
PUB_ADDRESSED = 0x01
PUB_BY_PATH = 0x04
RESULT_STORED = 0x01
RESULT_FROM = 0x02
OFFER_WITHDRAW = 0x01
ACK_IN_PROGRESS = 0x01
NAK_REJECT = 0x01
NAK_NOT_TRIED = 0x02
CALL_MORE = 0x01
CALL_END = 0x02
CALL_NO_MESSAGE = 0x04
CALL_COMPRESSED = 0x08
REPLY_NOT_BEGUN = 0x10

# Types of entries of an extension.
EXT_TRACE_CONTEXT, EXT_TRACE_STATE, EXT_SEQUENCE, EXT_DELIVERIES, EXT_KEY = 1, 2, 3, 4, 5
EXT_TAG, EXT_ID, EXT_DEAD_LETTER, EXT_FUNCTIONS = 8, 9, 10, 12
EXT_METADATA, EXT_TRAILER, EXT_STATUS_TEXT, EXT_DETAIL = 16, 17, 18, 19
MAX_METADATA = 128  # entries of a type

HEAD = struct.Struct(">IBBBB")
PUB_HEAD = struct.Struct(">IBBBBIIq")  # the header of a frame, tag number, source id, time
_U32 = struct.Struct(">I")
_U64 = struct.Struct(">Q")
_ENTRY = struct.Struct(">BH")


class Code(enum.IntEnum):
    """Why a node refused something or ended a connection."""

    OK = 0
    DRAINING = 1
    PROTOCOL_ERROR = 2
    UNAUTHENTICATED = 3
    FORBIDDEN = 4
    TOO_LARGE = 5
    LIMIT_REACHED = 6
    TIMEOUT = 7
    NO_CREDIT = 8
    VERSION_MISMATCH = 9
    INVALID_PAYLOAD = 10
    BAD_REQUEST = 11

    @classmethod
    def of(cls, number: int) -> Code | None:
        try:
            return cls(number)
        except ValueError:
            return None


class Malformed(Exception):
    """A frame breaks the rules of the wire. code goes into GOAWAY."""

    def __init__(self, reason: str, code: Code = Code.PROTOCOL_ERROR) -> None:
        super().__init__(reason)
        self.code = code


class Fields:
    """Reads the fields of a frame, one after the other. Bytes behind the last field that is read are ignored."""

    __slots__ = ("_at", "_data")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def uint(self, size: int) -> int:
        at = self._at
        self._at = at + size
        if self._at > len(self._data):
            raise Malformed("the frame ends within a field")
        return int.from_bytes(self._data[at : self._at], "big")

    def skip(self, size: int) -> None:
        self.uint(size)

    def text_bytes(self) -> bytes:
        size = self.uint(2)
        at = self._at
        self._at = at + size
        if self._at > len(self._data):
            raise Malformed("the frame ends within a text")
        return self._data[at : self._at]

    def text(self) -> str:
        return utf8(self.text_bytes())

    def left(self) -> int:
        return len(self._data) - self._at

    def rest(self) -> bytes:
        return self._data[self._at :]

    def extension(self, words: int, long: bool) -> bytes:
        """Reads an extension. long says whether 255 words mean that the number of words is a field of its own."""
        size = words * 4
        if long and words == 255:
            size = self.uint(4) * 4
            if size > 64 << 10:
                raise Malformed(f"an extension of {size} bytes is longer than 64 KiB")
        at = self._at
        self._at = at + size
        if self._at > len(self._data):
            raise Malformed("the frame ends within its extension")
        return self._data[at : self._at]


def utf8(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise Malformed("a text is not UTF-8") from None


def entries(extension: bytes) -> list[tuple[int, bytes]]:
    """Returns the entries of an extension: type and value."""
    out: list[tuple[int, bytes]] = []
    at, end = 0, len(extension)
    while at < end:
        kind = extension[at]
        if kind == 0:
            at += 1
            continue
        if end - at < 3:
            raise Malformed("an extension ends within an entry")
        size = extension[at + 1] << 8 | extension[at + 2]
        at += 3
        if size > end - at:
            raise Malformed("an entry is longer than its extension")
        out.append((kind, extension[at : at + size]))
        at += size
    return out


def pair(value: bytes) -> tuple[bytes, bytes]:
    """Splits the value of an entry that begins with a length and a name."""
    if not value or value[0] >= len(value):
        raise Malformed("an entry ends within its name")
    return value[1 : 1 + value[0]], value[1 + value[0] :]


def entry(kind: int, value: bytes) -> bytes:
    return _ENTRY.pack(kind, len(value)) + value


def named_entry(kind: int, name: str, value: bytes) -> bytes:
    key = name.encode()
    return entry(kind, bytes((len(key),)) + key + value)


def padded(extension: bytes) -> bytes:
    """Fills the last word of an extension."""
    return extension + bytes(-len(extension) % 4)


def frame(kind: int, body: bytes = b"", flags: int = 0, third: int = 0, words: int = 0) -> bytes:
    return HEAD.pack(len(body) + 4, kind, flags, third, words) + body


def extended(kind: int, fixed: bytes, extension: bytes, message: bytes, flags: int, third: int = 0) -> bytes:
    """Returns a CALL, DATA or REPLY."""
    extension = padded(extension)
    words = len(extension) // 4
    if words >= 255:
        fixed, words = fixed + _U32.pack(words), 255
    size = 4 + len(fixed) + len(extension) + len(message)
    return b"".join((HEAD.pack(size, kind, flags, third, words), fixed, extension, message))


def text(value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    if len(data) > 0xFFFF:
        raise ValueError(f"ferry: a text of {len(data)} bytes is longer than 65535")
    return len(data).to_bytes(2, "big") + data


def hello(token: bytes, name: str, calls: int, window: int, stream_window: int) -> bytes:
    body = struct.pack(">IBBH", MAGIC, VERSION_LOW, VERSION_HIGH, 0) + text(token) + text(name)
    return frame(HELLO, body + struct.pack(">III", calls, window, stream_window))


class Welcome:
    """WELCOME of a node. Sizes are bytes, heartbeat is in seconds."""

    def __init__(self, body: bytes) -> None:
        f = Fields(body)
        self.version = f.uint(1)
        self.data_streams = f.uint(1)
        f.skip(2)
        self.source = f.uint(4)
        self.max_frame = f.uint(4)
        self.window = f.uint(4)
        self.heartbeat = f.uint(4) / 1000
        self.calls = self.call_window = self.stream_window = 0
        self.node = ""
        if f.left() >= 12:
            self.calls, self.call_window, self.stream_window = f.uint(4), f.uint(4), f.uint(4)
            if self.version >= 3 and f.left() >= 2:
                self.node = f.text()


def ping(value: int, response: bool = False) -> bytes:
    return frame(PING, _U64.pack(value), PING_RESPONSE if response else 0)


def cut(reason: str, size: int) -> bytes:
    """Returns the beginning of a text: at most size bytes of UTF-8."""
    return reason.encode(errors="replace")[:size].decode(errors="ignore").encode()


def goaway(code: int, reason: str = "") -> bytes:
    return frame(GOAWAY, code.to_bytes(2, "big") + text(cut(reason, 256)))


def tag(ref: int, name: str) -> bytes:
    return frame(TAG, _U32.pack(ref) + text(name))


def untag(number: int) -> bytes:
    return frame(UNTAG, _U32.pack(number))


def sub(
    ref: int,
    *,
    policy: int,
    window: int,
    queue: int,
    filter: str,
    group: str = "",
    where: str = "",
    addressed: bool = False,
    start: int = 0,
    value: int = 0,
    durable: str = "",
    concurrency: int = 0,
) -> bytes:
    body = struct.pack(">IB3xII", ref, policy, window, queue) + text(filter) + text(group) + text(where)
    if start or durable:
        body += struct.pack(">BxHQ", start, concurrency, value) + text(durable)
    return frame(SUB, body, SUB_ADDRESSED if addressed else 0)


def unsub(ref: int, not_tried: bool = False) -> bytes:
    return frame(UNSUB, _U32.pack(ref), UNSUB_NOT_TRIED if not_tried else 0)


def credit(sub_id: int, number: int, size: int) -> bytes:
    return frame(CREDIT, struct.pack(">III", sub_id, number, size))


def offer(ref: int, service: str, withdraw: bool = False) -> bytes:
    return frame(OFFER, _U32.pack(ref) + text(service), OFFER_WITHDRAW if withdraw else 0)


def ranges(sequences: list[int]) -> list[tuple[int, int]]:
    """Joins sequence numbers, which are sorted, into ranges: first and count."""
    out: list[tuple[int, int]] = []
    first = last = -1
    for n in sequences:
        if n == last + 1 and first >= 0:
            last = n
            continue
        if first >= 0:
            out.append((first, last - first + 1))
        first = last = n
    if first >= 0:
        out.append((first, last - first + 1))
    return out


def _range_bytes(found: list[tuple[int, int]]) -> bytes:
    return b"".join([struct.pack(">QI", first, count) for first, count in found])


def ack(sub_id: int, found: list[tuple[int, int]]) -> bytes:
    return frame(ACK, _U32.pack(sub_id) + _range_bytes(found))


def in_progress(sub_id: int) -> bytes:
    return frame(ACK, _U32.pack(sub_id), ACK_IN_PROGRESS)


def nak(sub_id: int, found: list[tuple[int, int]], delay_ms: int = 0, reason: str = "", flags: int = 0) -> bytes:
    return frame(NAK, struct.pack(">II", sub_id, delay_ms) + text(cut(reason, 512)) + _range_bytes(found), flags)


def method(number: int, name: str, content_type: str) -> bytes:
    return frame(METHOD, struct.pack(">HH", number, 0) + text(name) + text(content_type))


def call(number: int, method_number: int, timeout_ms: int, extension: bytes, message: bytes, flags: int) -> bytes:
    return extended(CALL, struct.pack(">IHHI", number, method_number, 0, timeout_ms), extension, message, flags)


def data(number: int, extension: bytes, message: bytes, flags: int) -> bytes:
    return extended(DATA, _U32.pack(number), extension, message, flags)


def reply(number: int, code: int, extension: bytes, message: bytes, flags: int) -> bytes:
    return extended(REPLY, struct.pack(">II", number, code), extension, message, flags)


def cancel(number: int, code: int) -> bytes:
    return frame(CANCEL, struct.pack(">II", number, code))


def call_credit(number: int, size: int) -> bytes:
    return frame(CALLCREDIT, struct.pack(">II", number, size))
