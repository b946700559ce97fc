package web

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"net/url"
	"strconv"
	"sync"
	"time"

	"example.com/ferry"
	"example.com/ferry/broker"
	"example.com/ferry/edge"
	"example.com/ferry/internal/bufpool"
	"example.com/ferry/loop"
	"example.com/ferry/protocol/native"
)

// subscriber is a client of the broker that receives over its connection: events, or messages of a WebSocket.
type subscriber struct {
	ls    *loopState
	conn  *loop.Conn
	local *broker.Local
	raw   bool // queue has messages with their length, not events

	// Called on the loop, also after the connection has ended: when there is something to write, when a tag has credit again, and when
	// the broker asks the client to leave.
	flush, ready func()
	finish       func(why error)

	mu      sync.Mutex
	queue   *bufpool.Buf // encoded messages that the loop has not taken; nil if there are none
	starved bool         // the broker waits for Resume
	posted  bool         // flush was posted
	ended   bool

	progress edge.Progress
}

var _ broker.LocalHandler = (*subscriber)(nil)

// attach connects the client to the broker and subscribes, unless cfg is nil. After an error, the callbacks may still be called.
func (s *subscriber) attach(r *request, who *credential, cfg *broker.LocalSubConfig) error {
	s.ls, s.conn = r.ls, r.conn
	local, err := r.ls.server.connect(who, r.conn, s)
	if err != nil {
		return err
	}
	s.local = local
	s.ls.Identified(s.conn)
	if cfg == nil {
		return nil
	}
	if _, err := local.Subscribe(*cfg); err != nil {
		s.end()
		return err
	}
	return nil
}

// Deliver encodes messages until the queue is full.
func (s *subscriber) Deliver(_ *broker.LocalSub, run *broker.Run) (taken int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var m broker.Message
	for {
		if s.ended || s.queue != nil && len(s.queue.B) >= outgoingBytes {
			s.starved = true
			return taken
		}
		if !run.Next(&m) {
			return taken
		}
		taken++
		need := 2*len(m.Payload) + len(m.Tag) + eventOverhead
		s.queue = bufpool.Grow(s.queue, need)
		if !s.raw {
			s.queue.B = appendEvent(s.queue.B, &m)
			continue
		}
		n := len(s.queue.B)
		s.queue.B = appendEnvelope(append(s.queue.B, 0, 0, 0, 0), &m, true)
		binary.BigEndian.PutUint32(s.queue.B[n:], uint32(len(s.queue.B)-n-4))
	}
}

// Flush makes the loop write the queue.
func (s *subscriber) Flush() {
	s.mu.Lock()
	post := !s.posted && s.queue != nil
	s.posted = s.posted || post
	s.mu.Unlock()
	if post {
		s.ls.Notify(s.flush)
	}
}

// take returns the queue, which the caller releases; nil if there is none, or the connection is full.
func (s *subscriber) take() (queue *bufpool.Buf) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.posted = false
	if s.conn.Full() {
		return nil
	}
	queue, s.queue = s.queue, nil
	return queue
}

// resume makes the broker deliver again, if it has waited.
func (s *subscriber) resume() {
	s.mu.Lock()
	resume := s.starved && s.queue == nil && !s.ended
	if resume {
		s.starved = false
	}
	s.mu.Unlock()
	if resume {
		s.local.Resume()
	}
}

// end closes the client of the broker.
func (s *subscriber) end() {
	s.mu.Lock()
	s.ended = true
	queue := s.queue
	s.queue = nil
	s.mu.Unlock()
	if queue != nil {
		queue.Release()
	}
	s.local.Close()
}

// stalled reports whether the client has read nothing for WriteTimeout although there is something to read.
func (s *subscriber) stalled() bool {
	return s.progress.Stalled(s.conn, s.ls.Now(), s.ls.server.Config().WriteTimeout)
}

// Ready lets a WebSocket go on that has waited for credit.
func (s *subscriber) Ready(*broker.LocalTag) {
	if s.ready != nil {
		s.ls.Notify(s.ready)
	}
}

// Opened does nothing.
func (s *subscriber) Opened(*broker.LocalSub) {}

