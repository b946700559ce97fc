package mqtt_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"

	"example.com/ferry/broker"
	wire "example.com/ferry/protocol/mqtt"
)

// cutPublisher publishes numbers with one QoS while its connections are cut. It repeats what was not acknowledged.
type cutPublisher struct {
	r     *rig
	v     wire.Version
	name  string
	topic string
	qos   byte
	count int
	rand  *rand.Rand

	next     int
	inFlight []cutFlight
}

// cutFlight is a message that a cutPublisher has sent.
type cutFlight struct {
	id       uint16
	number   int
	released bool // PUBREC has arrived
}

// run publishes all messages.
func (p *cutPublisher) run() {
	for p.next < p.count || len(p.inFlight) > 0 {
		p.connection()
	}
}

// connection uses one connection until it is cut, or all is done.
func (p *cutPublisher) connection() {
	c := p.r.connect(p.v, p.name, lasting)
	defer func() { _ = c.conn.Close() }()
	for _, f := range p.inFlight {
		p.send(c, f, true)
	}
	for left := p.rand.IntN(60); left > 0; left-- {
		for len(p.inFlight) < 8 && p.next < p.count {
			f := cutFlight{id: uint16(p.next%60000 + 1), number: p.next}
			p.next++
			p.inFlight = append(p.inFlight, f)
			p.send(c, f, false)
		}
		if len(p.inFlight) == 0 {
			return
		}
		packet := c.next()
		a, err := wire.ParseAck(packet)
		if err != nil || a.Code.Failed() && packet.Kind != wire.Pubcomp {
			c.t.Errorf("%s: got %v, %v, %v", p.name, packet.Kind, a.Code, err)
			return
		}
		i := slices.IndexFunc(p.inFlight, func(f cutFlight) bool { return f.id == a.ID })
		switch {
		case i < 0: // of a packet that was repeated
		case packet.Kind == wire.Pubrec:
			p.inFlight[i].released = true
			p.send(c, p.inFlight[i], false)
		default:
			p.inFlight = slices.Delete(p.inFlight, i, i+1)
		}
	}
}

func (p *cutPublisher) send(c *client, f cutFlight, again bool) {
	if f.released {
		c.sendAck(wire.Pubrel, f.id)
		return
	}
	c.send(wire.PublishPacket{QoS: p.qos, ID: f.id, Dup: again, Topic: []byte(p.topic), Payload: strconv.AppendInt(nil, int64(f.number), 10)})
}

// cutSubscriber receives with QoS 2 while its connections are cut. got counts the messages by publisher and number.
type cutSubscriber struct {
	r     *rig
	v     wire.Version
	rand  *rand.Rand
	got   map[string]int
	ids   map[uint16]bool // packet identifiers that are not released
	total int
}

// run receives until total different messages are there and nothing is on its way.
func (s *cutSubscriber) run() {
	for len(s.got) < s.total {
		c := s.r.connect(s.v, "sub", lasting)
		for left := s.rand.IntN(100); left > 0 && len(s.got) < s.total; left-- {
			s.packet(c)
		}
		_ = c.conn.Close()
	}
	c := s.r.connect(s.v, "sub", lasting)
	for len(s.ids) > 0 { // a message that is repeated comes before PINGRESP
		s.packet(c)
	}
	c.write(wire.AppendPingreq(nil))
	for s.packet(c) {
	}
}

// packet handles a packet. It returns false for PINGRESP.
func (s *cutSubscriber) packet(c *client) bool {
	packet := c.next()
	switch packet.Kind {
	case wire.Publish:
		m, err := wire.ParsePublish(packet)
		if err != nil {
			c.t.Error(err)
		}
		switch {
		case m.QoS == 1:
			s.got[string(m.Topic)+" "+string(m.Payload)]++
			c.sendAck(wire.Puback, m.ID)
		case !s.ids[m.ID]:
			s.ids[m.ID] = true
			s.got[string(m.Topic)+" "+string(m.Payload)]++
			fallthrough
		default:
			c.sendAck(wire.Pubrec, m.ID)
		}
	case wire.Pubrel:
		a, err := wire.ParseAck(packet)
		if err != nil {
			c.t.Error(err)
		}
		delete(s.ids, a.ID)
		c.sendAck(wire.Pubcomp, a.ID)
	case wire.Pingresp:
		return false
	default:
		c.t.Errorf("the subscriber gets %v", packet.Kind)
	}
	return true
}

// TestCutConnections: whatever connections end, a message with QoS 1 arrives at least once, and one with QoS 2 exactly once.
func TestCutConnections(t *testing.T) {
	const count = 150
	for i, v := range versions {
		for j, root := range []string{"live", "stored"} {
			t.Run(v.String()+" "+root, func(t *testing.T) {
				t.Parallel()
				r := newRig(t, setup{broker: broker.Config{Queue: 8 << 20}, streams: map[string]broker.Stored{"s": stored(t, "stored/#")}})
				sub := &cutSubscriber{r: r, v: v, rand: rand.New(rand.NewPCG(1, uint64(2*i+j))), got: map[string]int{}, ids: map[uint16]bool{}}
				c := r.connect(v, "sub", lasting)
				c.sub(root+"/#", 2)
				_ = c.conn.Close()
				var wg sync.WaitGroup
				for n := range 4 {
					p := &cutPublisher{
						r: r, v: v, name: fmt.Sprint("pub", n), topic: fmt.Sprintf("%s/%d", root, n), qos: byte(1 + n%2), count: count,
						rand: rand.New(rand.NewPCG(uint64(n), uint64(2*i+j))),
					}
					sub.total += count
					wg.Go(p.run)
				}
				wg.Go(sub.run)
				wg.Wait()
				for n := range 4 {
					for k := range count {
						times := sub.got[fmt.Sprintf("%s/%d %d", root, n, k)]
						if times == 0 || n%2 == 1 && times > 1 {
							t.Errorf("publisher %d with QoS %d: message %d has arrived %d times", n, 1+n%2, k, times)
						}
					}
				}
			})
		}
	}
}
