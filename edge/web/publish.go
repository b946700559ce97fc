package web

import (
	"bytes"
	"fmt"
	"strconv"

	"example.com/ferry"
	"example.com/ferry/broker"
	"example.com/ferry/edge"
	"example.com/ferry/internal/mediatype"
	"example.com/ferry/protocol/http1"
	"example.com/ferry/protocol/native"
)

// publishing is the part of a request that publishes.
type publishing struct {
	client    *publisher // nil unless the request publishes
	tag       *tag
	lines     bool // each line of the body is a message
	typ       ferry.Type
	extension []byte
	stored    bool // the response waits until all messages are stored

	carry    carry
	complete bool // the body has ended
	line     int  // lines that are published or refused
	taken    int  // messages that are published
	refused  int
	failures []failure // of the first messages that were refused
	pending  int       // calls of Publish whose messages are not stored yet
	unstored error     // of the storage
}

// failure says why a line was refused.
type failure struct {
	line int // from 1
	err  error
}

// Bounds of a batch.
const (
	maxFailures = 10 // whose reasons the response has
	maxMessages = 64 // published together
)

// beginPublish handles the head of a POST.
func (r *request) beginPublish(who *credential, name []byte) {
	s := r.ls.server
	if r.head.Framing == http1.Length && r.head.Length > int64(s.cfg.MaxMessage) && !r.isBatch() {
		r.fail(413, "too_large", fmt.Sprintf("a message of %d bytes: at most %d are accepted", r.head.Length, s.cfg.MaxMessage))
		return
	}
	media := mediatype.Base(string(r.fields.contentType))
	t, known := payloadType(media)
	r.lines = ndjson[media]
	if !known && !r.lines {
		r.fail(415, "media_type", "the media type is not known: send application/json, application/cbor, application/x-ndjson, ... (docs/http.md)")
		return
	}
	r.typ = t
	if r.lines {
		r.typ = ferry.JSON
	}
	switch ack := string(r.fields.ack); ack {
	case "", "routed":
	case "stored":
		r.stored = true
	default:
		r.fail(400, "bad_request", fmt.Sprintf("Ferry-Ack %q: want routed or stored", ack))
		return
	}
	if err := r.takeEntries(); err != nil {
		r.fail(errorOf(err))
		return
	}
	client, err := r.ls.publisher(who, r.conn)
	if err != nil {
		r.fail(errorOf(err))
		return
	}
	r.ls.Identified(r.conn)
	if client.leaving {
		r.fail(503, "draining", "the node is stopping")
		return
	}
	t2, err := client.tag(name)
	if err != nil {
		r.ls.refused(client.local, r.conn, err)
		r.fail(errorOf(err))
		return
	}
	client.enter(t2)
	r.client, r.tag = client, t2
	if r.head.Expect {
		r.conn.Write([]byte(http1.Continue))
	}
	r.state = readingBody
}

func (r *request) isBatch() bool { return ndjson[mediatype.Base(string(r.fields.contentType))] }

// takeEntries makes the extension of the messages.
func (r *request) takeEntries() error {
	f := &r.fields
	if len(f.key) > native.MaxKey || len(f.id) > native.MaxID {
		return &native.Error{Code: native.CodeBadRequest, Reason: fmt.Sprintf("a Ferry-Key has at most %d bytes, an Idempotency-Key %d", native.MaxKey, native.MaxID)}
	}
	if len(f.id) > 0 && r.lines {
		return &native.Error{Code: native.CodeBadRequest, Reason: "an Idempotency-Key belongs to one message: the stream's id names the field of each line that is the key"}
	}
	if len(f.key) > 0 {
		r.extension = native.AppendTLV(r.extension, native.TLVKey, f.key)
	}
	if len(f.id) > 0 {
		r.extension = native.AppendTLV(r.extension, native.TLVID, f.id)
	}
	return nil
}

// publishContent handles a piece of the body. last says that nothing follows.
func (r *request) publishContent(p []byte, last bool) {
	limit := r.ls.server.cfg.MaxMessage
	switch {
	case !r.lines && len(r.carry.bytes())+len(p) > limit:
		r.fail(413, "too_large", fmt.Sprintf("a message of more than %d bytes", limit))
		return
	case !r.lines && !last:
		r.carry.append(p)
		return
	case r.carry.buf != nil:
		r.carry.append(p)
		r.carry.cut(r.publish(r.carry.bytes(), last))
	default:
		if n := r.publish(p, last); n < len(p) {
			r.carry.append(p[n:])
		}
	}
	r.checkLine(limit)
}

// checkLine refuses a line that is too long.
func (r *request) checkLine(limit int) {
	if r.state == readingBody && r.lines && len(r.carry.bytes()) > limit {
		r.keepAlive = false
		r.failures = append(r.failures, failure{r.line + 1, &native.Error{Code: native.CodeTooLarge, Reason: fmt.Sprintf("a line of more than %d bytes", limit)}})
		r.refused++
		r.finishPublish()
	}
}

// endContent ends the body.
func (r *request) endContent() {
	r.complete = true
	if rest := r.carry.bytes(); len(rest) > 0 || !r.lines && r.line == 0 {
		r.carry.cut(r.publish(rest, true))
	}
	r.settle()
}

