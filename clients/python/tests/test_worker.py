"""ferry_client.worker against a parent whose every frame is scripted."""

import os
import socket
import struct
import subprocess
import sys
import textwrap
import unittest
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
HELLO = struct.pack("<IB", 18, 1) + b"ferry worker" + struct.pack("<BI", 1, 4 << 20)
MESSAGE, END, CANCEL = 2, 3, 4


def message(tag: str, payload: bytes, type: int = 4) -> bytes:
    body = struct.pack("<BIIqH", type, 7, 9, 1, len(tag.encode())) + tag.encode() + payload
    return struct.pack("<IB", 1 + len(body), MESSAGE) + body


class Parent:
    """Runs a function in Python as a worker."""

    def __init__(self, function: str) -> None:
        own, theirs = socket.socketpair()
        own.settimeout(30)
        self.socket = own
        self.stream = own.makefile("rb")
        program = "from ferry_client.worker import *\nimport asyncio, time, os\n" + textwrap.dedent(function) + "\nserve(handle)\n"
        environ = {**os.environ, "FERRY_WORKER_SOCKET": str(theirs.fileno()), "PYTHONPATH": str(PACKAGE)}
        self.process = subprocess.Popen(
            [sys.executable, "-c", program], env=environ, pass_fds=[theirs.fileno()], stderr=subprocess.PIPE, text=True
        )
        theirs.close()

    def __enter__(self) -> "Parent":
        return self

    def __exit__(self, *exc: object) -> None:
        self.stream.close()
        self.socket.close()
        self.process.kill()
        self.process.communicate()

    def begin(self) -> None:
        self.socket.sendall(HELLO)
        assert self.stream.read(len(HELLO)) == HELLO

    def frame(self) -> tuple[int, bytes]:
        (length,) = struct.unpack("<I", self.stream.read(4))
        body = self.stream.read(length)
        return body[0], body[1:]

    def exit(self) -> tuple[int, str]:
        """Ends the sending side, and returns the status of the worker and what it has printed."""
        self.socket.shutdown(socket.SHUT_WR)
        _, errors = self.process.communicate(timeout=30)
        return self.process.returncode, errors


class WorkerTest(unittest.TestCase):
    def test_every_kind_of_handler(self) -> None:
        rows = {
            "returns one": "def handle(m): return Message('out/' + m.tag, m.type, m.payload.upper(), to=m.source)",
            "yields": "def handle(m): yield Message('out/' + m.tag, m.type, m.payload.upper(), to=m.source)",
            "coroutine": "async def handle(m):\n    await asyncio.sleep(0)\n    return [Message('out/' + m.tag, m.type, m.payload.upper(), to=m.source)]",
            "async generator": "async def handle(m):\n    yield Message('out/' + m.tag, m.type, m.payload.upper(), to=m.source)",
        }
        for name, function in rows.items():
            with self.subTest(name), Parent(function) as parent:
                parent.begin()
                parent.socket.sendall(message("é", b"a") + message("b", b"x" * 300_000))
                want = struct.pack("<BIIqH", 4, 0, 7, 0, 6) + "out/é".encode() + b"A"
                self.assertEqual(parent.frame(), (MESSAGE, want))
                self.assertEqual(parent.frame(), (END, struct.pack("<QB", 1, 0)))
                self.assertEqual(parent.frame()[1][-300_000:], b"X" * 300_000)
                self.assertEqual(parent.frame(), (END, struct.pack("<QB", 2, 0)))
                self.assertEqual(parent.exit(), (0, ""))

    def test_a_handler_that_fails_does_not_end_the_worker(self) -> None:
        with Parent("def handle(m):\n    if not m.payload: raise ValueError('nothing to do')") as parent:
            parent.begin()
            parent.socket.sendall(message("a", b"") + message("a", b"1"))
            self.assertEqual(parent.frame(), (END, struct.pack("<QB", 1, 1) + b"ValueError: nothing to do"))
            self.assertEqual(parent.frame(), (END, struct.pack("<QB", 2, 0)))
            status, printed = parent.exit()
            self.assertEqual(status, 0)
            self.assertIn("ValueError: nothing to do", printed)

    def test_a_coroutine_is_cancelled(self) -> None:
        with Parent("async def handle(m):\n    if m.payload == b'wait': await asyncio.sleep(600)") as parent:
            parent.begin()
            parent.socket.sendall(message("a", b"wait") + message("a", b"too") + message("a", b"3"))
            parent.socket.sendall(struct.pack("<IBQ", 9, CANCEL, 2))
            for number, status, text in ((1, 1, b"cancelled"), (2, 1, b"cancelled"), (3, 0, b"")):
                self.assertEqual(parent.frame(), (END, struct.pack("<QB", number, status) + text))
            parent.socket.sendall(struct.pack("<IBQ", 9, CANCEL, 3) + message("a", b"4"))  # one that comes too late
            self.assertEqual(parent.frame(), (END, struct.pack("<QB", 4, 0)))
            self.assertEqual(parent.exit(), (0, ""))

    def test_a_parent_that_breaks_the_protocol(self) -> None:
        rows = {
            "another version": (HELLO[:-5] + b"\x09" + HELLO[-4:], "update ferry"),
            "no HELLO": (b"GET / HTTP/1.1\r\n", "bytes, at most"),
        }
        for name, (sent, why) in rows.items():
            with self.subTest(name), Parent("def handle(m): pass") as parent:
                parent.socket.sendall(sent)
                status, printed = parent.exit()
                self.assertNotEqual(status, 0)
                self.assertIn(why, printed)
        for name, sent in {"a frame above the limit": b"\xff" * 8, "an unknown kind": struct.pack("<IB", 1, 9)}.items():
            with self.subTest(name), Parent("def handle(m): pass") as parent:
                parent.begin()
                parent.socket.sendall(sent)
                status, printed = parent.exit()
                self.assertIn("worker.Error: the parent sent a frame", printed)

    def test_without_a_parent(self) -> None:
        environ = {k: v for k, v in os.environ.items() if k != "FERRY_WORKER_SOCKET"}
        done = subprocess.run(
            [sys.executable, "-c", "from ferry_client.worker import *; serve(print)"],
            cwd=PACKAGE, env=environ, capture_output=True, text=True,
        )
        self.assertIn("name it in functions[].command", done.stderr)


if __name__ == "__main__":
    unittest.main()
