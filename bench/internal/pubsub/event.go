package pubsub

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

// message is an encoded event, with the offsets of the sequence number and of the send time.
type message struct {
	bytes        []byte
	origin, sent int // offsets of eight bytes each
}

// newMessage makes an event of exactly size bytes.
func newMessage(size int) (*message, error) {
	e := event{DeviceName: "pump-1", Origin: firstOrigin, Readings: []reading{{ResourceName: "temp", Value: "31.5"}}}
	if size >= 300 {
		e.APIVersion, e.ID, e.ProfileName, e.SourceName = "v3", "d5471d59-2810-419a-8744-18eb8fad3465", "Prof", "Src"
	}
	blob := []byte{}
	for {
		e.Readings[0].BinaryValue = blob
		b, err := cbor.Marshal(e)
		if err != nil {
			return nil, fmt.Errorf("pubsub: event: %w", err)
		}
		if len(b) < size {
			blob = bytes.Repeat([]byte{7}, len(blob)+max(1, size-len(b)-4))
			continue
		}
		var origin [8]byte
		binary.BigEndian.PutUint64(origin[:], firstOrigin)
		m := &message{bytes: b, origin: bytes.Index(b, origin[:]), sent: len(b) - len(blob)}
		if len(b) != size || len(blob) < 8 {
			return nil, fmt.Errorf("pubsub: no event has %d bytes: the next larger one has %d", size, len(b))
		}
		return m, nil
	}
}

// set writes the sequence number and the send time into the event. The time is in Unix nanoseconds; 0 means no time.
func (m *message) set(seq uint64, sent int64) {
	binary.BigEndian.PutUint64(m.bytes[m.origin:], firstOrigin+seq)
	binary.BigEndian.PutUint64(m.bytes[m.sent:], uint64(sent))
}

// read compares b with message number seq, and returns the send time of b.
func (m *message) read(b []byte, seq uint64) (sent int64, err error) {
	if len(b) != len(m.bytes) {
		return 0, fmt.Errorf("message %d has %d bytes, want %d", seq, len(b), len(m.bytes))
	}
	if got := binary.BigEndian.Uint64(b[m.origin:]) - firstOrigin; got != seq {
		return 0, fmt.Errorf("message %d came where %d was due", got, seq)
	}
	if !bytes.Equal(b[:m.origin], m.bytes[:m.origin]) ||
		!bytes.Equal(b[m.origin+8:m.sent], m.bytes[m.origin+8:m.sent]) ||
		!bytes.Equal(b[m.sent+8:], m.bytes[m.sent+8:]) {
		return 0, fmt.Errorf("message %d has other bytes than what was sent", seq)
	}
	return int64(binary.BigEndian.Uint64(b[m.sent:])), nil
}
