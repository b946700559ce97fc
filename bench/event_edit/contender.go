package main

import (
	"errors"
	"net"
	"slices"
	"time"

	"example.com/ferry/bench/internal/events"
	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/field"
)

// identity is an ID as text and as bytes, so that no row converts the ID in the measured time.
type identity struct {
	text  string
	bytes []byte
}

func newIdentity(text string) *identity { return &identity{text, []byte(text)} }

// Successive edits use different IDs, so that each edit changes the event.
var (
	sameLength  = []*identity{newIdentity(events.UUID(0xa)), newIdentity(events.UUID(0xb))}
	otherLength = []*identity{newIdentity("Something New1"), newIdentity("Something New22")} // as the seed's
)

// message is an encoded event in one part or several. It is valid until the next edit.
type message [][]byte

// contender is one measured way to edit an event, and a row of the report.
type contender struct {
	name    string
	kind    harness.Kind
	version string
	in      encoding
	ids     []*identity
	without []string // the cases in which the row is not measured

	// tools returns the operations for events of up to size bytes.
	tools func(size int) tools
}

// tools are the operations of a row. An operation that it does not support is nil.
type tools struct {
	edit   func(doc []byte, id *identity) (message, error) // returns the event with another ID
	decode func(doc []byte) (any, error)                   // returns an *events.Event or *edgex.Event
	encode func(event any) ([]byte, error)
}

// The names of figures beside those of harness.
const (
	decodeTime  = "decode ns/op"
	decodeBytes = "decode B/op"
	encodeTime  = "encode ns/op"
	encodeBytes = "encode B/op"
	socketTime  = "edit and send to a unix socket, ns/op"
)

// takesPart reports whether the row is measured in a case.
func (c contender) takesPart(name string) bool { return !slices.Contains(c.without, name) }

// measure times each operation of the row on the events of a case.
func (c contender) measure(name string, budget time.Duration) (harness.Figures, error) {
	s, err := sampleOf(name)
	if err != nil || !c.takesPart(name) {
		return nil, err
	}
	docs := s.clones(c.in)
	t, mask := c.tools(len(docs[0])), len(docs)-1
	timed := timer{budget: budget}
	figures := timed.run(func(i int) error {
		_, err := t.edit(docs[i&mask], c.ids[i&1])
		if err != nil && name == absent && errors.Is(err, field.ErrNotFound) {
			return nil
		}
		return err
	})
	if name != absent {
		socket, err := newSocket()
		if err != nil {
			return nil, err
		}
		defer socket.close()
		go socket.drain()
		figures[socketTime] = timed.run(func(i int) error {
			m, err := t.edit(docs[i&mask], c.ids[i&1])
			if err != nil {
				return err
			}
			return send(socket.near, m)
		})[harness.NsPerOp]
	}
	if t.decode != nil {
		event, err := t.decode(docs[0])
		if err != nil {
			return nil, err
		}
		f := timed.run(func(i int) error {
			_, err := t.decode(docs[i&mask])
			return err
		})
		figures[decodeTime], figures[decodeBytes] = f[harness.NsPerOp], f[harness.BytesPerOp]
		f = timed.run(func(int) error {
			_, err := t.encode(event)
			return err
		})
		figures[encodeTime], figures[encodeBytes] = f[harness.NsPerOp], f[harness.BytesPerOp]
	}
	return figures, timed.err
}

// timer measures operations that may fail. After the first failure it runs no more operations.
type timer struct {
	budget time.Duration
	err    error
}

func (t *timer) run(op func(i int) error) harness.Figures {
	return harness.Time(func(n int) {
		for i := 0; i < n && t.err == nil; i++ {
			t.err = op(i)
		}
	}, t.budget)
}

// send writes all parts of a message by one system call.
func send(to net.Conn, m message) error {
	if len(m) == 1 {
		_, err := to.Write(m[0])
		return err
	}
	parts := net.Buffers(m)
	_, err := parts.WriteTo(to)
	return err
}
