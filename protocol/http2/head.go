package http2

import "sync"

// Head is a decoded field block: a request, a response or trailers. Conn has judged it (RFC 9113, sections 8.2 and 8.3), so its
// parts can be forwarded. All slices are views that are valid until Handler.Headers returns; AppendTo copies them.
type Head struct {
	// These parts are set for a request. Path is as sent and includes the query. It is nil for a plain CONNECT, and so is Scheme.
	// Authority is the value of :authority, or of Host if the request has no :authority.
	Method, Scheme, Authority, Path []byte
	Protocol                        []byte // :protocol of an extended CONNECT; RFC 8441

	Status        int   // set for a response
	Trailers      bool  // the block ends a message whose head was passed on before
	ContentLength int64 // in bytes; -1 if the head does not say
	Expect        bool  // the request has Expect: 100-continue; RFC 9110, section 10.1.1

	fields []headField
	judge  headJudge
	arena  []byte // the decoded strings in Huffman code
}

// headField is a regular field.
type headField struct {
	name, value []byte
	id          nameID
	sensitive   bool
}

// Len returns the number of regular fields. Pseudo-header fields are not counted.
func (h *Head) Len() int { return len(h.fields) }

// Field returns the regular field with the index, from 0 to Len()-1. The name is in lower case.
func (h *Head) Field(i int) (name, value []byte) { return h.fields[i].name, h.fields[i].value }

// Sensitive reports whether the peer forbids to index the field in any table. Forward it with Encoder.Sensitive. RFC 7541,
// section 7.1.3.
func (h *Head) Sensitive(i int) bool { return h.fields[i].sensitive }

// All calls yield for each regular field in the order of the block, until yield returns false. Several cookie fields are joined
// to one (RFC 9113, section 8.2.3).
func (h *Head) All(yield func(name, value []byte) bool) {
	for i := range h.fields {
		if f := &h.fields[i]; !yield(f.name, f.value) {
			return
		}
	}
}

// Get returns the value of the first regular field with the name, or nil. The case of letters in name does not matter.
func (h *Head) Get(name string) []byte { return h.Nth(name, 0) }

// Nth returns the value of the n-th regular field with the name, counted from 0, or nil if there are fewer.
func (h *Head) Nth(name string, n int) []byte {
	id := nameIDOf(name)
	for i := range h.fields {
		f := &h.fields[i]
		if f.id != id || id == nameOther && !equalFoldString(f.name, name) {
			continue
		}
		switch {
		case n > 0:
			n--
		case f.value == nil:
			return []byte{}
		default:
			return f.value
		}
	}
	return nil
}

// equalFoldString reports whether name equals s if the case of the letters of s is ignored. name is in lower case.
func equalFoldString(name []byte, s string) bool {
	if len(name) != len(s) {
		return false
	}
	for i := range name {
		c := s[i]
		if c-'A' < 26 {
			c |= 0x20
		}
		if name[i] != c {
			return false
		}
	}
	return true
}

// headPool has Heads for the time of one field block, so idle connections hold none.
var headPool = sync.Pool{New: func() any { return &Head{fields: make([]headField, 0, 32), arena: make([]byte, 0, 1<<10)} }}

// keptArena is the largest arena of a Head in the pool, in bytes.
const keptArena = 64 << 10

// begin prepares h for a block of the kind.
func (h *Head) begin(kind blockKind, cfg *Config, extended bool) {
	h.Method, h.Scheme, h.Authority, h.Path, h.Protocol = nil, nil, nil, nil, nil
	h.Status, h.Trailers, h.ContentLength, h.Expect = 0, kind == trailersBlock, -1, false
	h.fields, h.arena = h.fields[:0], h.arena[:0]
	h.judge = headJudge{kind: kind, maxSize: cfg.MaxHeader, maxFields: cfg.MaxFields, extended: extended}
}

// release returns h to the pool.
func (h *Head) release() {
	if cap(h.arena) > keptArena {
		h.arena = nil
	}
	clear(h.fields) // the views would keep the connection's buffers alive
	headPool.Put(h)
}
