package stored

import (
	"errors"
	"fmt"

	"example.com/ferry/broker/internal/ledger"
	"example.com/ferry/engine"
	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/internal/bufpool"
	"example.com/ferry/internal/clock"
	"example.com/ferry/protocol/native"
)

// Records are the frames of a run as records of a stream. A receiver reuses their memory.
type Records struct {
	list      []engine.Record
	extension []byte // that of all records
}

// Reset removes all records.
func (rs *Records) Reset() {
	clear(rs.list)
	rs.list, rs.extension = rs.list[:0], rs.extension[:0]
}

// Add adds the record of f for st. Its extension has no entries of nodes any more. The error says why the message cannot be stored.
func (rs *Records) Add(st *Stream, tag string, f native.Frame) error {
	cfg := st.config()
	record := engine.Record{
		Tag: tag, Type: f.Type(), Validated: f.Flags()&native.FlagValid != 0, Time: f.Time(), Payload: f.Payload(),
	}
	start := len(rs.extension)
	for t, value := range native.TLVs(f.Extension()) {
		switch t {
		case native.TLVID:
			record.ID = string(value)
		case native.TLVKey:
			if len(value) > native.MaxKey {
				return fmt.Errorf("a key of %d bytes: at most %d are accepted", len(value), native.MaxKey)
			}
			fallthrough
		default:
			rs.extension = native.AppendTLV(rs.extension, t, value)
		}
	}
	record.Extension = rs.extension[start:len(rs.extension):len(rs.extension)]
	if record.ID == "" && cfg.ID.Len() > 0 {
		record.ID = string(valueAt(st.store.formats[record.Type], record.Payload, cfg.ID))
	}
	if len(record.ID) > native.MaxID {
		return fmt.Errorf("an idempotency key of %d bytes: at most %d are accepted", len(record.ID), native.MaxID)
	}
	rs.list = append(rs.list, record)
	return nil
}

// valueAt returns the encoded content of the value at p, as a view. It returns nil if there is none, or no format to find it with.
func valueAt(f format.Format, payload []byte, p field.Path) []byte {
	if f == nil {
		return nil
	}
	s, err := f.Lookup(payload, p)
	if err != nil {
		return nil
	}
	return payload[s.Off:s.End]
}

// Store appends a run, whose frames have that many bytes, to the stream of the tag. kept is false if the stream drops the run. If
// confirmed is true, the credit of the run returns when the run is stored, and done, if not nil, is called then.
func (g *Grant) Store(st *Stream, run *Records, bytes int, c *ledger.Confirmations, done func(error)) (kept, confirmed bool) {
	n := len(run.list)
	if st.AtLeastOnce() {
		g.append(st, run.list, bytes, c, done)
		return true, true
	}
	if st.held.Load() >= int64(st.bound) {
		st.dropped.Add(uint64(n))
		return false, false
	}
	st.begin(g.tag, n, bytes)
	tag := g.tag
	st.config().Stream.Append(run.list, func(err error) { _, _ = st.end(tag, n, bytes, err) })
	return true, false
}

// What a message that waits to be stored, and an append of several, hold in the engine and the ledger beside the bytes of the frames:
// the record with its strings and slices, the place in a queue that has room to grow, and the run.
const (
	heldByMessage = 400
	heldByAppend  = 600
)

// heldBy returns the bytes that an append of n messages holds while it waits.
func heldBy(n, bytes int) int64 { return int64(bytes + n*heldByMessage + heldByAppend) }

// begin counts an append of n messages.
func (st *Stream) begin(t *Tag, n, bytes int) {
	if st.pending.Add(int64(bytes)) == int64(bytes) {
		st.progress.Store(clock.Now())
	}
	st.held.Add(heldBy(n, bytes))
	st.waiting.Add(int64(n))
	t.appending.Add(1)
}

