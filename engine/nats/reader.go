package nats

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"example.com/ferry/engine"
)

const (
	readBatch = 1000    // messages of a request
	readBytes = 2 << 20 // and their bytes, headers included
	readWait  = 30 * time.Second
)

// reader reads the messages of a stream in order with a JetStream consumer of its own. The consumer needs no acknowledgements.
// When it is lost, or has missed a message, the reader makes another one that continues behind the last message.
type reader struct {
	s        *stream
	subjects []string // filters; nil matches all
	next     uint64   // lowest sequence number that was not read

	headersOnly bool

	consumer string // "" when there is none
	subject  string // requests go there
	inbox    string
	sub      *natsgo.Subscription
	arrived  chan *natsgo.Msg
	read     uint64 // messages that the consumer has delivered
	wanted   int    // messages that were asked for and have not arrived
	oversize bool   // the next message is larger than readBytes
}

// place is where a message is in the stream.
type place struct {
	sequence uint64
	stored   int64
	pending  uint64 // matching messages behind it
}

// receive returns the next message. Without wait it returns nil if none has arrived.
func (r *reader) receive(ctx context.Context, wait bool, stop <-chan struct{}) (*natsgo.Msg, place, error) {
	for {
		if r.consumer == "" {
			if err := r.open(ctx, stop); err != nil {
				return nil, place{}, err
			}
		}
		if err := r.request(); err != nil {
			r.reset()
			continue
		}
		m, err := r.take(ctx, wait, stop)
		if err != nil || m == nil && !wait {
			return nil, place{}, err
		}
		if m == nil {
			continue
		}
		p, ok := parsePlace(m.Reply)
		if !ok {
			r.status(m)
			continue
		}
		r.wanted = max(r.wanted-1, 0)
		r.oversize = false
		if r.read++; p.delivered != r.read {
			r.reset() // a message was lost on the way
			continue
		}
		r.next = p.sequence + 1
		return m, p.place, nil
	}
}

// take returns what has arrived. It returns nil after it has waited in vain; the consumer is then gone.
func (r *reader) take(ctx context.Context, wait bool, stop <-chan struct{}) (*natsgo.Msg, error) {
	select {
	case m := <-r.arrived:
		return m, nil
	default:
	}
	if !wait {
		return nil, nil
	}
	silence := time.NewTimer(2*beat + beat/2)
	defer silence.Stop()
	cut := r.s.e.cut.wait()
	select {
	case m := <-r.arrived:
		return m, nil
	case <-silence.C:
		r.reset()
		return nil, nil
	case <-cut:
		r.reset()
		return nil, nil
	case <-stop:
		return nil, errStopped
	case <-r.s.ending:
		return nil, r.s.endError()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

var errStopped = errors.New("the cursor was stopped")

// open makes a consumer.
func (r *reader) open(ctx context.Context, stop <-chan struct{}) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stopped := make(chan struct{})
	defer close(stopped)
	go func() {
		select {
		case <-stop:
			cancel(errStopped)
		case <-r.s.ending:
			cancel(r.s.endError())
		case <-stopped:
		}
	}()
	nc := r.s.e.read
	r.inbox = nc.NewInbox()
	r.arrived = make(chan *natsgo.Msg, 2*readBatch+64) // it has room for all that is asked for, and for statuses
	sub, err := nc.ChanSubscribe(r.inbox, r.arrived)
	if err != nil {
		return err
	}
	name := "ferry-" + r.s.e.session + "-" + strconv.FormatUint(r.s.e.serial.Add(1), 36)
	config := jetstream.ConsumerConfig{
		Name: name, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: r.next,
		AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true, Replicas: 1, InactiveThreshold: 2 * readWait, HeadersOnly: r.headersOnly,
	}
	switch len(r.subjects) {
	case 0:
	case 1:
		config.FilterSubject = r.subjects[0]
	default:
		config.FilterSubjects = r.subjects
	}
	_, err = request(ctx, r.s.e, func(ctx context.Context) (jetstream.Consumer, error) {
		return r.s.e.js.CreateOrUpdateConsumer(ctx, r.s.js(), config)
	})
	if err != nil {
		sub.Unsubscribe() //nolint:errcheck // the first error counts
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			err = engine.ErrNoStream
		}
		return err
	}
	r.sub, r.consumer = sub, name
	r.subject = "$JS.API.CONSUMER.MSG.NEXT." + r.s.js() + "." + name
	r.read, r.wanted = 0, 0
	return nil
}

// request asks for more messages when half of those asked for have arrived and were taken.
func (r *reader) request() error {
	if r.wanted+len(r.arrived) > readBatch/2 || r.oversize && r.wanted > 0 {
		return nil
	}
	pull := struct {
		Expires   time.Duration `json:"expires"`
		Batch     int           `json:"batch"`
		MaxBytes  int           `json:"max_bytes,omitempty"`
		Heartbeat time.Duration `json:"idle_heartbeat"`
	}{readWait, readBatch, readBytes, beat}
	if r.oversize {
		pull.Batch, pull.MaxBytes = 1, 0
	}
	body, err := json.Marshal(pull)
	if err != nil {
		return err
	}
	if err := r.s.e.read.PublishRequest(r.subject, r.inbox, body); err != nil {
		return err
	}
	r.wanted += pull.Batch
	return nil
}

// status handles a message of the server that is not of the stream.
func (r *reader) status(m *natsgo.Msg) {
	status := m.Header.Get(hdrStatus)
	if status == "100" { // heartbeat
		return
	}
	unsent, err := strconv.Atoi(m.Header.Get("Nats-Pending-Messages"))
	if status == "503" || err != nil { // the consumer is gone, or its leader
		r.reset()
		return
	}
	r.wanted = max(r.wanted-unsent, 0)
	if left := m.Header.Get("Nats-Pending-Bytes"); status == "409" && left == strconv.Itoa(readBytes) {
		r.oversize = true
	}
}

// reset gives up the consumer. The server removes it after a while.
func (r *reader) reset() {
	if r.consumer == "" {
		return
	}
	r.consumer = ""
	r.sub.Unsubscribe() //nolint:errcheck // the connection may be closed
}

// close removes the consumer.
func (r *reader) close() {
	if r.consumer == "" {
		return
	}
	name := r.consumer
	r.reset()
	r.s.e.read.Publish("$JS.API.CONSUMER.DELETE."+r.s.js()+"."+name, nil) //nolint:errcheck // the server removes it after a while
}

// delivery is what the reply subject of a message says.
type delivery struct {
	place
	delivered uint64 // messages that the consumer has delivered, this one included
}

// parsePlace reads $JS.ACK.STREAM.CONSUMER.DELIVERIES.SEQUENCE.DELIVERED.TIME.PENDING, or the form with two more tokens before
// STREAM and more behind PENDING.
func parsePlace(reply string) (d delivery, ok bool) {
	rest, ok := strings.CutPrefix(reply, "$JS.ACK.")
	if !ok {
		return d, false
	}
	if strings.Count(rest, ".") > 6 {
		for range 2 {
			_, rest, _ = strings.Cut(rest, ".")
		}
	}
	for range 3 { // stream, consumer, deliveries
		_, rest, _ = strings.Cut(rest, ".")
	}
	var stored uint64
	for _, to := range [...]*uint64{&d.sequence, &d.delivered, &stored, &d.pending} {
		var token string
		token, rest, _ = strings.Cut(rest, ".")
		n, err := strconv.ParseUint(token, 10, 64)
		if err != nil {
			return d, false
		}
		*to = n
	}
	d.stored = int64(stored)
	return d, true
}
