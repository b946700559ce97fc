"""Clients of paho-mqtt that check a server: paho_client.py HOST PORT VERSION. VERSION is 4 (MQTT 3.1.1) or 5."""
import queue
import socket
import sys

from paho.mqtt.client import CallbackAPIVersion, Client
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.subscribeoptions import SubscribeOptions

PATIENCE = 60  # longest wait for an event, in seconds
HOST, PORT, VERSION = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])


class Peer:
    """A connection of a client."""

    def __init__(self, name, lasting=False, will=None):
        self.connects, self.subacks, self.messages, self.ends = queue.Queue(), queue.Queue(), queue.Queue(), queue.Queue()
        kind = {} if VERSION == 5 else {"clean_session": not lasting}
        self.client = c = Client(CallbackAPIVersion.VERSION2, name, protocol=VERSION, reconnect_on_failure=False, **kind)
        c.on_connect = lambda _c, _u, flags, reason, _p: self.connects.put((reason, flags.session_present))
        c.on_subscribe = lambda _c, _u, _mid, reasons, _p: self.subacks.put(reasons)
        c.on_message = lambda _c, _u, m: self.messages.put(m)
        c.on_disconnect = lambda *_: self.ends.put(True)
        if will:
            c.will_set(*will)
        options = {}
        if VERSION == 5:
            options = {"clean_start": not lasting, "properties": Properties(PacketTypes.CONNECT)}
            if lasting:
                options["properties"].SessionExpiryInterval = 600
        c.connect(HOST, PORT, **options)
        c.loop_start()
        reason, self.present = self.connects.get(timeout=PATIENCE)
        assert not reason.is_failure, reason

    def subscribe(self, filter, qos):
        self.client.subscribe(filter, qos=qos)
        self.granted(qos)

    def granted(self, qos):
        reasons = self.subacks.get(timeout=PATIENCE)
        assert [r.value for r in reasons] == [qos], reasons

    def publish(self, topic, payload, qos=1, **options):
        sent = self.client.publish(topic, payload, qos, **options)
        sent.wait_for_publish(PATIENCE)
        assert sent.is_published()

    def message(self):
        return self.messages.get(timeout=PATIENCE)

    def want(self, topic, payload, qos, retain=False):
        m = self.message()
        got = (m.topic, m.payload.decode(), m.qos, bool(m.retain))
        assert got == (topic, payload, qos, retain), got
        return m

    def close(self):
        self.client.disconnect()
        self.end()

    def cut(self):
        """End the connection without DISCONNECT."""
        self.client.socket().shutdown(socket.SHUT_RDWR)
        self.end()

    def end(self):
        self.ends.get(timeout=PATIENCE)
        self.client.loop_stop()


def qos(root):
    pub, sub = Peer("pub"), Peer("sub")
    for granted in range(3):
        sub.subscribe(f"{root}/+", granted)
        for sent in range(3):
            pub.publish(f"{root}/{sent}", f"{sent} of {granted}", sent)
            sub.want(f"{root}/{sent}", f"{sent} of {granted}", min(sent, granted))
    for each in pub, sub:
        each.close()


def retained(root):
    pub, sub = Peer("pub"), Peer("sub")
    for topic in "a", "b":
        pub.publish(f"{root}/{topic}", topic, retain=True)
    pub.publish(f"{root}/a", None, retain=True)
    sub.subscribe(f"{root}/#", 1)
    sub.want(f"{root}/b", "b", 1, retain=True)
    pub.publish(f"{root}/b", "c", retain=True)
    sub.want(f"{root}/b", "c", 1)
    pub.publish(f"{root}/b", None, retain=True)
    sub.want(f"{root}/b", "", 1)
    for each in pub, sub:
        each.close()


def will(root):
    sub = Peer("sub")
    sub.subscribe(f"{root}/will", 1)
    Peer("leaves", will=(f"{root}/will", "left", 1)).close()
    Peer("vanishes", will=(f"{root}/will", "vanished", 1)).cut()
    sub.want(f"{root}/will", "vanished", 1)
    sub.close()


def session(root):
    pub, sub = Peer("pub"), Peer("lasting", lasting=True)
    assert not sub.present
    sub.subscribe(f"{root}/#", 2)
    pub.publish(f"{root}/1", "first", 2)
    sub.want(f"{root}/1", "first", 2)
    sub.cut()
    for n in range(50):
        pub.publish(f"{root}/1", str(n), 1 + n % 2)
    sub = Peer("lasting", lasting=True)
    assert sub.present
    got = {1: [], 2: []}  # the client passes a message with QoS 2 on when PUBREL arrives: others may come before it
    while len(got[1]) + len(got[2]) < 50:
        m = sub.message()
        if m.payload != b"first":  # it comes again if PUBREC had not arrived
            got[m.qos].append(int(m.payload))
    assert got == {1: list(range(0, 50, 2)), 2: list(range(1, 50, 2))}, got
    sub.close()
    sub = Peer("lasting")
    assert not sub.present
    for each in pub, sub:
        each.close()


def shared(root):
    pub, members = Peer("pub"), [Peer("m1"), Peer("m2")]
    together = queue.Queue()
    for each in members:
        each.messages = together
        each.subscribe(f"$share/group/{root}/#", 1)
    for n in range(40):
        pub.publish(f"{root}/{n % 4}", str(n))
    got = sorted(int(together.get(timeout=PATIENCE).payload) for _ in range(40))
    assert got == list(range(40)), got
    for each in [pub, *members]:
        each.close()


def version5(root):
    both = Peer("both")
    both.client.subscribe(f"{root}/#", options=SubscribeOptions(qos=1, noLocal=True))
    both.granted(1)
    other = Peer("other")
    both.publish(f"{root}/1", "own")
    sent = Properties(PacketTypes.PUBLISH)
    sent.ContentType, sent.ResponseTopic, sent.CorrelationData = "text/plain", "reply/1", b"\0\1"
    sent.UserProperty, sent.MessageExpiryInterval = [("a", "1"), ("a", "2")], 1000
    other.publish(f"{root}/2", "other", properties=sent)
    got = both.want(f"{root}/2", "other", 1).properties
    assert (got.ContentType, got.ResponseTopic, got.CorrelationData) == ("text/plain", "reply/1", b"\0\1"), got
    assert got.UserProperty == [("a", "1"), ("a", "2")] and 0 < got.MessageExpiryInterval <= 1000, got
    for each in both, other:
        each.close()


checks = [qos, retained, will, session, shared] + [version5] * (VERSION == 5)
for check in checks:
    for root in "live", "stored":
        check(f"{root}/{check.__name__}")
print("passed", len(checks))