// end counts the end of an append of n messages. ok is false if the engine was closed before it stored them.
func (st *Stream) end(t *Tag, n, bytes int, err error) (refused *engine.AppendError, ok bool) {
	switch {
	case err == nil:
		st.stored.Add(n, bytes)
	case errors.As(err, &refused):
		count := len(refused.Refused)
		st.refused.Add(uint64(count))
		if n > count {
			st.stored.Add(n-count, bytes)
		}
	}
	st.progress.Store(clock.Now())
	if st.reason.Load() != nil {
		st.reason.Store(nil)
	}
	st.waiting.Add(-int64(n))
	t.appending.Add(-1)
	st.pending.Add(-int64(bytes))
	if st.held.Add(-heldBy(n, bytes)) <= int64(st.bound/2) {
		st.release()
	}
	return refused, err == nil || refused != nil
}

// Restrain withholds the credit of a if more than the bound waits to be stored, or has and not yet at most half of it.
func (st *Stream) Restrain(a *ledger.Account) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.hold == nil && st.held.Load() > int64(st.bound) {
		st.hold = &ledger.Hold{}
	}
	if st.hold != nil {
		st.hold.Add(a)
	}
}

// release returns the withheld credit if at most half of the bound waits to be stored.
func (st *Stream) release() {
	st.mu.Lock()
	var hold *ledger.Hold
	if st.held.Load() <= int64(st.bound/2) {
		hold, st.hold = st.hold, nil
	}
	st.mu.Unlock()
	if hold != nil {
		hold.Release()
	}
}

// goneNotice says that n messages are not stored, because the stream is no longer configured.
func (st *Stream) goneNotice(t *Tag, n int) native.NoticeFrame {
	return native.NoticeFrame{
		Tag: t.ID, Count: uint32(n), Code: native.CodeBadRequest, Reason: fmt.Sprintf("the node no longer stores the stream %q", st.name()),
	}
}

// encoder makes PUBs of records. It is used by one goroutine.
type encoder struct {
	formats   *format.ByType
	extension []byte
}

// entries returns the extension of a record: what its publisher gave, its ID, and its key if the stream orders by a field. The slice
// is valid until the next call.
func (e *encoder) entries(cfg *Config, record *engine.Record) (extension, key []byte) {
	key, _ = native.Entry(record.Extension, native.TLVKey)
	withKey := key == nil && cfg.Key.Len() > 0
	if record.ID == "" && !withKey {
		return record.Extension, key
	}
	e.extension = append(e.extension[:0], record.Extension...)
	if withKey {
		if key = valueAt(e.formats[record.Type], record.Payload, cfg.Key); key != nil {
			key = key[:min(len(key), native.MaxKey)]
			e.extension = native.AppendTLV(e.extension, native.TLVKey, key)
		}
	}
	if record.ID != "" {
		e.extension = native.AppendTLV(e.extension, native.TLVID, record.ID)
	}
	return e.extension, key
}

func storedHeader(record *engine.Record) native.PubHeader {
	h := native.PubHeader{Type: record.Type, Time: record.Time}
	if record.Validated {
		h.Flags = native.FlagValid
	}
	return h
}

// storedSize is at least the length of the PUB of a record, in bytes.
func storedSize(record *engine.Record, extension []byte) int {
	const entries = 3*3 + 8 + 4 + 4 + 3 // headers of three entries, the numbers, a long length, padding
	return native.PubHeaderSize + entries + len(record.Tag) + len(extension) + len(record.Payload)
}

// frame returns the PUB of a record in a buffer of its own, which the caller releases.
func (e *encoder) frame(cfg *Config, record *engine.Record) (f *bufpool.Buf, key []byte) {
	extension, key := e.entries(cfg, record)
	f = bufpool.Get(storedSize(record, extension))
	f.B = native.AppendStoredPub(f.B, storedHeader(record), native.Stored{Tag: record.Tag, Sequence: record.Sequence}, extension, record.Payload)
	return f, key
}

// appendAgain appends the PUB f, which was delivered before.
func appendAgain(dst []byte, f native.Frame, deliveries uint32) []byte {
	v, err := native.ParseStored(f)
	if err != nil {
		return append(dst, f...) // impossible: the broker has made f
	}
	h := native.PubHeader{Flags: f.Flags(), Type: f.Type(), Time: f.Time()}
	return native.AppendStoredPub(dst, h, native.Stored{Tag: string(v.Tag), Sequence: v.Sequence, Deliveries: deliveries}, f.Extension(), f.Payload())
}
