"""Frames and their fields, against the vectors of protocol/native."""

import random
import unittest
from pathlib import Path

from ferry_client import wire
from ferry_client.message import Message, stored_fields

VECTORS = Path(__file__).parents[3] / "protocol" / "native" / "testdata" / "vectors.txt"


def vectors() -> dict[str, bytes]:
    """Returns the frames that the file lists, by their descriptions. All are different."""
    found: dict[str, bytes] = {}
    lines = VECTORS.read_text().splitlines()
    for comment, line in zip(lines, lines[1:]):
        if comment.startswith("# ") and line and not line.strip("0123456789abcdef"):
            found[comment[2:]] = bytes.fromhex(line)
    return found


class VectorsTest(unittest.TestCase):
    def test_frames_are_written_as_the_file_says(self) -> None:
        want = vectors()
        meta = wire.named_entry(wire.EXT_METADATA, "k", b"v")
        rows = {
            "PING 42": wire.ping(42),
            "PING 42, the response": wire.ping(42, True),
            'GOAWAY draining, "bye"': wire.goaway(1, "bye"),
            'TAG ref 1, "sensors/a"': wire.tag(1, "sensors/a"),
            'SUB 3, drop oldest, window 64 KiB, queue 4 KiB, "sensors/#", group "g", where "v > 30"': wire.sub(
                3, policy=1, window=65536, queue=4096, filter="sensors/#", group="g", where="v > 30"
            ),
            'SUB 4, addressed, window 1 KiB, "answers"': wire.sub(4, policy=0, window=1024, queue=0, filter="answers", addressed=True),
            "UNSUB 3": wire.unsub(3),
            "UNSUB 3, what it holds was not tried": wire.unsub(3, not_tried=True),
            "CREDIT subscription 3, tag 5, 32768 bytes": wire.credit(3, 5, 32768),
            'METHOD 0 is "greeter.Greeter.Hello" with "application/json"': wire.method(0, "greeter.Greeter.Hello", "application/json"),
            'CALL 1 of method 0, at most 250 ms, one request: {"name":"Bo"}': wire.call(1, 0, 250, b"", b'{"name":"Bo"}', wire.CALL_END),
            "DATA of call 3, no message, the caller's end": wire.data(3, b"", b"", wire.CALL_END | wire.CALL_NO_MESSAGE),
            "REPLY to call 1, ok: {}": wire.reply(1, 0, b"", b"{}", 0),
            "CANCEL call 3, code 1 (cancelled)": wire.cancel(3, 1),
            "CALLCREDIT of call 3, 4096 bytes": wire.call_credit(3, 4096),
            "OFFER 1 of greeter.Greeter": wire.offer(1, "greeter.Greeter"),
            'SUB 3, window 64 KiB, "orders/#", durable "billing", which handles 8 messages at a time': wire.sub(
                3, policy=0, window=65536, queue=0, filter="orders/#", durable="billing", concurrency=8
            ),
            'SUB 3, window 64 KiB, "orders/#", where "v > 30", from the first message, durable "billing"': wire.sub(
                3, policy=0, window=65536, queue=0, filter="orders/#", where="v > 30", start=2, durable="billing"
            ),
            "ACK subscription 3, messages 9 to 12": wire.ack(3, [(9, 4)]),
            "ACK subscription 3, all messages are in progress": wire.in_progress(3),
            'NAK subscription 3, message 13, again in 1 s, "no customer"': wire.nak(3, [(13, 1)], 1000, "no customer"),
            'NAK subscription 3, message 14 never again, "no order"': wire.nak(3, [(14, 1)], 0, "no order", wire.NAK_REJECT),
            "NAK subscription 3, messages 15 to 20 were not tried": wire.nak(3, [(15, 6)], flags=wire.NAK_NOT_TRIED),
            "UNTAG 5": wire.untag(5),
        }
        for name, frame in rows.items():
            with self.subTest(name):
                self.assertEqual(frame.hex(), want[name].hex())
        frame = wire.call(3, 1, 0, meta, b"", wire.CALL_NO_MESSAGE)
        self.assertEqual(frame[:6] + b"\x02" + frame[7:], want["CALL 3 of method 1, zstd, metadata k: v, no request yet"])

    def test_a_stored_message_is_read(self) -> None:
        body = vectors()['PUB by name "orders/17", time 1, raw "x", sequence number 9, delivered 2 times before, key "k1", idempotency key "o-17"']
        words = body[7]
        f = wire.Fields(body[24:])
        self.assertEqual(stored_fields(f.extension(words, True)), ("orders/17", 9, 2, b"k1", b"o-17"))
        self.assertEqual(f.rest(), b"x")

    def test_a_dead_letter_tells_where_it_comes_from(self) -> None:
        name = (
            'PUB by name "dead/orders", time 1, raw "x", sequence number 1, a dead letter: message 9 of "orders" on "orders/17", '
            'delivered 5 times, "no customer"'
        )
        body = vectors()[name]
        extension = wire.Fields(body[24:]).extension(body[7], True)
        letter = Message("dead/orders", b"x", 0, 1, 0, extension=extension).dead_letter()
        self.assertEqual(letter, ("orders", 9, 5, "orders/17", "no customer"))
        self.assertIsNone(Message("a", b"x", 0, 1, 0).dead_letter())


class FieldsTest(unittest.TestCase):
    def test_ranges(self) -> None:
        for numbers, want in [([], []), ([3], [(3, 1)]), ([1, 2, 3, 7, 9, 10], [(1, 3), (7, 1), (9, 2)])]:
            with self.subTest(numbers):
                self.assertEqual(wire.ranges(numbers), want)

    def test_an_extension_is_cut_at_each_byte(self) -> None:
        whole = wire.entry(5, b"key") + wire.entry(9, b"id") + wire.named_entry(16, "a", b"b")
        self.assertEqual(wire.entries(whole + b"\0\0"), [(5, b"key"), (9, b"id"), (16, b"\x01ab")])
        ends = {0, 6, 11, len(whole)}
        for n in range(len(whole)):
            if n in ends:
                continue
            with self.subTest(n), self.assertRaises(wire.Malformed):
                wire.entries(whole[:n])

    def test_random_bytes_are_entries_or_malformed(self) -> None:
        rng = random.Random(1)
        for _ in range(2000):
            data = rng.randbytes(rng.randrange(40))
            try:
                wire.entries(data)
            except wire.Malformed:
                pass

    def test_a_long_extension_has_a_length_of_its_own(self) -> None:
        frame = wire.reply(1, 0, wire.entry(16, b"x" * 2000), b"{}", 0)
        self.assertEqual(frame[7], 255)
        f = wire.Fields(frame[8:])
        f.skip(8)
        self.assertEqual(wire.entries(f.extension(255, True)), [(16, b"x" * 2000)])
        self.assertEqual(f.rest(), b"{}")

    def test_a_reason_is_cut_within_utf8(self) -> None:
        self.assertEqual(wire.cut("aé", 2), b"a")
        self.assertEqual(wire.cut("aé", 3), "aé".encode())


if __name__ == "__main__":
    unittest.main()
