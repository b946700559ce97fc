package mqttbridge

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/eclipse/paho.golang/packets"
	"github.com/eclipse/paho.golang/paho"

	"example.com/ferry"
	"example.com/ferry/broker"
	"example.com/ferry/internal/mqttmessage"
	"example.com/ferry/internal/peer"
	"example.com/ferry/internal/topic"
	"example.com/ferry/protocol/mqtt"
	"example.com/ferry/protocol/native"
)

// inlet publishes on this node what comes over one connection, in order. It confirms a message when the node has stored it.
type inlet struct {
	conn  *conn
	ctx   context.Context // ends when the inlet publishes no more
	stop  context.CancelFunc
	local *broker.Local
	batch *broker.Batch
	tags  map[string]*broker.LocalTag
	ready chan struct{} // of capacity 1: a tag has credit again
	soon  chan struct{} // of capacity 1: there is a message
	acks  chan struct{} // of capacity 1: a message is done
	ended sync.WaitGroup

	mu      sync.Mutex
	waiting peer.FIFO[*paho.Publish]
	unacked int                  // messages of QoS 1 in waiting and open
	open    peer.FIFO[*received] // QoS 1, in the order in which they have come: PUBACKs must have that order
}

// received is a message of QoS 1 that is not confirmed. inlet.mu guards it.
type received struct {
	id   uint16
	code byte // reason code of PUBACK
	done bool
}

// maxTags bounds the grants that the inlet keeps.
const maxTags = 4096

var _ broker.LocalHandler = (*inlet)(nil)

func newInlet(c *conn) (*inlet, error) {
	in := &inlet{
		conn: c, tags: map[string]*broker.LocalTag{}, batch: broker.NewBatch(c.bridge.cfg.Broker),
		ready: make(chan struct{}, 1), soon: make(chan struct{}, 1), acks: make(chan struct{}, 1),
	}
	in.ctx, in.stop = context.WithCancel(c.ctx)
	cfg := &c.bridge.cfg
	var err error
	in.local, err = cfg.Listener.Connect(broker.LocalConfig{Name: "bridge " + cfg.Name, Addr: c.net.RemoteAddr().String(), Token: cfg.Token, Handler: in})
	if err != nil {
		in.stop()
		return nil, err
	}
	in.ended.Go(in.run)
	in.ended.Go(in.confirm)
	return in, nil
}

// close ends the inlet. The context of its connection has ended.
func (in *inlet) close() {
	in.stop()
	in.ended.Wait()
}

// push adds a message that has come.
func (in *inlet) push(p *paho.Publish) {
	in.mu.Lock()
	if p.QoS == 0 && in.waiting.Len() >= in.conn.bridge.cfg.Inflight {
		in.mu.Unlock()
		in.drop(dropQueue)
		return
	}
	if p.QoS > 0 && in.unacked >= in.conn.bridge.cfg.Inflight {
		in.mu.Unlock()
		in.conn.exceeded()
		return
	}
	if p.QoS > 0 {
		in.unacked++
	}
	in.waiting.Push(p)
	in.mu.Unlock()
	signal(in.soon)
}

// run publishes messages until the connection ends, or the node asks its clients to leave.
func (in *inlet) run() {
	defer in.local.Close()
	for {
		in.batch.Begin()
		for in.publishNext() {
		}
		in.batch.End()
		select {
		case <-in.soon:
		case <-in.ctx.Done():
			return
		}
	}
}

// publishNext publishes the first message that waits. It returns false if there is none, or the connection has ended.
func (in *inlet) publishNext() bool {
	in.mu.Lock()
	if in.waiting.Len() == 0 || in.ctx.Err() != nil {
		in.mu.Unlock()
		return false
	}
	p := in.waiting.Pop()
	var r *received
	if p.QoS > 0 {
		r = &received{id: p.PacketID}
		in.open.Push(r)
	}
	in.mu.Unlock()
	b, e := in.conn.bridge, entryOf(p)
	if hasPassed(string(pathOf(e.Properties)), b.cfg.Node) {
		b.mu.Lock()
		b.stats.Returned++
		b.mu.Unlock()
		in.done(r, mqtt.Success)
		return true
	}
	name := in.conn.target.InPrefix + p.Topic
	if topic.CheckTag(name) != nil {
		in.drop(dropTopic)
		in.done(r, mqtt.TopicNameInvalid)
		return true
	}
	if len(e.Properties) > mqttmessage.MaxProperties {
		in.drop(dropProperties)
		in.done(r, mqtt.QuotaExceeded)
		return true
	}
	t, err := in.tag(name)
	if err != nil && !refusedForGood(err) {
		in.conn.fail(err)
		return false
	}
	if err != nil {
		in.drop(dropForbidden)
		in.done(r, mqtt.NotAuthorized)
		return true
	}
	contentType, _ := e.Properties.Text(mqtt.ContentType)
	typ, guessed := mqttmessage.TypeOf(contentType, p.Payload)
	return in.publish(t, broker.Message{Type: typ, Payload: p.Payload, Extension: mqttmessage.AppendEntry(nil, e)}, guessed, r)
}

