"""The client against a real node. FERRY is the path of ferry's binary; without it the tests are skipped."""

import asyncio
import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import ferry_client as ferry

FERRY = os.environ.get("FERRY", "")
LIMIT = 60.0  # seconds that any step may take on a slow machine
EXAMPLES = Path(__file__).parents[1] / "examples"

CONFIG = """
listeners:
  - address: tcp://{tcp}
  - address: tls://127.0.0.1:0
    client_ca_file: clients.pem
admin: {{address: 127.0.0.1:0}}
data_dir: data
identities:
  - {{name: limited, token: the token of the limited client, publish: ["open/#"], subscribe: ["open/#"]}}
  - {{name: pump, common_name: pump-1, publish: ["open/#"], subscribe: ["open/#"]}}
engine: {{address: embedded, sync: interval}}
streams:
  - {{name: orders, tags: ["orders/#"], delivery: at-least-once, dead_letter: dead/orders, redelivery: {{max: 3, backoff: [20ms]}}}}
  - {{name: dead, tags: ["dead/#"], delivery: at-least-once}}
"""


class Node:
    """ferry run in a directory of its own."""

    def __init__(self) -> None:
        self._directory = tempfile.TemporaryDirectory()
        self.dir = Path(self._directory.name)
        self._process: subprocess.Popen[str] | None = None
        self._tcp = "127.0.0.1:0"
        make_certificates(self.dir)
        self.start()

    def start(self) -> None:
        """Starts the node; a second time at the same port."""
        (self.dir / "node.yaml").write_text(CONFIG.format(tcp=self._tcp))
        self._log = open(self.dir / "log", "a+")
        self._process = subprocess.Popen([FERRY, "run", "-c", "node.yaml"], cwd=self.dir, stdout=subprocess.PIPE, stderr=self._log, text=True)
        assert self._process.stdout is not None
        text = ""
        while text.count("\n\n") < 3 and (line := self._process.stdout.readline()):
            text += line
        found = dict(re.findall(r"(tcp|tls)://([0-9.]+:[0-9]+)", text))
        if len(found) < 2:
            self.stop()
            raise AssertionError(f"ferry run printed {text!r}, and {(self.dir / 'log').read_text()}")
        self._tcp = found["tcp"]
        self.tcp, self.tls = f"tcp://{found['tcp']}", f"tls://{found['tls']}"

    def stop(self, how: int = signal.SIGTERM) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.communicate()
            self._process = None
        self._log.close()

    def close(self) -> None:
        self.stop()
        self._directory.cleanup()


def make_certificates(to: Path) -> None:
    """Makes a CA, clients.pem, and a certificate of it, pump.pem and pump.key."""

    def openssl(*args: str) -> None:
        subprocess.run(["openssl", *args], cwd=to, check=True, capture_output=True)

    new = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    openssl("req", "-x509", *new, "-keyout", "clients.key", "-out", "clients.pem", "-subj", "/CN=clients", "-days", "2")
    openssl("req", *new, "-keyout", "pump.key", "-out", "pump.csr", "-subj", "/CN=pump-1")
    openssl("x509", "-req", "-in", "pump.csr", "-CA", "clients.pem", "-CAkey", "clients.key", "-CAcreateserial", "-out", "pump.pem", "-days", "2")


