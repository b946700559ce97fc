// Package numbered makes messages that differ in a sequence number only, and compares received ones with them byte for byte.
//
//	m, err := numbered.New(1<<10, 0)
//	m.Set(7, time.Now().UnixNano())
//	send(m.Bytes)
//	...
//	sent, err := m.Read(received, 7)
package numbered

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/fxamacker/cbor/v2"
)

// event is an EdgeX event; one of 100 bytes has only the fields that functions read.
type event struct {
	APIVersion  string    `cbor:"apiVersion,omitempty"`
	ID          string    `cbor:"id,omitempty"`
	DeviceName  string    `cbor:"deviceName"`
	ProfileName string    `cbor:"profileName,omitempty"`
	SourceName  string    `cbor:"sourceName,omitempty"`
	Origin      uint64    `cbor:"origin"`
	Readings    []reading `cbor:"readings"`
}

type reading struct {
	ResourceName string `cbor:"resourceName"`
	Value        string `cbor:"value"`
	BinaryValue  []byte `cbor:"binaryValue"`
}

// firstOrigin is the origin of message 0: a time in nanoseconds. CBOR encodes such a large number in eight bytes, so all
// messages have the same length.
const firstOrigin = 1_700_000_000_000_000_000

// Message is an EdgeX event in CBOR, with the offsets of what differs.
type Message struct {
	Bytes        []byte
	value        int // offset of the reading's value: four bytes
	origin, sent int // offsets of the sequence number and of the send time: eight bytes each
	rare         uint64
}

// The values of the reading.
const (
	usual = "31.5"
	rare  = "99.5"
)

// Where is true for the messages with the rare value.
const Where = "readings.0.value > 90"

// New makes an event of exactly size bytes. Each rare-th event, beginning with number 0, has the rare value; 0 means that none has.
func New(size, rareth int) (*Message, error) {
	e := event{DeviceName: "pump-1", Origin: firstOrigin, Readings: []reading{{ResourceName: "temp", Value: usual}}}
	if size >= 300 {
		e.APIVersion, e.ID, e.ProfileName, e.SourceName = "v3", "d5471d59-2810-419a-8744-18eb8fad3465", "Prof", "Src"
	}
	blob := []byte{}
	for {
		e.Readings[0].BinaryValue = blob
		b, err := cbor.Marshal(e)
		if err != nil {
			return nil, fmt.Errorf("numbered: event: %w", err)
		}
		if len(b) < size {
			blob = bytes.Repeat([]byte{7}, len(blob)+max(1, size-len(b)-4))
			continue
		}
		var origin [8]byte
		binary.BigEndian.PutUint64(origin[:], firstOrigin)
		m := &Message{
			Bytes: b, value: bytes.LastIndex(b[:len(b)-len(blob)], []byte(usual)), origin: bytes.Index(b, origin[:]), sent: len(b) - len(blob),
			rare: uint64(rareth),
		}
		if len(b) != size || len(blob) < 8 {
			return nil, fmt.Errorf("numbered: no event has %d bytes: the next larger one has %d", size, len(b))
		}
		return m, nil
	}
}

// Rare reports whether Where is true for message number seq.
func (m *Message) Rare(seq uint64) bool { return m.rare > 0 && seq%m.rare == 0 }

// Set writes the sequence number and the send time into the event. The time is in Unix nanoseconds; 0 means no time.
func (m *Message) Set(seq uint64, sent int64) {
	m.setValue(seq)
	binary.BigEndian.PutUint64(m.Bytes[m.origin:], firstOrigin+seq)
	binary.BigEndian.PutUint64(m.Bytes[m.sent:], uint64(sent))
}

func (m *Message) setValue(seq uint64) {
	v := usual
	if m.Rare(seq) {
		v = rare
	}
	copy(m.Bytes[m.value:], v)
}

// Number returns the sequence number of b, a message of the same size.
func (m *Message) Number(b []byte) (seq uint64, err error) {
	if len(b) != len(m.Bytes) {
		return 0, fmt.Errorf("a message has %d bytes, want %d", len(b), len(m.Bytes))
	}
	return binary.BigEndian.Uint64(b[m.origin:]) - firstOrigin, nil
}

// Read compares b with message number seq, and returns the send time of b.
func (m *Message) Read(b []byte, seq uint64) (sent int64, err error) {
	if len(b) != len(m.Bytes) {
		return 0, fmt.Errorf("message %d has %d bytes, want %d", seq, len(b), len(m.Bytes))
	}
	m.setValue(seq)
	if got := binary.BigEndian.Uint64(b[m.origin:]) - firstOrigin; got != seq {
		return 0, fmt.Errorf("message %d came where %d was due", got, seq)
	}
	if !bytes.Equal(b[:m.origin], m.Bytes[:m.origin]) ||
		!bytes.Equal(b[m.origin+8:m.sent], m.Bytes[m.origin+8:m.sent]) ||
		!bytes.Equal(b[m.sent+8:], m.Bytes[m.sent+8:]) {
		return 0, fmt.Errorf("message %d has other bytes than what was sent", seq)
	}
	return int64(binary.BigEndian.Uint64(b[m.sent:])), nil
}
