package stored

import (
	"example.com/ferry/engine"
	"example.com/ferry/format"
	"example.com/ferry/internal/bufpool"
	"example.com/ferry/protocol/native"
)

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