// publish publishes the messages in p. last says that what has no newline is a message too. It returns how many bytes are done. If the
// tag has no credit, the request waits.
func (r *request) publish(p []byte, last bool) (n int) {
	ls := r.ls
	ls.batch.Begin()
	defer ls.batch.End()
	for r.state == readingBody && (n < len(p) || !r.lines && r.line == 0) {
		used := n
		messages := ls.messages[:0]
		ends := ls.ends[:0]
		for len(messages) < maxMessages && used < len(p) || !r.lines && len(messages) == 0 {
			end, next, ok := r.nextMessage(p, used, last)
			if !ok {
				break
			}
			m := broker.Message{Type: r.typ, Payload: p[used:end], Extension: r.extension}
			used = next
			if r.lines && len(bytes.TrimSpace(m.Payload)) == 0 {
				if len(ends) > 0 {
					ends[len(ends)-1] = used
				} else {
					n = used
				}
				continue // an empty line
			}
			messages, ends = append(messages, m), append(ends, used)
		}
		ls.messages, ls.ends = messages[:0], ends[:0]
		if len(messages) == 0 {
			return n
		}
		for done := 0; done < len(messages) && r.state == readingBody; {
			took, err := ls.batch.Publish(r.tag.grant, messages[done:], r.confirmation())
			if r.taken += took; r.stored && took > 0 {
				r.pending++
			}
			r.line += took
			done += took
			switch {
			case err != nil:
				r.refuseLine(err)
				done++
			case done < len(messages):
				r.await()
			}
			if done > 0 {
				n = ends[done-1]
			}
		}
		clear(messages)
	}
	return n
}

// nextMessage returns where the message at offset from ends, and where the next one begins. ok is false if it is not complete.
func (r *request) nextMessage(p []byte, from int, last bool) (end, next int, ok bool) {
	if !r.lines {
		return len(p), len(p), true
	}
	if i := bytes.IndexByte(p[from:], '\n'); i >= 0 {
		return from + i, from + i + 1, true
	}
	return len(p), len(p), last
}

func (r *request) refuseLine(err error) {
	r.line++
	r.refused++
	if len(r.failures) < maxFailures {
		r.failures = append(r.failures, failure{r.line, err})
	}
}

// await makes the request wait for credit.
func (r *request) await() {
	r.state = waiting
	r.tag.waiting = append(r.tag.waiting, r)
	r.conn.PauseReading()
	r.conn.SetTimer(idleTimer, r.ls.server.cfg.StoreTimeout)
}

// goOn continues a request that has waited for credit.
func (r *request) goOn() {
	if r.state != waiting {
		return
	}
	c := r.conn
	r.state = readingBody
	c.SetTimer(idleTimer, r.ls.server.Config().WriteTimeout)
	r.carry.cut(r.publish(r.carry.bytes(), r.complete || !r.lines))
	switch {
	case r.state != readingBody:
		return
	case r.complete || r.body.Done():
		r.endContent()
	default:
		if len(c.Unread()) > 0 {
			c.PauseReading()
		}
		c.ResumeReading()
	}
}

// confirmation returns the function that is called when what is published next is stored, or nil if the response does not wait for it.
func (r *request) confirmation() func(error) {
	if !r.stored {
		return nil
	}
	generation, ls := r.generation, r.ls
	return func(err error) {
		ls.Notify(func() {
			if r.generation == generation {
				r.confirmed(err)
			}
		})
	}
}

func (r *request) confirmed(err error) {
	r.pending--
	if r.unstored == nil {
		r.unstored = err
	}
	if r.state == settling {
		r.settle()
	}
}

// settle responds when everything is stored that the response waits for.
func (r *request) settle() {
	switch {
	case r.state != readingBody && r.state != settling:
	case r.pending > 0:
		if r.state == readingBody {
			r.state = settling
			r.conn.PauseReading()
			r.conn.SetTimer(idleTimer, r.ls.server.cfg.StoreTimeout)
		}
	default:
		r.finishPublish()
	}
}

// finishPublish responds.
func (r *request) finishPublish() {
	if r.refused > 0 {
		r.ls.refused(r.client.local, r.conn, r.failures[0].err)
	}
	switch {
	case r.unstored != nil:
		r.fail(errorOf(r.unstored))
	case r.lines:
		status := 200
		if r.refused > 0 {
			status = 422
		}
		r.respond(status, "application/json", r.batchResult(), "")
	case r.refused > 0:
		r.fail(errorOf(r.failures[0].err))
	default:
		r.respond(204, "", nil, "")
	}
}

// batchResult is the body of the response to a batch.
func (r *request) batchResult() []byte {
	b := strconv.AppendInt(append(make([]byte, 0, 64), `{"published":`...), int64(r.taken), 10)
	b = strconv.AppendInt(append(b, `,"refused":`...), int64(r.refused), 10)
	for i, f := range r.failures {
		if b = append(b, ','); i == 0 {
			b = append(b, `"errors":[`...)
		}
		_, code, reason := errorOf(f.err)
		b = strconv.AppendInt(append(b, `{"line":`...), int64(f.line), 10)
		b = edge.AppendString(append(b, `,"code":`...), code)
		b = append(edge.AppendString(append(b, `,"reason":`...), reason), '}')
	}
	if len(r.failures) > 0 {
		b = append(b, ']')
	}
	return append(b, "}\n"...)
}