// Ended ends the connection: the subscription is all that it is for.
func (s *subscriber) Ended(_ *broker.LocalSub, why error) { s.ls.Notify(func() { s.finish(why) }) }

// Drain ends the connection.
func (s *subscriber) Drain(reason string) {
	s.ls.Notify(func() { s.finish(&native.Error{Code: native.CodeDraining, Reason: reason}) })
}

// Closed ends the connection.
func (s *subscriber) Closed(why error) { s.ls.Notify(func() { s.finish(why) }) }

// subscription returns what the query subscribes to. The error is a *native.Error.
func (r *request) subscription(filter string, query url.Values) (*broker.LocalSubConfig, error) {
	bad := func(format string, args ...any) (*broker.LocalSubConfig, error) {
		return nil, &native.Error{Code: native.CodeBadRequest, Reason: fmt.Sprintf(format, args...)}
	}
	cfg := &broker.LocalSubConfig{Filter: filter, Where: query.Get("where"), Group: query.Get("group"), Policy: native.DropOldest}
	switch p := query.Get("policy"); p {
	case "", "drop_oldest":
	case "drop_newest":
		cfg.Policy = native.DropNewest
	case "block":
		cfg.Policy = native.Block
	default:
		return bad("policy %q: want drop_oldest, drop_newest or block", p)
	}
	last := string(r.fields.lastEvent)
	if last == "" {
		last = query.Get("last_event_id")
	}
	from := query.Get("from")
	stored := cfg.Group == "" && r.ls.server.cfg.Broker.Stores(filter)
	switch {
	case last != "":
		n, err := strconv.ParseUint(last, 10, 63)
		if err != nil {
			return bad("Last-Event-ID %q: want the id of an event of this server, a number", last)
		}
		cfg.Start, cfg.Value = native.StartSequence, n+1
	case from == "first":
		cfg.Start = native.StartFirst
	case from == "" && stored, from == "new":
		cfg.Start = native.StartNew // the events have ids, so that a client can resume
	case from == "":
	default:
		if n, err := strconv.ParseUint(from, 10, 63); err == nil {
			cfg.Start, cfg.Value = native.StartSequence, n
			break
		}
		t, err := time.Parse(time.RFC3339, from)
		if err != nil || t.UnixNano() < 0 {
			return bad("from %q: want first, new, a sequence number or an RFC 3339 time", from)
		}
		cfg.Start, cfg.Value = native.StartTime, uint64(t.UnixNano())
	}
	return cfg, nil
}

// eventOverhead is the most bytes that an event has beside tag and payload, unless these need escapes.
const eventOverhead = 128

// appendEvent appends a message as an event. Its data is one line: an envelope. https://html.spec.whatwg.org/#parsing-an-event-stream
func appendEvent(b []byte, m *broker.Message) []byte {
	if m.Sequence > 0 {
		b = append(strconv.AppendUint(append(b, "id: "...), m.Sequence, 10), '\n')
	}
	b = append(b, "data: "...)
	b = appendEnvelope(b, m, false)
	return append(b, "\n\n"...)
}

// appendEnvelope appends a message as a JSON object on one line.
func appendEnvelope(b []byte, m *broker.Message, id bool) []byte {
	b = edge.AppendString(append(b, `{"tag":`...), m.Tag)
	b = strconv.AppendInt(append(b, `,"time":`...), m.Time/int64(time.Millisecond), 10)
	if id && m.Sequence > 0 {
		b = strconv.AppendUint(append(b, `,"id":`...), m.Sequence, 10)
	}
	if m.Type != ferry.JSON {
		b = edge.AppendString(append(b, `,"type":`...), m.Type.String())
		b = base64.StdEncoding.AppendEncode(append(b, `,"base64":"`...), m.Payload)
		return append(b, `"}`...)
	}
	b = append(b, `,"payload":`...)
	start := len(b)
	b = append(b, m.Payload...)
	if bytes.ContainsAny(b[start:], "\r\n") { // white space between the values of the payload: within strings it is escaped
		for i, c := range b[start:] {
			if c == '\r' || c == '\n' {
				b[start+i] = ' '
			}
		}
	}
	return append(b, '}')
}
