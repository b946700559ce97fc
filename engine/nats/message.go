package nats

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"strconv"
	"strings"

	natsgo "github.com/nats-io/nats.go"

	"example.com/ferry"
	"example.com/ferry/engine"
)

// Headers of a message. A message without hdrType was published by another client: it is a raw record.
const (
	hdrType  = "Ferry-Type"  // payload type, decimal
	hdrTime  = "Ferry-Time"  // Unix nanoseconds at the source, decimal
	hdrValid = "Ferry-Valid" // 1: the payload was validated in full
	hdrExt   = "Ferry-Ext"   // the extension, base64
	hdrID    = "Ferry-Id"    // the record's ID, see escapeID; without it hdrMsgID is the ID

	hdrStored = "Ferry-Stored" // of a copied record: when its first engine stored it, Unix nanoseconds, decimal

	hdrTTL            = "Nats-TTL"    // seconds until the server removes the message
	hdrMsgID          = "Nats-Msg-Id" // of the messages with the same one the server stores the first, see messageID
	hdrBatchID        = "Nats-Batch-Id"
	hdrBatchSeq       = "Nats-Batch-Sequence"
	hdrBatchCommit    = "Nats-Batch-Commit"
	hdrExpectedLast   = "Nats-Expected-Last-Sequence"
	hdrExpectedLastID = "Nats-Expected-Last-Msg-Id"
	hdrPending        = "Nats-Num-Pending"
	hdrStatus         = "Status"
)

// headers makes the headers of one message after the other in one map. The map is valid until the next call.
type headers struct {
	header                    natsgo.Header
	typ, time, valid, ext, id [1]string
	msgID                     [1]string
	batchID, batchSeq, commit [1]string
	expected                  [1]string
}

func newHeaders() *headers {
	return &headers{header: make(natsgo.Header, 8), valid: [1]string{"1"}, commit: [1]string{"1"}}
}

// record begins the headers of a message with the fields of r, whose messageID is msgID.
func (h *headers) record(r *engine.Record, msgID string) {
	clear(h.header)
	h.typ[0] = strconv.Itoa(int(r.Type))
	h.header[hdrType] = h.typ[:]
	h.time[0] = strconv.FormatInt(r.Time, 10)
	h.header[hdrTime] = h.time[:]
	if r.Validated {
		h.header[hdrValid] = h.valid[:]
	}
	if len(r.Extension) > 0 {
		h.ext[0] = base64.RawStdEncoding.EncodeToString(r.Extension)
		h.header[hdrExt] = h.ext[:]
	}
	if r.ID != "" {
		h.msgID[0] = msgID
		h.header[hdrMsgID] = h.msgID[:]
		if id := escapeID(r.ID); id != msgID {
			h.id[0] = id
			h.header[hdrID] = h.id[:]
		}
	}
}

// messageID returns the ID of the message of r, by which the server knows a record that it has stored: a hash of tag and ID, or the ID if
// the stream's tags share their IDs. It is empty for a record without an ID.
func messageID(r *engine.Record, shared bool) string {
	switch {
	case r.ID == "":
		return ""
	case shared:
		return escapeID(r.ID)
	}
	h := sha256.New()
	io.WriteString(h, r.Tag) //nolint:errcheck // a hash takes everything
	h.Write([]byte{0})       // a tag has no zero byte
	io.WriteString(h, r.ID)  //nolint:errcheck // as above
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:16])
}

// batch adds the place of the message in an atomic batch. The last one commits the batch.
func (h *headers) batch(id string, number int, last bool) {
	h.batchID[0] = id
	h.header[hdrBatchID] = h.batchID[:]
	h.batchSeq[0] = strconv.Itoa(number)
	h.header[hdrBatchSeq] = h.batchSeq[:]
	if last {
		h.header[hdrBatchCommit] = h.commit[:]
	}
}

// expectLast has the server refuse the message unless the stream's last sequence number is last.
func (h *headers) expectLast(last uint64) {
	h.expected[0] = strconv.FormatUint(last, 10)
	h.header[hdrExpectedLast] = h.expected[:]
}

// impossible has the server refuse the message after it has looked for its ID. A replicated stream checks the expected sequence
// number after the ID, and the expected last ID too late; a stream with one copy checks them the other way round.
func (h *headers) impossible(replicated bool) {
	if replicated {
		h.expectLast(1<<63 - 1)
	} else {
		h.header[hdrExpectedLastID] = []string{"-"}
		if h.msgID[0] == "-" {
			h.header[hdrExpectedLastID] = []string{"--"}
		}
	}
}

// recordOf returns the record of a message. Payload is data, not a copy. The error says why the message is no record.
func recordOf(header natsgo.Header, data []byte, sequence uint64, stored int64) (engine.Record, error) {
	r := engine.Record{Sequence: sequence, Stored: stored, Time: stored, Type: ferry.Raw, Payload: data}
	if v := cmp.Or(first(header, hdrID), first(header, hdrMsgID)); v != "" {
		r.ID = unescapeID(v)
	}
	if first(header, hdrType) == "" {
		return r, nil
	}
	for _, key := range [...]string{hdrType, hdrTime, hdrValid, hdrExt, hdrStored} {
		if v := first(header, key); v != "" {
			if err := setField(&r, key, v); err != nil {
				return engine.Record{}, err
			}
		}
	}
	return r, nil
}

// setField sets the field of r of which a header tells.
func setField(r *engine.Record, key, value string) error {
	switch key {
	case hdrType:
		n, err := strconv.ParseUint(value, 10, 8)
		if err != nil {
			return fmt.Errorf("header %s: %.40q is not a type", hdrType, value)
		}
		r.Type = ferry.Type(n)
	case hdrTime, hdrStored:
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return fmt.Errorf("header %s: %.40q is not a time", key, value)
		}
		if key == hdrTime {
			r.Time = n
		} else {
			r.Stored = n
		}
	case hdrValid:
		r.Validated = value == "1"
	case hdrExt:
		extension, err := base64.RawStdEncoding.DecodeString(value)
		if err != nil {
			return fmt.Errorf("header %s: %w", hdrExt, err)
		}
		r.Extension = extension
	}
	return nil
}

func first(h natsgo.Header, key string) string {
	if v := h[key]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// escapeID returns id as a header can hold it: bytes outside of printable ASCII, spaces and '%' become %XX.
func escapeID(id string) string {
	i := 0
	for i < len(id) && plainID(id[i]) {
		i++
	}
	if i == len(id) {
		return id
	}
	const hex = "0123456789ABCDEF"
	out := append(make([]byte, 0, len(id)+16), id[:i]...)
	for ; i < len(id); i++ {
		if c := id[i]; plainID(c) {
			out = append(out, c)
		} else {
			out = append(out, '%', hex[c>>4], hex[c&15])
		}
	}
	return string(out)
}

func plainID(c byte) bool { return c > ' ' && c < 0x7F && c != '%' }

// unescapeID reverses escapeID. Another client's % that begins no escape stays as it is.
func unescapeID(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if v, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				out = append(out, byte(v))
				i += 2
				continue
			}
		}
		out = append(out, s[i])
	}
	return string(out)
}
