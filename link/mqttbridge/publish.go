package mqttbridge

import (
	"strings"

	"example.com/ferry/internal/mqttmessage"
	"example.com/ferry/internal/peer"
	"example.com/ferry/protocol/mqtt"
	"example.com/ferry/protocol/native"
)

// PathProperty is the user property with the ids of the nodes that a message has passed, which a slash separates. A bridge drops what
// has passed its own node, so that a message does not go in a circle of nodes and brokers.
const PathProperty = "ferry-path"

// pathOf returns the path in the properties of a message, as a view.
func pathOf(ps mqtt.Properties) []byte {
	for p := range ps.All() {
		if p.ID == mqtt.UserProperty && string(p.Name) == PathProperty {
			return p.Text
		}
	}
	return nil
}

// hasPassed reports whether a message with a path has passed a node, or as many as a path may have.
func hasPassed(path, node string) bool {
	if path == "" {
		return false
	}
	hops := 0
	for one := range strings.SplitSeq(path, "/") {
		if hops++; one == node {
			return true
		}
	}
	return hops >= native.MaxHops
}

// Send publishes messages at the broker, as many as it takes before their PUBACKs. It leaves out those that have passed this node before.
// See link.Wire.
func (c *conn) Send(name string, path *native.Path, frames []byte, u *peer.Unflushed) (size, count int) {
	c.topic = append(append(c.topic[:0], c.target.OutPrefix...), name...)
	c.out.Lock()
	for size < len(frames) && c.flights.Len() < c.inflight && !c.out.Closed() {
		f := native.Frame(frames[size : size+native.Size(frames[size:])])
		size, count = size+len(f), count+1
		c.publish(f, path)
	}
	u.Unlock(c.out)
	return size, count
}

// publish publishes one message. The caller holds the locks.
func (c *conn) publish(f native.Frame, path *native.Path) {
	e := mqttmessage.EntryOf(f.Extension())
	passed := pathOf(e.Properties)
	if hasPassed(string(passed), c.bridge.cfg.Node) {
		c.bridge.Box.Return(1)
		c.skip()
		return
	}
	m := mqtt.PublishPacket{QoS: 1, ID: c.nextID(), Retain: e.Retain && c.retains, Topic: c.topic, Payload: f.Payload()}
	if c.version == mqtt.V5 {
		c.properties = c.appendProperties(c.properties[:0], e.Properties, passed, path)
		m.Properties = c.properties
	}
	if n := mqtt.PublishSize(c.version, &m); n <= c.largest {
		if packet, err := mqtt.AppendPublish(c.out.Tail(n), c.version, &m); err == nil {
			c.out.SetTail(packet)
			c.flights.Push(flight{})
			return
		}
	}
	c.bridge.Box.Drop(dropTooLong, 1)
	c.skip()
}

// appendProperties appends the properties of a message and the path that it has passed, this node included.
func (c *conn) appendProperties(dst, own mqtt.Properties, passed []byte, path *native.Path) mqtt.Properties {
	for p := range own.All() {
		if p.ID != mqtt.UserProperty || string(p.Name) != PathProperty {
			dst = mqtt.AppendProperty(dst, p)
		}
	}
	all := string(passed)
	if path != nil {
		for _, node := range *path {
			all += "/" + node
		}
	}
	return mqtt.AppendUser(dst, PathProperty, strings.TrimPrefix(all+"/"+c.bridge.cfg.Node, "/"))
}

// identifiers is the number of packet identifiers, which begin with 1.
const identifiers = 1<<16 - 1

// nextID returns the packet identifier of the next flight. The caller holds the lock.
func (c *conn) nextID() uint16 { return uint16(1 + (c.landed+uint64(c.flights.Len()))%identifiers) }

// skip notes that a message, which Send has taken, gets no PUBACK. The caller holds the lock.
func (c *conn) skip() {
	c.bridge.Box.Uncount(1)
	if c.flights.Len() > 0 {
		c.flights.Back().behind++
		return
	}
	c.passed++
	signal(c.skipped)
}

// confirm notes PUBACKs.
func (c *conn) confirm(acks []mqtt.AckPacket) {
	box := c.bridge.Box
	box.Lock()
	for _, a := range acks {
		c.acknowledged(a)
	}
	passed, idle := c.passed, c.flights.Len() == 0
	box.Unlock()
	box.Confirmed(c, passed)
	if idle {
		signal(c.settled)
	}
}

// acknowledged notes one PUBACK. The caller holds the lock.
func (c *conn) acknowledged(a mqtt.AckPacket) {
	i := (int(a.ID) - 1 - int(c.landed%identifiers) + identifiers) % identifiers
	if i >= c.flights.Len() || c.flights.All()[i].acked {
		return
	}
	c.flights.All()[i].acked = true
	if a.Code.Failed() {
		c.bridge.Box.Refuse(1)
	}
	for c.flights.Len() > 0 && c.flights.Front().acked {
		c.passed += 1 + uint64(c.flights.Pop().behind)
		c.landed++
	}
}

// Expect does nothing: topics need no request.
func (c *conn) Expect(string) {}

// ConfirmSoon does nothing: the broker confirms each message.
func (c *conn) ConfirmSoon() {}
