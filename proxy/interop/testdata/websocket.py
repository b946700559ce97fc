"""A WebSocket by hand, for a machine whose Node has none: python3 websocket.py HOST:PORT. RFC 6455."""

import os
import socket
import struct
import sys

host, port = sys.argv[1].rsplit(":", 1)
conn = socket.create_connection((host, int(port)), timeout=60)
stream = conn.makefile("rb")


def send(opcode, data):
    """A frame from a client is masked: section 5.2."""
    n = len(data)
    head = bytes([0x80 | opcode])
    if n < 126:
        head += bytes([0x80 | n])
    elif n < 1 << 16:
        head += struct.pack(">BH", 0x80 | 126, n)
    else:
        head += struct.pack(">BQ", 0x80 | 127, n)
    mask = os.urandom(4)
    conn.sendall(head + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(data)))


def receive():
    opcode, n = stream.read(2)
    if n == 126:
        (n,) = struct.unpack(">H", stream.read(2))
    elif n == 127:
        (n,) = struct.unpack(">Q", stream.read(8))
    return opcode & 0x0F, stream.read(n)


conn.sendall(
    f"GET /websocket HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode()
)
head = b""
while not head.endswith(b"\r\n\r\n"):
    head += stream.readline()
assert head.startswith(b"HTTP/1.1 101 "), head
assert b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in head, head  # section 1.3

messages = [b"one", b"", b"x" * 125, b"y" * 126, b"z" * 70_000, "€".encode() * 33_000, b"last"]
for m in messages:
    send(1, m)
for m in messages:
    assert receive() == (1, m)
send(8, struct.pack(">H", 1000))
assert receive() == (8, struct.pack(">H", 1000))
print(f"websocket: {len(messages)} messages, closed with 1000")
