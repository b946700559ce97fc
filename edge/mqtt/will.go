package mqtt

import (
	"bytes"
	"time"

	"example.com/ferry"
	"example.com/ferry/broker"
	"example.com/ferry/internal/mqttmessage"
	"example.com/ferry/internal/topic"
	wire "example.com/ferry/protocol/mqtt"
)

// will is the message that is published when a client leaves without DISCONNECT. MQTT 5.0, section 3.1.2.5.
type will struct {
	tag        string
	qos        byte
	retain     bool
	delay      time.Duration
	due        time.Time
	properties wire.Properties
	payload    []byte
}

// newWill returns the will of a CONNECT, or nil if it has none. grants are what the client may publish on.
func newWill(w *wire.Will, grants []string) (*will, error) {
	if w == nil {
		return nil, nil
	}
	tag := string(w.Topic)
	switch {
	case topic.CheckTag(tag) != nil:
		return nil, refusal(wire.TopicNameInvalid, "the topic of the will is not a tag: "+topic.CheckTag(tag).Error())
	case !covers(grants, tag):
		return nil, refusal(wire.NotAuthorized, "the identity may not publish on the topic of the will")
	}
	made := &will{tag: tag, qos: w.QoS, retain: w.Retain, payload: bytes.Clone(w.Payload)}
	for p := range w.Properties.All() {
		if p.ID == wire.WillDelayInterval {
			made.delay = time.Duration(p.Uint) * time.Second
			continue
		}
		made.properties = appendProperty(made.properties, p)
	}
	if len(made.properties) > mqttmessage.MaxProperties {
		return nil, refusal(wire.QuotaExceeded, "the properties of the will are too long")
	}
	return made, nil
}

// publishWill publishes a will on the loop of the connection.
func (c *conn) publishWill(w *will) {
	c.ls.server.publishWillIn(c.ls.batch, c.local, c.session, w)
}

// publishWill publishes a will on any goroutine.
func (v *Server) publishWill(k *local, s *session, w *will) {
	v.publishWillIn(broker.NewBatch(v.cfg.Broker), k, s, w)
}

// publishWillIn publishes the will of a session. A new grant has credit, unless a subscriber with policy block is slow: then the will is lost, as a
// will has no sender that could wait.
func (v *Server) publishWillIn(batch *broker.Batch, k *local, s *session, w *will) {
	grant, err := k.Tag(w.tag)
	if err != nil {
		v.cfg.Log.Warn("mqtt: a will is refused", "tag", w.tag, "err", err)
		return
	}
	e := mqttmessage.Entry{Known: true, QoS: w.qos, Retain: w.retain, Publisher: s.number, Properties: w.properties}
	m := broker.Message{Payload: w.payload, Extension: mqttmessage.AppendEntry(nil, e)}
	contentType, _ := w.properties.Text(wire.ContentType)
	var guessed bool
	m.Type, guessed = mqttmessage.TypeOf(contentType, w.payload)
	var kept, before *retainedMessage
	if w.retain {
		kept = newRetained(s.key, w.tag, &e, w.payload)
		before, _ = v.retained.set(kept, v.identityShare())
	}
	batch.Begin()
	n, err := batch.Publish(grant, []broker.Message{m}, nil)
	if err != nil && guessed && invalid(err) {
		m.Type = ferry.Raw // it only looks like JSON
		n, err = batch.Publish(grant, []broker.Message{m}, nil)
	}
	batch.End()
	grant.Close()
	if n == 0 {
		if kept != nil {
			v.retained.restore(kept, before)
		}
		v.cfg.Log.Warn("mqtt: a will is not published", "tag", w.tag, "err", err)
		return
	}
	v.counters.wills.Add(1)
}

// publishWills publishes the wills that are due. MQTT 5.0, section 3.1.3.2.2.
func (v *Server) publishWills(now time.Time) {
	type due struct {
		client  *local
		session *session
		will    *will
	}
	var list []due
	v.mu.Lock()
	for _, s := range v.sessions {
		if s.owner == nil && s.will != nil && !now.Before(s.will.due) {
			if s.local != nil {
				list = append(list, due{s.local, s, s.will})
			}
			s.will = nil
		}
	}
	v.mu.Unlock()
	for _, d := range list {
		v.publishWill(d.client, d.session, d.will)
	}
}
