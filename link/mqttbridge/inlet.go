package mqttbridge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

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
	acked chan struct{} // of capacity 1: a message was confirmed
	ended sync.WaitGroup

	mu      sync.Mutex
	waiting peer.FIFO[incoming]
	open    peer.FIFO[*received] // QoS 1, in the order in which they have come: PUBACKs must have that order
}

// incoming is a message that waits.
type incoming struct {
	topic   string
	payload []byte
	entry   mqttmessage.Entry
	ack     *received // nil for QoS 0
}

// received is a message of QoS 1 that is not confirmed. inlet.mu guards it.
type received struct {
	id   uint16
	code mqtt.ReasonCode // of PUBACK
	done bool
}

// maxTags bounds the grants that the inlet keeps.
const maxTags = 4096

var _ broker.LocalHandler = (*inlet)(nil)

func newInlet(c *conn) (*inlet, error) {
	in := &inlet{
		conn: c, tags: map[string]*broker.LocalTag{}, batch: broker.NewBatch(c.bridge.cfg.Broker),
		ready: make(chan struct{}, 1), soon: make(chan struct{}, 1), acked: make(chan struct{}, 1),
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
	return in, nil
}

// close ends the inlet. The context of its connection has ended.
func (in *inlet) close() {
	in.stop()
	in.ended.Wait()
}

// push adds a copy of a message that has come. In 3.1.1, which has no Receive Maximum, it waits while as many are not confirmed.
func (in *inlet) push(p *mqtt.PublishPacket) error {
	most := in.conn.bridge.cfg.Inflight
	if _, alias := p.Properties.Uint(mqtt.TopicAlias); alias {
		return &mqtt.Error{Code: mqtt.TopicAliasInvalid, Kind: mqtt.Publish, Close: true, Reason: "the bridge takes no topic aliases"}
	}
	if p.QoS == 2 {
		return &mqtt.Error{Code: mqtt.ProtocolError, Kind: mqtt.Publish, Close: true, Reason: "the bridge has subscribed with QoS 1"}
	}
	m := incoming{
		topic: string(p.Topic), payload: bytes.Clone(p.Payload),
		entry: mqttmessage.Entry{Known: true, QoS: p.QoS, Retain: p.Retain, Properties: mqttmessage.Kept(nil, bytes.Clone(p.Properties))},
	}
	in.mu.Lock()
	for p.QoS > 0 && in.open.Len() >= most {
		in.mu.Unlock()
		if in.conn.version == mqtt.V5 {
			return &mqtt.Error{Code: mqtt.ReceiveMaximumExceeded, Kind: mqtt.Publish, Close: true, Reason: fmt.Sprintf("more than %d messages are not confirmed", most)}
		}
		select {
		case <-in.acked:
		case <-in.ctx.Done():
			return nil // the broker sends it again
		}
		in.mu.Lock()
	}
	defer in.mu.Unlock()
	if p.QoS == 0 && in.waiting.Len() >= most {
		in.drop(dropQueue)
		return nil
	}
	if p.QoS > 0 {
		m.ack = &received{id: p.ID}
		in.open.Push(m.ack)
	}
	in.waiting.Push(m)
	signal(in.soon)
	return nil
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
	m := in.waiting.Pop()
	in.mu.Unlock()
	b, e := in.conn.bridge, m.entry
	if !in.conn.target.subscribes(m.topic) {
		in.drop(dropUnsubscribed)
		in.done(m.ack, mqtt.Success)
		return true
	}
	if hasPassed(string(pathOf(e.Properties)), b.cfg.Node) {
		b.mu.Lock()
		b.returned++
		b.mu.Unlock()
		in.done(m.ack, mqtt.Success)
		return true
	}
	name := in.conn.target.InPrefix + m.topic
	if topic.CheckTag(name) != nil {
		in.drop(dropTopic)
		in.done(m.ack, mqtt.TopicNameInvalid)
		return true
	}
	if len(e.Properties) > mqttmessage.MaxProperties {
		in.drop(dropProperties)
		in.done(m.ack, mqtt.QuotaExceeded)
		return true
	}
	t, err := in.tag(name)
	if err != nil && !refusedForGood(err) {
		in.conn.fail(err)
		return false
	}
	if err != nil {
		in.drop(dropForbidden)
		in.done(m.ack, mqtt.NotAuthorized)
		return true
	}
	contentType, _ := e.Properties.Text(mqtt.ContentType)
	typ, guessed := mqttmessage.TypeOf(contentType, m.payload)
	return in.publish(t, broker.Message{Type: typ, Payload: m.payload, Extension: mqttmessage.AppendEntry(nil, e)}, guessed, m.ack)
}

// refusedForGood reports whether the node will never take the message. After other errors, such as at the end of the bridge's client, it is
// not confirmed, and the other broker sends it again on the next connection.
func refusedForGood(err error) bool {
	var e *native.Error
	return errors.As(err, &e) && (e.Code == native.CodeInvalid || e.Code == native.CodeBadRequest || e.Code == native.CodeTooLarge || e.Code == native.CodeForbidden)
}

// publish publishes one message, whose type may be guessed. It waits for credit.
func (in *inlet) publish(t *broker.LocalTag, one broker.Message, guessed bool, r *received) bool {
	m := []broker.Message{one}
	stored := func(err error) {
		switch {
		case err == nil:
			in.done(r, mqtt.Success)
		case r == nil || errors.As(err, new(*broker.RefusedError)):
			in.drop(dropRefused)
			in.done(r, mqtt.ImplementationSpecificError)
		default: // a reload has removed the stream: the other broker sends the message again on the next connection
			in.conn.fail(err)
		}
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
			b.received++
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
	b.dropped[reason]++
	b.mu.Unlock()
}

// done says that r, which is nil for QoS 0, can be confirmed. It writes the PUBACKs that are due.
func (in *inlet) done(r *received, code mqtt.ReasonCode) {
	if r == nil {
		return
	}
	var acks []byte
	in.mu.Lock()
	defer in.mu.Unlock()
	r.done, r.code = true, code
	for in.open.Len() > 0 && (*in.open.Front()).done {
		first := in.open.Pop()
		acks = mqtt.AppendAck(acks, in.conn.version, mqtt.AckPacket{Kind: mqtt.Puback, ID: first.id, Code: first.code})
	}
	if len(acks) > 0 {
		in.conn.write(acks)
		signal(in.acked)
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
