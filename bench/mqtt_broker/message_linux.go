package main

import (
	"bytes"
	"fmt"
	"strings"
	"time"
)

// template is the payload of each message, whose numbers differ. They have a fixed number of digits.
var template = fill(`{"publisher":100,"sequence":1000000000000,"due":1000000000000000000,"text":"`)

const size = 256 // bytes of a payload

// The least value of each number, so that it has its digits.
const (
	leastPublisher = 100
	leastSequence  = 1_000_000_000_000
	leastDue       = 1_000_000_000_000_000_000
)

// digits is where a number lies in a payload.
type digits struct{ from, to int }

var (
	publisherAt = find("publisher")
	sequenceAt  = find("sequence")
	dueAt       = find("due")
)

func fill(head string) []byte {
	const end = `"}`
	return []byte(head + strings.Repeat("x", size-len(head)-len(end)) + end)
}

func find(key string) digits {
	from := bytes.Index(template, []byte(`"`+key+`":`)) + len(key) + len(`"":`)
	return digits{from, from + bytes.IndexByte(template[from:], ',')}
}

func (d digits) put(payload []byte, v int64) {
	for i := d.to - 1; i >= d.from; i-- {
		payload[i] = '0' + byte(v%10)
		v /= 10
	}
}

// get returns a number, and whether it has digits only.
func (d digits) get(payload []byte) (v int64, ok bool) {
	for _, c := range payload[d.from:d.to] {
		if c < '0' || c > '9' {
			return 0, false
		}
		v = v*10 + int64(c-'0')
	}
	return v, true
}

// message is what is in a payload.
type message struct {
	publisher int
	sequence  int
	due       time.Duration // since the start of this program
}

// write makes payload, a copy of template, that of m.
func (m message) write(payload []byte) {
	publisherAt.put(payload, leastPublisher+int64(m.publisher))
	sequenceAt.put(payload, leastSequence+int64(m.sequence))
	dueAt.put(payload, leastDue+int64(m.due))
}

// parse reads a payload. Each byte that is no digit of a number must be that of template.
func parse(payload []byte) (m message, err error) {
	if len(payload) != size {
		return m, fmt.Errorf("a message of %d bytes has arrived, want %d", len(payload), size)
	}
	publisher, ok1 := publisherAt.get(payload)
	sequence, ok2 := sequenceAt.get(payload)
	due, ok3 := dueAt.get(payload)
	same := ok1 && ok2 && ok3
	from := 0
	for _, d := range []digits{publisherAt, sequenceAt, dueAt, {size, size}} {
		same = same && bytes.Equal(payload[from:d.from], template[from:d.from])
		from = d.to
	}
	if !same {
		return m, fmt.Errorf("a message has arrived that is not what was sent: %s", payload)
	}
	return message{int(publisher - leastPublisher), int(sequence - leastSequence), time.Duration(due - leastDue)}, nil
}
