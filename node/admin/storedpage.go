package admin

import (
	"encoding/hex"

	"example.com/ferry/protocol/native"
)

// storedPage is the response to GET /api/streams/{stream}/messages: all records that match the filter, with sequence numbers in
// [From, To]. To is less than From if there are none.
type storedPage struct {
	First    uint64          `json:"first"` // of the stream
	Last     uint64          `json:"last"`  // of the stream
	From     uint64          `json:"from"`
	To       uint64          `json:"to"`
	Messages []storedMessage `json:"messages"` // in order of their sequence numbers
}

// storedMessage is a record of a stream. Times are Unix milliseconds.
type storedMessage struct {
	Sequence   uint64      `json:"sequence"`
	Stored     float64     `json:"stored"`
	Time       float64     `json:"time"` // at the source
	Tag        string      `json:"tag"`
	Type       string      `json:"type"`
	Size       int         `json:"size"`                  // of the payload, bytes
	ID         string      `json:"id,omitempty"`          // idempotency key
	Key        string      `json:"key,omitempty"`         // messages with one key keep their order; as hex if it is no text
	As         string      `json:"as"`                    // what Payload is: json, text or hex; none if the payload is longer than 64 KiB
	Payload    string      `json:"payload,omitempty"`     // a string also for JSON: browsers would round its large integers
	DeadLetter *deadLetter `json:"dead_letter,omitempty"` // of a dead letter
	Error      string      `json:"error,omitempty"`       // why there is nothing but the sequence number
}

// deadLetter says where a dead letter comes from.
type deadLetter struct {
	Stream     string `json:"stream"`
	Sequence   uint64 `json:"sequence"` // in Stream
	Tag        string `json:"tag"`      // that it was published on
	Deliveries uint32 `json:"deliveries"`
	Reason     string `json:"reason"`
}

// page shows records.
func (s *storedStreams) page(found records) storedPage {
	p := storedPage{First: found.first, Last: found.last, From: found.from, To: found.to, Messages: []storedMessage{}}
	for _, r := range found.list {
		p.Messages = append(p.Messages, s.message(r))
	}
	return p
}

func (s *storedStreams) message(r storedRecord) storedMessage {
	if r.damaged != nil {
		return storedMessage{Sequence: r.Sequence, As: "none", Error: r.damaged.Error()}
	}
	m := storedMessage{
		Sequence: r.Sequence, Stored: unixMillis(r.Stored), Time: unixMillis(r.Time), Tag: r.Tag, Type: s.show.typeName(r.Type),
		Size: r.size, ID: r.ID, As: "none",
	}
	if r.size <= maxShown {
		m.Payload, m.As = s.show.readable(r.Type, r.Payload)
	}
	for t, value := range native.TLVs(r.Extension) {
		switch t {
		case native.TLVKey:
			m.Key = textOrHex(value)
		case native.TLVDeadLetter:
			if d, ok := native.ParseDeadLetter(value); ok {
				m.DeadLetter = &deadLetter{d.Stream, d.Sequence, d.Tag, d.Deliveries, d.Reason}
			}
		}
	}
	return m
}

func textOrHex(b []byte) string {
	if printableText(b) {
		return string(b)
	}
	return hex.EncodeToString(b)
}

func unixMillis(ns int64) float64 { return float64(ns/1000) / 1000 }