@unittest.skipUnless(FERRY, "needs ferry's binary in FERRY: go build -o ferry ./cmd/ferry && FERRY=$PWD/ferry")
class NodeTest(unittest.IsolatedAsyncioTestCase):
    node: Node

    @classmethod
    def setUpClass(cls) -> None:
        cls.node = Node()

    @classmethod
    def tearDownClass(cls) -> None:
        cls.node.close()

    async def asyncSetUp(self) -> None:
        self.client = await self.connect(name=self._testMethodName)
        self.addAsyncCleanup(self.client.close)

    async def connect(self, **options) -> ferry.Client:
        return await self.within(ferry.connect(self.node.tcp, token_file=self.node.dir / "data" / "token", **options))

    async def within(self, awaitable):
        return await asyncio.wait_for(awaitable, LIMIT)

    async def take(self, subscription: ferry.Subscription, count: int) -> list[ferry.Message]:
        return [await self.within(subscription.get()) for _ in range(count)]

    async def test_where_and_types(self) -> None:
        subscription = await self.within(self.client.subscribe("a/+", where="v > 30"))
        publisher = await self.within(self.client.publisher("a/1"))
        for v in (29, 31, 32):
            await publisher.send_json({"v": v})
        await self.client.publish("a/2", b"\xa1\x61\x76\x18\x63", type=ferry.Type.CBOR, time=5, key="k", id="i")
        await self.within(self.client.flush())
        got = await self.take(subscription, 3)
        self.assertEqual([(m.tag, m.payload, m.type) for m in got[:2]], [("a/1", b'{"v":31}', 4), ("a/1", b'{"v":32}', 4)])
        self.assertEqual((got[2].tag, got[2].type, got[2].time, got[2].key, got[2].id), ("a/2", ferry.Type.CBOR, 5, b"k", b"i"))
        self.assertEqual(got[0].source, self.client.source)

    async def test_many_messages_through_small_windows(self) -> None:
        subscription = await self.within(self.client.subscribe("many/#", window=4096))
        publisher = await self.within(self.client.publisher("many/1"))
        payloads = [b"%0*d" % (20 + i % 50, i) for i in range(5000)]
        sending = asyncio.create_task(publisher.send_many(payloads))
        got: list[bytes] = []
        while len(got) < len(payloads):
            got.append((await self.within(subscription.get())).payload)
        await sending
        self.assertEqual(got, payloads)

    async def test_dropped_messages_are_reported(self) -> None:
        publisher = await self.within(self.client.publisher("bad", type=ferry.Type.JSON))
        await publisher.send(b"{")
        with self.assertLogs("ferry_client"), self.assertRaises(ferry.Dropped) as dropped:
            await self.within(publisher.flush())
        self.assertEqual((dropped.exception.code, dropped.exception.count, dropped.exception.tag), (ferry.Code.INVALID_PAYLOAD, 1, "bad"))
        await self.within(publisher.flush())
        with self.assertRaises(ferry.TooLarge):
            await publisher.send(bytes(2 << 20))

    async def test_groups_share_and_policies_drop(self) -> None:
        other = await self.connect()
        self.addAsyncCleanup(other.close)
        members = [await self.within(c.subscribe("shared", group="g")) for c in (self.client, other)]
        slow = await self.within(other.subscribe("shared", policy=ferry.Policy.DROP_OLDEST, window=100, queue=200))
        publisher = await self.within(self.client.publisher("shared"))
        for i in range(100):
            await publisher.send(b"%03d" % i)
        await self.within(publisher.flush())
        got: list[bytes] = []

        async def collect(member: ferry.Subscription) -> None:
            async for message in member:
                got.append(message.payload)

        collecting = [asyncio.create_task(collect(m)) for m in members]
        while len(got) < 100:
            await asyncio.sleep(0.001)
        self.assertEqual(sorted(got), [b"%03d" % i for i in range(100)])
        for m in members:
            await m.close()
        await asyncio.gather(*collecting)
        last = await self.within(slow.get())
        while last.payload != b"099":
            last = await self.within(slow.get())

    async def test_addressed_messages(self) -> None:
        other = await self.connect()
        self.addAsyncCleanup(other.close)
        mine = await self.within(self.client.subscribe("answers", addressed=True))
        theirs = await self.within(other.subscribe("answers"))
        await other.publish("answers", b"to you", to=self.client.source)
        await other.publish("answers", b"to all")
        await other.publish("answers", b"to you, too", to=self.client.source)
        self.assertEqual([m.payload for m in await self.take(mine, 2)], [b"to you", b"to you, too"])
        self.assertEqual((await self.within(theirs.get())).payload, b"to all")

    async def test_refusals(self) -> None:
        limited = await self.within(ferry.connect(self.node.tcp, token="the token of the limited client"))
        self.addAsyncCleanup(limited.close)
        rows = [
            (ferry.Forbidden, limited.publisher("closed")),
            (ferry.Forbidden, limited.subscribe("#")),
            (ferry.BadRequest, limited.publisher("open/+")),
            (ferry.BadRequest, limited.subscribe("open/#", where="v >")),
            (ferry.BadRequest, limited.durable("open/#", "d")),
        ]
        for error, refused in rows:
            with self.assertRaises(error):
                await self.within(refused)
        with self.assertRaises(ferry.CallError) as call:
            await self.within(limited.call("greeter.Greeter.Hello", {}))
        self.assertEqual(call.exception.status, ferry.CallCode.PERMISSION_DENIED)
        with self.assertRaises(ferry.Unauthenticated):
            await self.within(ferry.connect(self.node.tcp, token="another token of 16"))

    async def test_certificates(self) -> None:
        ca, at = self.node.dir / "data" / "ca.pem", self.node.dir
        async with await self.within(
            ferry.connect(self.node.tls, ca_file=ca, cert_file=at / "pump.pem", key_file=at / "pump.key")
        ) as pump:
            subscription = await self.within(pump.subscribe("open/#"))
            publisher = await self.within(pump.publisher("open/1"))
            payloads = [b"%d" % i * 300 for i in range(2000)]
            sending = asyncio.create_task(publisher.send_many(payloads))
            self.assertEqual([m.payload for m in await self.take(subscription, len(payloads))], payloads)
            await sending
        with self.assertRaises(ferry.FerryError):
            await self.within(ferry.connect(self.node.tls, ca_file=ca, reconnect=False))
        with self.assertRaisesRegex(ferry.ConnectionLost, "ca_file"):
            await self.within(ferry.connect(self.node.tls, token="the token of the limited client"))

    async def test_stored_streams(self) -> None:
        publisher = await self.within(self.client.publisher("orders/1", type=ferry.Type.JSON))
        self.assertTrue(publisher.stored)
        for i in range(20):
            await publisher.send_json({"n": i}, id=f"order-{i}", key=str(i % 3))
        await self.within(publisher.send_stored(b'{"n":20}'))
        await publisher.send_json({"n": 0}, id="order-0")  # is one message with the first one
        await self.within(publisher.flush())
        self.assertEqual(publisher.waiting, 0)
        with self.assertRaisesRegex(ferry.FerryError, "no stream of the node stores"):
            await self.within((await self.client.publisher("elsewhere")).send_stored(b""))

        replay = await self.within(self.client.replay("orders/1"))
        got = await self.take(replay, 21)
        self.assertEqual([m.payload for m in got], [b'{"n":%d}' % i for i in range(21)])
        later = await self.within(self.client.replay("orders/1", start=got[5].sequence, where="n >= 10"))
        self.assertEqual((await self.within(later.get())).payload, b'{"n":10}')

        durable = await self.within(self.client.durable("orders/1", "billing", start="first"))
        handled: list[tuple[bytes, int]] = []
        finished = asyncio.Event()

        async def handle(m: ferry.Message) -> None:
            handled.append((m.payload, m.deliveries))
            if m.payload == b'{"n":4}' and m.deliveries == 0:
                raise ferry.Retry("once more", delay=0.02)
            if m.payload == b'{"n":7}':
                raise ferry.Reject("never")
            if m.payload == b'{"n":8}':
                raise ValueError("always")
            if {p for p, d in handled} >= {b'{"n":%d}' % i for i in range(21)} and (b'{"n":8}', 2) in handled:
                finished.set()

        dead = await self.within(self.client.replay("dead/#"))
        with self.assertLogs("ferry_client"):
            running = asyncio.create_task(durable.run(handle, concurrency=3))
            letters = [m.dead_letter() for m in await self.take(dead, 2)]
            await self.within(finished.wait())
        self.assertEqual({(d.reason, d.deliveries, d.tag) for d in letters if d}, {("never", 1, "orders/1"), ("ValueError: always", 3, "orders/1")})
        for key in range(3):
            firsts = [p for p, d in handled if d == 0 and int(p[5:-1]) % 3 == key and p != b'{"n":20}']
            self.assertEqual(firsts, [b'{"n":%d}' % i for i in range(key, 20, 3)])
        await self.within(durable.close())
        await self.within(running)
        await self.within(self.client.flush())  # the node has the acks
        again = await self.within(self.client.durable("orders/1", "billing"))
        await self.within(publisher.send_stored(b'{"n":99}'))
        message = await self.within(again.get())
        self.assertEqual(message.payload, b'{"n":99}')
        again.ack(message)

    async def test_calls(self) -> None:
        server = await self.connect(name="server")
        self.addAsyncCleanup(server.close)
        service = ferry.Service("test.Echo")
        seen: dict[str, list[str]] = {}
        began, cancelled = asyncio.Event(), asyncio.Event()

        @service.unary("Say")
        async def say(request, call):
            seen.update(call.metadata)
            call.trailers["cost"] = "7"
            return request

        @service.stream("Repeat")
        async def repeat(requests, call):
            async for request in requests:
                for _ in range(2):
                    yield request

        @service.unary("Fail")
        async def fail(request, call):
            raise ferry.CallError(ferry.CallCode.NOT_FOUND, "no k", details=(ferry.Detail("t", b"x"),))

        @service.unary("Raise")
        async def crash(request, call):
            return {}["k"]

        @service.unary("Wait")
        async def wait(request, call):
            began.set()
            try:
                await asyncio.sleep(600)
            finally:
                cancelled.set()

        await self.within(server.serve(service))
        with self.assertRaises(ValueError):
            await server.serve(service)
        response = await self.within(self.client.request("test.Echo.Say", {"a": "é"}, metadata={"k": ["v", "w"]}))
        self.assertEqual((response.message, response.trailers, seen), ({"a": "é"}, {"cost": ["7"]}, {"k": ["v", "w"]}))
        long = "x" * 500_000
        self.assertEqual(await self.within(self.client.call("test.Echo.Say", long)), long)
        self.assertEqual(
            await self.within(asyncio.gather(*[self.client.call("test.Echo.Say", i) for i in range(500)])), list(range(500))
        )
        for method, status, text in [
            ("Fail", ferry.CallCode.NOT_FOUND, "no k"),
            ("Raise", ferry.CallCode.UNKNOWN, "KeyError: 'k'"),
            ("None", ferry.CallCode.UNIMPLEMENTED, "no method test.Echo.None"),
        ]:
            with self.assertLogs("ferry_client") if method == "Raise" else self.assertNoLogs("ferry_client"):
                with self.assertRaises(ferry.CallError) as failed:
                    await self.within(self.client.call("test.Echo." + method))
            self.assertEqual((failed.exception.status, failed.exception.message), (status, text))
        with self.assertRaises(ferry.CallError) as late:
            await self.within(self.client.call("test.Echo.Wait", timeout=0.05))
        self.assertEqual(late.exception.status, ferry.CallCode.DEADLINE_EXCEEDED)
        began.clear()
        cancelled.clear()
        calling = asyncio.create_task(self.client.call("test.Echo.Wait"))
        await self.within(began.wait())
        calling.cancel()
        await self.within(cancelled.wait())

        async with await self.within(self.client.stream("test.Echo.Repeat")) as stream:

            async def feed() -> None:
                for i in range(200):
                    await stream.send(f"{i:03d}" * 2000)  # more than the windows, both ways
                await stream.end()

            feeding = asyncio.create_task(feed())
            got = [response[:3] async for response in stream]
            await feeding
        self.assertEqual(got, [f"{i:03d}" for i in range(200) for _ in range(2)])

        async with await self.within(self.client.stream("test.Echo.Repeat")) as stream:
            await stream.send("one")
            async for response in stream:
                stream.cancel()
                break
            with self.assertRaises(ferry.CallError):
                await stream.send("two")
        await self.within(server.withdraw(service))
        with self.assertRaises(ferry.CallError) as gone:
            await self.within(self.client.call("test.Echo.Say", 1))
        self.assertIn(gone.exception.status, (ferry.CallCode.UNAVAILABLE, ferry.CallCode.UNIMPLEMENTED))

    async def code_of(self, method: str, request: object = None) -> ferry.CallCode | None:
        """Calls a method, and returns the code of its error, None if it has none."""
        try:
            await self.within(self.client.call(method, request))
        except ferry.CallError as error:
            return error.status
        return None

    async def offered(self, method: str, request: object) -> None:
        """Waits until a service is offered."""
        while (code := await self.code_of(method, request)) is not None:
            self.assertIn(code, (ferry.CallCode.UNAVAILABLE, ferry.CallCode.UNIMPLEMENTED))
            await asyncio.sleep(0.01)

    async def test_serve_forever(self) -> None:
        server = await self.connect()
        service = ferry.Service("test.Forever")

        @service.unary("Say")
        async def say(request, call):
            return request

        serving = asyncio.create_task(server.serve_forever(service))
        await self.offered("test.Forever.Say", 1)
        self.assertFalse(serving.done())
        await self.within(server.close())
        await self.within(serving)

    async def test_a_node_that_comes_back(self) -> None:
        subscription = await self.within(self.client.subscribe("back"))
        service = ferry.Service("back.Echo")

        @service.unary("Say")
        async def say(request, call):
            return request

        await self.within(self.client.serve(service))
        publisher = await self.within(self.client.publisher("orders/back"))
        durable = await self.within(self.client.durable("orders/back", "back"))
        for how, first in ((signal.SIGTERM, 0), (signal.SIGKILL, 100)):
            with self.subTest(how):
                connects = self.client.connects
                sending = asyncio.create_task(self.send_while(publisher, range(first, first + 100)))
                await asyncio.to_thread(self.node.stop, how)
                await asyncio.to_thread(self.node.start)
                await self.within(sending)
                await self.within(publisher.flush())
                self.assertGreater(self.client.connects, connects)
                await self.client.publish("back", b"x")
                self.assertEqual((await self.within(subscription.get())).payload, b"x")
                self.assertEqual(await self.within(self.client.call("back.Echo.Say", 1)), 1)
        want = {b"%d" % n for n in range(200)}
        async with durable:
            while want:
                message = await self.within(durable.get())
                want.discard(message.payload)
                durable.ack(message)

    async def send_while(self, publisher: ferry.Publisher, numbers: range) -> None:
        for n in numbers:
            await publisher.send(b"%d" % n, id=f"n{n}")
            await asyncio.sleep(0.001)

    async def test_examples(self) -> None:
        """Each example runs as it stands, but for its address and its token."""
        environ = {**os.environ, "FERRY_ADDRESS": self.node.tcp, "FERRY_TOKEN_FILE": str(self.node.dir / "data" / "token")}
        environ["PYTHONPATH"] = str(EXAMPLES.parent)
        greeter = await asyncio.create_subprocess_exec(sys.executable, str(EXAMPLES / "greeter.py"), env=environ, stderr=subprocess.PIPE)
        await self.offered("python.Greeter.Hello", {"name": "Al"})
        for program in sorted(set(EXAMPLES.glob("*.py")) - {EXAMPLES / "greeter.py"}):
            with self.subTest(program.name):
                run = await asyncio.create_subprocess_exec(
                    sys.executable, str(program), env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE
                )
                out, errors = await self.within(run.communicate())
                want = re.search(r'"""(?:.|\n)*?Prints:\n\n((?:    .*\n)+)', program.read_text())
                assert want is not None
                self.assertEqual((out.decode(), errors.decode()), (re.sub(r"(?m)^    ", "", want.group(1)), ""))
        async with await self.within(self.client.stream("python.Greeter.Next")) as call:
            await call.send(1)
            responses = aiter(call)
            self.assertEqual(await self.within(anext(responses)), 2)
            greeter.send_signal(signal.SIGTERM)  # the call ends, and then the program
            while await self.code_of("python.Greeter.Hello", {"name": "Al"}) is None:
                await asyncio.sleep(0.01)
            await call.send(2)
            await call.end()
            self.assertEqual([n async for n in responses], [3])
        _, errors = await self.within(greeter.communicate())
        self.assertEqual((greeter.returncode, errors), (0, b""))


if __name__ == "__main__":
    unittest.main()
