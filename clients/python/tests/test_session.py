"""The client against a node whose every frame is scripted."""

import asyncio
import random
import struct
import unittest
from unittest import mock

import ferry_client as ferry
from ferry_client import connection, wire
from tests.fake import LIMIT, Node, Peer, named, pub, result, stored, welcome


def credit_of(body: bytes) -> tuple[int, int, int]:
    return struct.unpack(">III", body)


class Case(unittest.IsolatedAsyncioTestCase):
    async def within(self, awaitable):
        return await asyncio.wait_for(awaitable, LIMIT)


class PublishTest(Case):
    async def test_credit_is_respected(self) -> None:
        sent = []

        async def script(peer: Peer) -> None:
            await peer.welcome(window=100)
            await peer.grant(number=5)
            sent.append(await peer.expect(wire.PUB))
            sent.append(await peer.expect(wire.PUB))  # 64 + 64: the last one may exceed the window
            peer.send(wire.ping(9))  # nothing comes before its response
            self.assertEqual(await peer.expect(wire.PING), (9).to_bytes(8, "big"))
            peer.send(wire.credit(0, 5, 28))  # 100 - 128 + 28: still none left
            peer.send(wire.ping(10))
            self.assertEqual(await peer.expect(wire.PING), (10).to_bytes(8, "big"))
            peer.send(wire.credit(0, 5, 1))
            sent.append(await peer.expect(wire.PUB))
            await peer.ended()

        async with Node(script) as node:
            client = await self.within(ferry.connect(node.address, reconnect=False))
            publisher = await self.within(client.publisher("a", type=ferry.Type.JSON))
            for i in range(3):
                await self.within(publisher.send(b"%040d" % i, time=i + 1))
            while len(sent) < 3:
                await asyncio.sleep(0.001)
            client._link.abort()
        self.assertEqual([body[16:] for body in sent], [b"%040d" % i for i in range(3)])
        self.assertEqual(struct.unpack_from(">IIq", sent[1]), (5, 1, 2))

    async def test_stored_messages_are_sent_again_before_newer_ones(self) -> None:
        again = []

        async def first(peer: Peer) -> None:
            await peer.welcome()
            await peer.grant(number=1, stored=True)
            for _ in range(3):
                await peer.expect(wire.PUB)
            peer.send(wire.credit(0, 1, 25))  # the first one is stored
            peer.send(wire.ping(9))
            await peer.expect(wire.PING)

        async def second(peer: Peer) -> None:
            await peer.welcome(source=8)
            await peer.grant(number=2, stored=True)
            for _ in range(3):
                again.append(await peer.expect(wire.PUB))
                peer.send(wire.credit(0, 2, len(again[-1]) + 8))
            kind, _, body = await peer.frame()
            while kind != wire.GOAWAY:
                if kind == wire.PING:
                    peer.send(wire.frame(wire.PING, body, 1))
                kind, _, body = await peer.frame()

        async with Node(first, second) as node:
            client = await self.within(ferry.connect(node.address))
            publisher = await self.within(client.publisher("a"))
            self.assertTrue(publisher.stored)
            for payload, id in ((b"1", ""), (b"2", ""), (b"3", "id3")):
                await publisher.send(payload, id=id)
            while not again:
                await asyncio.sleep(0.001)
            await self.within(publisher.send_stored(b"4"))
            await self.within(client.close())
        self.assertEqual([body[16:] for body in again[::2]], [b"2", b"4"])
        self.assertEqual(again[1][16:], wire.padded(wire.entry(wire.EXT_ID, b"id3")) + b"3")
        self.assertEqual({struct.unpack_from(">II", body) for body in again}, {(2, 8)})

    async def test_a_notice_names_the_oldest_copies(self) -> None:
        async def script(peer: Peer) -> None:
            await peer.welcome()
            await peer.grant(number=1, stored=True)
            for _ in range(3):
                await peer.expect(wire.PUB)
            notice = struct.pack(">IIH", 1, 1, wire.Code.INVALID_PAYLOAD) + wire.text("bad")
            peer.send(wire.credit(0, 1, 25), wire.frame(wire.NOTICE, notice), wire.credit(0, 1, 25), wire.credit(0, 1, 25))
            await peer.ended()

        async with Node(script) as node:
            client = await self.within(ferry.connect(node.address, reconnect=False))
            publisher = await self.within(client.publisher("a"))
            sending = [asyncio.create_task(publisher.send_stored(payload)) for payload in (b"1", b"2", b"3")]
            done = await self.within(asyncio.gather(*sending, return_exceptions=True))
            client._link.abort()
        self.assertIsNone(done[0])
        self.assertIsInstance(done[1], ferry.Dropped)
        self.assertEqual(done[1].code, ferry.Code.INVALID_PAYLOAD)
        self.assertIsNone(done[2])

    async def test_a_message_above_the_frame_of_the_node_is_refused(self) -> None:
        async def script(peer: Peer) -> None:
            await peer.welcome(max_frame=1024)
            await peer.grant()
            self.assertEqual(len(await peer.expect(wire.PUB)), 1024 - 8)
            await peer.ended()

        async with Node(script) as node:
            client = await self.within(ferry.connect(node.address, reconnect=False))
            publisher = await self.within(client.publisher("a"))
            for send in (publisher.send(b"x" * 1001), publisher.send_many([b"x" * 1001])):
                with self.assertRaises(ferry.TooLarge):
                    await self.within(send)
            await publisher.send(b"x" * 1000)
            with self.assertRaises(TypeError):
                await publisher.send("text")  # type: ignore[arg-type]
            while client._link.out:
                await asyncio.sleep(0)
            client._link._transport.close()

    async def test_a_refused_tag_and_one_that_is_given_back(self) -> None:
        async def script(peer: Peer) -> None:
            await peer.welcome()
            ref = int.from_bytes((await peer.expect(wire.TAG))[:4], "big")
            peer.send(result(wire.TAG, ref, code=wire.Code.FORBIDDEN, reason="no"))
            await peer.grant(number=3)
            self.assertEqual(await peer.expect(wire.UNTAG), (3).to_bytes(4, "big"))
            peer.send(wire.credit(0, 3, 10))  # crosses UNTAG
            await peer.grant(number=3)
            await peer.expect(wire.PUB)

        async with Node(script) as node:
            client = await self.within(ferry.connect(node.address, reconnect=False))
            with self.assertRaises(ferry.Forbidden) as refused:
                await self.within(client.publisher("a"))
            self.assertEqual(refused.exception.reason, "no")
            publisher = await self.within(client.publisher("a"))
            self.assertIs(await client.publisher("a"), publisher)
            await publisher.close()
            await publisher.close()
            with self.assertRaises(ferry.ClosedError):
                await publisher.send(b"x")
            await self.within((await self.within(client.publisher("a"))).send(b"x"))
            await self.within(client._link.ended)

    async def test_a_cancelled_request_for_a_tag_disturbs_no_other(self) -> None:
        async def script(peer: Peer) -> None:
            await peer.welcome()
            await peer.expect(wire.TAG)
            requested.set()
            await peer.grant(number=2)

        requested = asyncio.Event()
        async with Node(script) as node:
            client = await self.within(ferry.connect(node.address, reconnect=False))
            first, second = (asyncio.create_task(client.publisher("a")) for _ in range(2))
            await self.within(requested.wait())
            first.cancel()
            self.assertEqual((await self.within(second)).tag, "a")
            await asyncio.gather(first, return_exceptions=True)
            self.assertTrue(first.cancelled())
            await self.within(client._runner)


