"""One client in Python: it publishes messages, or receives them.

    load.py CLIENT out|in ADDRESS COUNT [check]

CLIENT is ferry, ferry-batches, nats or paho. A client that receives prints "ready" when it is subscribed. At the end each prints seconds
and CPU seconds: out from the first message until the server has confirmed the last one, in from the first message to the last one.
Message n has n in its first 8 bytes; with check, all 256 bytes of each are compared.
"""

import asyncio
import sys
import threading
import time

SIZE = 256
FILL = b"x" * (SIZE - 8)


def message(n):
    return n.to_bytes(8, "big") + FILL


class Clock:
    def __init__(self):
        self.began = None

    def start(self):
        self.began, self.cpu = time.perf_counter(), time.process_time()

    def report(self):
        print(time.perf_counter() - self.began, time.process_time() - self.cpu, flush=True)


class Taker:
    """Counts what arrives. All messages come in order, and each once."""

    def __init__(self, count, check):
        self.count, self.check, self.seen, self.clock = count, check, 0, Clock()

    def take(self, payload):
        """Returns whether the message is the last one."""
        if not self.seen:
            self.clock.start()
        if self.check and payload != message(self.seen):
            sys.exit(f"message {self.seen} is {payload[:16]!r}")
        self.seen += 1
        if self.seen < self.count:
            return False
        if int.from_bytes(payload[:8], "big") != self.count - 1:
            sys.exit(f"the last message is {payload[:16]!r}")
        self.clock.report()
        return True


async def connect_ferry(address):
    import ferry_client

    host, _, token = address.partition(",")
    return await ferry_client.connect("tcp://" + host, token_file=token)


async def ferry_out(address, count, batches):
    client = await connect_ferry(address)
    publisher = await client.publisher("bench")
    payloads = [message(n) for n in range(count)]
    clock = Clock()
    clock.start()
    if batches:
        await publisher.send_many(payloads)
    else:
        for payload in payloads:
            await publisher.send(payload)
    await publisher.flush()
    clock.report()
    await client.close()


async def ferry_in(address, taker, batches):
    client = await connect_ferry(address)
    subscription = await client.subscribe("bench")
    print("ready", flush=True)
    if batches:
        async for messages in subscription.batches():
            for m in messages:
                if taker.take(m.payload):
                    return
    async for m in subscription:
        if taker.take(m.payload):
            return


async def nats_out(address, count):
    import nats

    client = await nats.connect("nats://" + address)
    payloads = [message(n) for n in range(count)]
    clock = Clock()
    clock.start()
    for payload in payloads:
        await client.publish("bench", payload)
    await client.flush(timeout=60)
    clock.report()
    await client.close()


async def nats_in(address, taker):
    import nats

    client = await nats.connect("nats://" + address)
    done = asyncio.get_running_loop().create_future()

    async def take(m):
        if taker.take(m.data):
            done.set_result(None)

    await client.subscribe("bench", cb=take, pending_msgs_limit=-1, pending_bytes_limit=-1)
    await client.flush(timeout=60)
    print("ready", flush=True)
    await done


def paho_client(address):
    import paho.mqtt.client as mqtt

    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
    host, port = address.split(":")
    connected = threading.Event()
    client.on_connect = lambda *_: connected.set()
    client.connect(host, int(port))
    client.loop_start()
    if not connected.wait(60):
        sys.exit("paho did not connect")
    return client


def paho_out(address, count):
    client = paho_client(address)
    payloads = [message(n) for n in range(count)]
    clock = Clock()
    clock.start()
    for payload in payloads[:-1]:
        client.publish("bench", payload)
    client.publish("bench", payloads[-1], qos=1).wait_for_publish(60)
    clock.report()


def paho_in(address, taker):
    client = paho_client(address)
    subscribed, done = threading.Event(), threading.Event()
    client.on_subscribe = lambda *_: subscribed.set()
    client.on_message = lambda c, u, m: taker.take(m.payload) and done.set()
    client.subscribe("bench")
    if not subscribed.wait(60):
        sys.exit("paho did not subscribe")
    print("ready", flush=True)
    done.wait()


def main(client, way, address, count, check=""):
    count = int(count)
    taker = Taker(count, check == "check")
    if client == "paho":
        paho_out(address, count) if way == "out" else paho_in(address, taker)
    elif client == "nats":
        asyncio.run(nats_out(address, count) if way == "out" else nats_in(address, taker))
    else:
        batches = client == "ferry-batches"
        asyncio.run(ferry_out(address, count, batches) if way == "out" else ferry_in(address, taker, batches))


main(*sys.argv[1:])