// refusedForGood reports whether the node will never take the message. After other errors, such as at the end of the bridge's client, it is not confirmed,
// and the other broker sends it again on the next connection.
func refusedForGood(err error) bool {
	var e *native.Error
	return errors.As(err, &e) && (e.Code == native.CodeInvalid || e.Code == native.CodeBadRequest || e.Code == native.CodeTooLarge || e.Code == native.CodeForbidden)
}

// publish publishes one message, whose type may be guessed. It waits for credit.
func (in *inlet) publish(t *broker.LocalTag, one broker.Message, guessed bool, r *received) bool {
	m := []broker.Message{one}
	stored := func(err error) {
		if err != nil {
			in.done(r, mqtt.ImplementationSpecificError)
			return
		}
		in.done(r, mqtt.Success)
	}
	for {
		n, err := in.batch.Publish(t, m, stored)
		switch {
		case err != nil && guessed && m[0].Type != ferry.Raw: // the guess was wrong
			m[0].Type = ferry.Raw
			continue
		case err != nil && !refusedForGood(err):
			in.conn.fail(err)
			return false
		case err != nil:
			in.drop(dropInvalid)
			in.done(r, mqtt.PayloadFormatInvalid)
			return true
		case n == 1:
			b := in.conn.bridge
			b.mu.Lock()
			b.stats.Received++
			b.mu.Unlock()
			return true
		}
		in.batch.End()
		select {
		case <-in.ready:
		case <-in.ctx.Done():
			return false
		}
		in.batch.Begin()
	}
}

// tag returns the grant for a tag. Above maxTags, all are given back first.
func (in *inlet) tag(name string) (*broker.LocalTag, error) {
	if t := in.tags[name]; t != nil {
		return t, nil
	}
	if len(in.tags) >= maxTags {
		for _, t := range in.tags {
			t.Close()
		}
		clear(in.tags)
	}
	name = strings.Clone(name)
	t, err := in.local.Tag(name)
	if err == nil {
		in.tags[name] = t
	}
	return t, err
}

// drop counts a message that is not published.
func (in *inlet) drop(reason string) {
	b := in.conn.bridge
	b.mu.Lock()
	b.drop(reason, 1)
	b.mu.Unlock()
}

// done says that r, which is nil for QoS 0, can be confirmed.
func (in *inlet) done(r *received, code mqtt.ReasonCode) {
	if r == nil {
		return
	}
	in.mu.Lock()
	r.done, r.code = true, byte(code)
	in.mu.Unlock()
	signal(in.acks)
}

// confirm writes the PUBACKs until the connection ends.
func (in *inlet) confirm() {
	for {
		select {
		case <-in.acks:
		case <-in.conn.ctx.Done():
			return
		}
		var ready []received
		in.mu.Lock()
		for in.open.Len() > 0 && (*in.open.Front()).done {
			ready = append(ready, *in.open.Pop())
			in.unacked--
		}
		in.mu.Unlock()
		for _, r := range ready {
			ack := packets.Puback{PacketID: r.id, ReasonCode: r.code, Properties: &packets.Properties{}}
			if _, err := ack.WriteTo(in.conn.net); err != nil {
				in.conn.fail(err)
				return
			}
		}
	}
}

// Deliver takes nothing: the inlet has no subscription.
func (in *inlet) Deliver(_ *broker.LocalSub, run *broker.Run) int { return run.Len() }

// Flush does nothing.
func (in *inlet) Flush() {}

// Ready lets publish go on.
func (in *inlet) Ready(*broker.LocalTag) { signal(in.ready) }

// Opened does nothing.
func (in *inlet) Opened(*broker.LocalSub) {}

// Ended does nothing.
func (in *inlet) Ended(*broker.LocalSub, error) {}

// Drain ends the publishing. The broker keeps the messages that come from now on: they are not confirmed.
func (in *inlet) Drain(string) { in.stop() }

// Closed ends the connection.
func (in *inlet) Closed(why error) { in.conn.fail(why) }