class SubscribeTest(Case):
    async def test_messages_arrive_however_their_bytes_do(self) -> None:
        frames = named(1, "a/1") + named(2, "a/2")
        want = []
        for i in range(60):
            number, size = 1 + i // 7 % 2, 50 if i % 10 < 6 else i
            extension = wire.entry(wire.EXT_KEY, b"k%d" % i) if i % 9 == 0 else b""
            frames += pub(number, b"%0*d" % (size, i), time=i, type=4, extension=extension)
            want.append(("a/%d" % number, b"%0*d" % (size, i), i, b"k%d" % i if extension else b""))
        frames += pub(1, b"x" * 900_000)  # longer than a read

        for step in (1, 7, 290, len(frames)):
            with self.subTest(step=step):

                async def script(peer: Peer) -> None:
                    await peer.welcome()
                    await peer.subscribed()
                    for at in range(0, min(len(frames), 20_000), step):
                        peer.send(frames[at : at + step])
                        if at % 100 < step:
                            await peer.writer.drain()
                            await asyncio.sleep(0)
                    peer.send(frames[(min(len(frames), 20_000) + step - 1) // step * step :])
                    await peer.ended()

                async with Node(script) as node:
                    client = await self.within(ferry.connect(node.address, reconnect=False))
                    subscription = await self.within(client.subscribe("a/#"))
                    got = [await self.within(subscription.get()) for _ in range(61)]
                    client._link._transport.close()
                self.assertEqual([(m.tag, m.payload, m.time, m.key) for m in got[:60]], want)
                self.assertEqual(got[60].payload, b"x" * 900_000)
                self.assertEqual({(m.source, m.type) for m in got[:60]}, {(7, 4)})

    async def test_credit_comes_back_as_messages_are_taken(self) -> None:
        async def script(peer: Peer) -> None:
            await peer.welcome()
            ref, body = await peer.subscribed()
            self.assertEqual(struct.unpack_from(">IB3xI", body), (ref, 0, 1000))
            peer.send(named(4, "a"))
            for _ in range(5):
                peer.send(pub(4, b"x" * 76))
            peer.send(wire.ping(1))
            self.assertEqual(await peer.expect(wire.PING), (1).to_bytes(8, "big"))  # 500 bytes arrived: none were taken
            taken.set()
            self.assertEqual(credit_of(await peer.expect(wire.CREDIT)), (ref, 4, 500))
            self.assertEqual(await peer.expect(wire.UNSUB), ref.to_bytes(4, "big"))
            await peer.ended()

        taken = asyncio.Event()
        async with Node(script) as node:
            client = await self.within(ferry.connect(node.address, reconnect=False))
            subscription = await self.within(client.subscribe("a", window=1000))
            await self.within(taken.wait())
            for _ in range(5):
                await self.within(subscription.get())
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(subscription.get(), 0.01)
            await subscription.close()
            with self.assertRaises(ferry.ClosedError):
                await subscription.get()
            while client._link.out:
                await asyncio.sleep(0)
            client._link._transport.close()

    async def test_the_node_ends_a_subscription(self) -> None:
        async def script(peer: Peer) -> None:
            await peer.welcome()
            ref, _ = await peer.subscribed()
            peer.send(named(1, "a"), pub(1, b"last"), result(wire.SUB, ref, code=wire.Code.FORBIDDEN, reason="revoked"))
            await peer.ended()

        async with Node(script) as node:
            client = await self.within(ferry.connect(node.address, reconnect=False))
            subscription = await self.within(client.subscribe("a"))
            self.assertEqual((await self.within(subscription.get())).payload, b"last")
            with self.assertRaises(ferry.Forbidden):
                await self.within(subscription.get())
            client._link._transport.close()

    async def test_a_replay_goes_on_behind_its_last_message(self) -> None:
        async def first(peer: Peer) -> None:
            await peer.welcome()
            _, body = await peer.subscribed(stored=True)
            self.assertEqual(body[-14:], b"\x02" + bytes(13))
            peer.send(stored("o/1", 7, b"a"), stored("o/2", 9, b"b"))
            peer.send(wire.ping(1))
            await peer.expect(wire.PING)

        async def second(peer: Peer) -> None:
            await peer.welcome()
            _, body = await peer.subscribed(stored=True)
            self.assertEqual(body[-14:], b"\x03" + struct.pack(">3xQH", 10, 0))
            peer.send(stored("o/1", 11, b"c"))
            await peer.ended()

        async with Node(first, second) as node:
            client = await self.within(ferry.connect(node.address))
            subscription = await self.within(client.replay("o/#"))
            got = [await self.within(subscription.get()) for _ in range(3)]
            self.assertEqual([(m.tag, m.sequence, m.payload) for m in got], [("o/1", 7, b"a"), ("o/2", 9, b"b"), ("o/1", 11, b"c")])
            self.assertEqual(client.connects, 2)
            client._reconnect = False
            client._link._transport.close()

    async def test_a_replay_goes_on_where_it_has_begun(self) -> None:
        async def first(peer: Peer) -> None:
            await peer.welcome()
            _, body = await peer.subscribed(stored=True, start=41)
            self.assertEqual(body[-14:], b"\x01" + bytes(13))
            peer.send(wire.ping(1))
            await peer.expect(wire.PING)

        async def second(peer: Peer) -> None:
            await peer.welcome()
            _, body = await peer.subscribed(stored=True, start=5)  # the stream has begun again
            self.assertEqual(body[-14:], b"\x03" + struct.pack(">3xQH", 41, 0))
            peer.send(wire.ping(1))
            await peer.expect(wire.PING)

        async def third(peer: Peer) -> None:
            await peer.welcome()
            _, body = await peer.subscribed(stored=True, start=5)
            self.assertEqual(body[-14:], b"\x03" + struct.pack(">3xQH", 5, 0))
            peer.send(stored("o/1", 5, b"a"))
            await peer.ended()

        async with Node(first, second, third) as node:
            client = await self.within(ferry.connect(node.address))
            subscription = await self.within(client.replay("o/#", start="new"))
            self.assertEqual((await self.within(subscription.get())).sequence, 5)
            client._reconnect = False
            client._link._transport.close()

    async def test_a_node_without_stored_streams(self) -> None:
        async def script(peer: Peer) -> None:
            await peer.welcome()
            ref, _ = await peer.subscribed(stored=False)
            self.assertEqual(await peer.expect(wire.UNSUB), ref.to_bytes(4, "big"))

        async def old(peer: Peer) -> None:
            await peer.welcome(version=1)
            await peer.ended()

        async with Node(script, old) as node:
            for _ in range(2):
                client = await self.within(ferry.connect(node.address, reconnect=False))
                with self.assertRaises(ferry.FerryError):
                    await self.within(client.durable("o/#", "d"))
                await asyncio.sleep(0)
                client._link._transport.close()


class DurableTest(Case):
    async def test_later_messages_of_a_failed_key_wait_for_it(self) -> None:
        frames = []

        async def script(peer: Peer) -> None:
            await peer.welcome()
            await peer.subscribed(stored=True, wait_ms=30_000)
            peer.send(stored("o", 1, b"1", key=b"k"), stored("o", 2, b"2", key=b"k"), stored("o", 3, b"3", key=b"j"))
            while len(frames) < 3:
                frames.append(await peer.frame(wire.PING, wire.CREDIT))
            peer.send(stored("o", 1, b"1", deliveries=1, key=b"k"), stored("o", 2, b"2", key=b"k"))
            while frames[-1][0] != wire.UNSUB:
                frames.append(await peer.frame(wire.PING, wire.CREDIT))
            await peer.ended()

        handled = []

        async def handle(m: ferry.Message) -> None:
            handled.append((m.sequence, m.deliveries))
            if handled == [(1, 0)]:
                raise ferry.Retry("not now", delay=1.5)

        async with Node(script) as node:
            client = await self.within(ferry.connect(node.address, reconnect=False))
            durable = await self.within(client.durable("o/#", "d"))
            self.assertEqual(durable.ack_wait, 30)
            running = asyncio.create_task(durable.run(handle))
            while len(handled) < 4:
                await asyncio.sleep(0.001)
            await asyncio.sleep(0)
            await self.within(durable.close())
            await self.within(running)
            await asyncio.sleep(0)  # for the write
            client._link._transport.close()
        self.assertEqual(handled, [(1, 0), (3, 0), (1, 1), (2, 0)])
        naks = [(flags, body[4:8], body[-12:]) for kind, flags, body in frames if kind == wire.NAK]
        self.assertEqual(
            naks,
            [
                (0, (1500).to_bytes(4, "big"), struct.pack(">QI", 1, 1)),
                (wire.NAK_NOT_TRIED, bytes(4), struct.pack(">QI", 2, 1)),
            ],
        )

    async def test_acks_travel_together(self) -> None:
        acks = []

        async def script(peer: Peer) -> None:
            await peer.welcome()
            await peer.subscribed(stored=True)
            peer.send(*[stored("o", n, b"x", key=b"%d" % n) for n in range(1, 101)])
            acks.append(await peer.frame(wire.PING, wire.CREDIT))
            await peer.ended()

        async with Node(script) as node:
            client = await self.within(ferry.connect(node.address, reconnect=False))
            durable = await self.within(client.durable("o/#", "d"))
            got: list[ferry.Message] = []
            while len(got) < 100:
                got.append(await self.within(durable.get()))
            durable.ack_all(got)
            durable.ack(*got)  # a second one says nothing new
            while not acks:
                await asyncio.sleep(0.001)
            client._link._transport.close()
        kind, flags, body = acks[0]
        self.assertEqual((kind, flags, body[4:]), (wire.ACK, 0, struct.pack(">QI", 1, 100)))

    async def test_a_draining_node_gets_back_what_was_not_tried(self) -> None:
        frames = []

        async def first(peer: Peer) -> None:
            await peer.welcome()
            await peer.subscribed(stored=True)
            peer.send(*[stored("o", n, b"x", key=b"%d" % n) for n in (1, 2, 3)])
            await asyncio.wait_for(taken.wait(), LIMIT)
            peer.send(wire.goaway(wire.Code.DRAINING, "bye"))
            while not frames or frames[-1][0] != wire.GOAWAY:
                frames.append(await peer.frame())
                if frames[-1][0] == wire.PING:
                    peer.send(wire.frame(wire.PING, frames[-1][2], 1))

        async def second(peer: Peer) -> None:
            await peer.welcome()
            await peer.subscribed(stored=True)
            again.set()
            await peer.ended()

        taken, again = asyncio.Event(), asyncio.Event()
        async with Node(first, second) as node:
            client = await self.within(ferry.connect(node.address))
            durable = await self.within(client.durable("o/#", "d"))
            message = await self.within(durable.get())
            taken.set()
            while not client._link.draining:
                await asyncio.sleep(0.001)
            durable.ack(message)
            await self.within(again.wait())
            client._reconnect = False
            client._link._transport.close()
        kinds = [(kind, flags) for kind, flags, _ in frames if kind not in (wire.CREDIT, wire.PING)]
        self.assertEqual(kinds, [(wire.NAK, wire.NAK_NOT_TRIED), (wire.ACK, 0), (wire.GOAWAY, 0)])
        self.assertEqual(frames[0][2][-12:], struct.pack(">QI", 2, 2))


class HostileTest(Case):
    async def test_a_violation_ends_the_connection(self) -> None:
        sub = wire.frame(wire.SELECT, (1).to_bytes(4, "big"))
        rows = {
            "a frame of length 0": (bytes(8), wire.Code.PROTOCOL_ERROR),
            "a frame above the maximum": (struct.pack(">IBBBB", 5 << 20, wire.PUB, 0, 0, 0), wire.Code.TOO_LARGE),
            "4 GiB": (b"\xff" * 8, wire.Code.TOO_LARGE),
            "an unknown kind": (wire.frame(99), wire.Code.PROTOCOL_ERROR),
            "a frame of clients": (wire.tag(1, "a")[:4] + b"\x06" + wire.tag(1, "a")[5:], wire.Code.PROTOCOL_ERROR),
            "a second WELCOME": (welcome(), wire.Code.PROTOCOL_ERROR),
            "a PUB before SELECT": (named(1, "a") + pub(1, b""), wire.Code.PROTOCOL_ERROR),
            "a PUB without a tag": (sub + pub(9, b""), wire.Code.PROTOCOL_ERROR),
            "a PUB by name without a name": (sub + pub(wire.BY_NAME, b"x"), wire.Code.PROTOCOL_ERROR),
            "a short PUB": (sub + named(1, "a") + struct.pack(">IBBBB", 8, wire.PUB, 0, 0, 0) + bytes(99), wire.Code.PROTOCOL_ERROR),
            "an extension that is longer than its frame": (
                sub + named(1, "a") + struct.pack(">IBBBBIIq", 20, wire.PUB, 0, 0, 9, 1, 1, 1),
                wire.Code.PROTOCOL_ERROR,
            ),
            "a text that is no UTF-8": (wire.frame(wire.TAG, bytes(4) + b"\0\x01\xff"), wire.Code.PROTOCOL_ERROR),
            "a text that is longer than its frame": (wire.frame(wire.TAG, bytes(4) + b"\0\x09a"), wire.Code.PROTOCOL_ERROR),
            "a short RESULT": (wire.frame(wire.RESULT, bytes(5)), wire.Code.PROTOCOL_ERROR),
            "a METHOD above 1023": (wire.method(1024, "a.B", ""), wire.Code.PROTOCOL_ERROR),
            "a CALL with an odd number": (wire.method(0, "a.B", "") + wire.call(1, 0, 0, b"", b"", wire.CALL_END), wire.Code.PROTOCOL_ERROR),
            "a CALL without a METHOD": (wire.call(2, 7, 0, b"", b"", wire.CALL_END), wire.Code.PROTOCOL_ERROR),
            "a METHOD that ends within its name": (wire.frame(wire.METHOD, b"\0\0\0\0\0\xffa"), wire.Code.PROTOCOL_ERROR),
        }
        for name, (frames, code) in rows.items():
            with self.subTest(name):
                got = []

                async def script(peer: Peer) -> None:
                    await peer.welcome(calls=1, call_window=1, stream_window=1)
                    peer.send(frames)
                    got.append(await peer.expect(wire.GOAWAY))
                    await peer.ended()

                async with Node(script) as node:
                    client = await self.within(ferry.connect(node.address, reconnect=False))
                    link = client._link
                    if link is not None:
                        await self.within(asyncio.wait([link.ended]))
                    await self.within(client._runner)
                    self.assertIsInstance(client.error, ferry.ProtocolError)
                    with self.assertRaises(ferry.ProtocolError):
                        await self.within(client.publish("a", b"x"))
                self.assertEqual(int.from_bytes(got[0][:2], "big"), code)

    async def test_what_is_no_welcome(self) -> None:
        rows = {
            "nothing": b"",
            "another protocol": b"HTTP/1.1 400 Bad Request\r\n\r\n",
            "half of it": welcome()[:20],
            "another version": welcome(version=9),
            "data streams": welcome(data_streams=2),
            "no heartbeat": welcome(heartbeat=0),
            "frames that hold nothing": welcome(max_frame=23),
            "a frame before it": wire.ping(1),
            "one that is too long": struct.pack(">IBBBB", 9000, wire.WELCOME, 0, 0, 0) + bytes(9000),
        }
        for name, frames in rows.items():
            with self.subTest(name):

                async def script(peer: Peer) -> None:
                    await peer.expect(wire.HELLO)
                    peer.send(frames)

                async with Node(script) as node:
                    with self.assertRaises((ferry.ConnectionLost, ferry.ProtocolError)):
                        await self.within(ferry.connect(node.address))

    async def test_refused_with_goaway(self) -> None:
        async def script(peer: Peer) -> None:
            await peer.expect(wire.HELLO)
            peer.send(wire.goaway(wire.Code.UNAUTHENTICATED, "who?"))

        async with Node(script) as node:
            with self.assertRaises(ferry.Unauthenticated):
                await self.within(ferry.connect(node.address))

    async def test_no_node(self) -> None:
        server = await asyncio.start_server(lambda r, w: None, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        server.close()
        await server.wait_closed()
        with self.assertRaisesRegex(ferry.ConnectionLost, "is the node running"):
            await self.within(ferry.connect(f"tcp://127.0.0.1:{port}"))
        for address in ("127.0.0.1:1", "udp://h", "tcp://", "unix://"):
            with self.assertRaises(ValueError):
                await ferry.connect(address)
        with self.assertRaises(ValueError):
            await ferry.connect("tcp://127.0.0.1:1", ca_file="ca.pem")

    async def test_silence_and_half_a_frame(self) -> None:
        for name, frames in {"silence": b"", "half a frame": pub(1, b"x" * 500)[:100]}.items():
            with self.subTest(name):
                got = []

                async def script(peer: Peer) -> None:
                    await peer.welcome(heartbeat=400 if frames else 30)
                    peer.send(frames)
                    while not got:
                        kind, _, body = await peer.frame()
                        if kind == wire.GOAWAY:
                            got.append(int.from_bytes(body[:2], "big"))
                    await peer.ended()

                async with Node(script) as node:
                    client = await self.within(ferry.connect(node.address, reconnect=False))
                    with mock.patch.object(connection, "HANDSHAKE_TIMEOUT", 0.2):
                        await self.within(client._runner)
                self.assertIsInstance(client.error, ferry.ConnectionLost)
                self.assertEqual(got, [wire.Code.TIMEOUT])

    async def test_what_is_not_taken_is_bounded(self) -> None:
        limit, size = 1 << 20, 64 << 10
        sent = 0

        async def script(peer: Peer) -> None:
            nonlocal sent
            await peer.welcome()
            await peer.subscribed()
            peer.send(named(1, "a"))
            frame = pub(1, b"x" * size)
            while sent < 64 << 20:
                peer.send(frame)
                sent += size
                try:
                    await asyncio.wait_for(peer.writer.drain(), 0.5)
                except asyncio.TimeoutError:
                    break  # the client reads no more
            resumed.set()
            await peer.ended()

        resumed = asyncio.Event()
        async with Node(script) as node:
            client = await self.within(ferry.connect(node.address, reconnect=False, max_buffered=limit))
            subscription = await self.within(client.subscribe("a"))
            await self.within(resumed.wait())
            self.assertLess(client._link._buffered, limit + 2 * connection.READ_BUFFER)
            got = 0
            while got < sent:
                got += len((await self.within(subscription.get())).payload)
            client._link._transport.close()

    async def test_random_frames_never_hang(self) -> None:
        rng = random.Random(7)
        base = [wire.ping(1), named(1, "a"), pub(1, b"x" * 30), result(1, 1), wire.credit(0, 1, 5), wire.reply(1, 0, b"", b"{}", 0), wire.goaway(0)]
        for round in range(30):
            data = bytearray(b"".join(rng.choices(base, k=8)))
            for _ in range(3):
                data[rng.randrange(len(data))] = rng.randrange(256)

            async def script(peer: Peer) -> None:
                await peer.welcome(calls=5, call_window=100, stream_window=100)
                peer.send(bytes(data))

            with self.subTest(round=round):
                async with Node(script) as node:
                    client = await self.within(ferry.connect(node.address, reconnect=False))
                    await self.within(client._runner)
                self.assertIsInstance(client.error, ferry.FerryError)


if __name__ == "__main__":
    unittest.main()
