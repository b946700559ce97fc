"""A ferry worker without libraries: it responds with each payload in upper case. docs/worker.md is the protocol."""

import os
import queue
import socket
import struct
import threading

HELLO, MESSAGE, END, CANCEL = 1, 2, 3, 4
DONE, FAILED = 0, 1
MAGIC = b"ferry worker"
VERSION = 1


class Parent:
    """The socket to the parent. The parent is gone when read returns None."""

    def __init__(self):
        fd = int(os.environ.pop("FERRY_WORKER_SOCKET"))
        self.socket = socket.socket(fileno=fd)
        self.socket.set_inheritable(False)
        self.stream = self.socket.makefile("rb")

    def read(self):
        prefix = self.stream.read(4)
        if len(prefix) < 4:
            return None
        (length,) = struct.unpack("<I", prefix)
        frame = self.stream.read(length)
        if len(frame) < length:
            return None
        return frame[0], frame[1:]

    def write(self, kind, body):
        self.socket.sendall(struct.pack("<IB", 1 + len(body), kind) + body)


def upper(payload):
    if not payload:
        raise ValueError("nothing to do")
    return payload.upper()


def serve(handle):
    parent = Parent()
    kind, body = parent.read()
    if kind != HELLO or body[: len(MAGIC)] != MAGIC or body[len(MAGIC)] != VERSION:
        raise SystemExit("the parent does not speak version 1 of the worker protocol")
    parent.write(HELLO, body)  # the same magic, version and largest payload

    requests = queue.Queue()  # the parent sends at most 16 ahead
    unwanted = 0  # requests up to this number are cancelled

    def read():
        nonlocal unwanted
        while frame := parent.read():
            kind, body = frame
            if kind == MESSAGE:
                requests.put(body)
            elif kind == CANCEL:
                (unwanted,) = struct.unpack("<Q", body)
        requests.put(None)

    # A thread of its own: a worker that does not read while it writes can deadlock with its parent.
    threading.Thread(target=read, daemon=True).start()

    number = 0
    while body := requests.get():
        number += 1
        type_, source, to, time, size = struct.unpack_from("<BIIqH", body)
        tag, payload = body[19 : 19 + size], body[19 + size :]
        try:
            if number <= unwanted:
                raise RuntimeError("cancelled")
            response = handle(payload)
        except Exception as error:
            parent.write(END, struct.pack("<QB", number, FAILED) + str(error).encode()[:8192])
            continue
        parent.write(MESSAGE, struct.pack("<BIIqH", type_, 0, 0, 0, len(tag)) + tag + response)
        parent.write(END, struct.pack("<QB", number, DONE))


if __name__ == "__main__":
    serve(upper)
