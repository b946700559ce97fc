package http2

import (
	"encoding/binary"
	"errors"
)

// AppendTo appends a compact copy of h to dst, for a retry or a log. View reads it. The format is private to this package.
func (h *Head) AppendTo(dst []byte) []byte {
	flags := byte(0)
	if h.Trailers {
		flags |= copiedTrailers
	}
	if h.Expect {
		flags |= copiedExpect
	}
	dst = append(dst, flags)
	dst = binary.AppendUvarint(dst, uint64(h.Status))
	dst = binary.AppendVarint(dst, h.ContentLength)
	for _, part := range [...][]byte{h.Method, h.Scheme, h.Authority, h.Path, h.Protocol} {
		dst = appendCopied(dst, part)
	}
	dst = binary.AppendUvarint(dst, uint64(len(h.fields)))
	for i := range h.fields {
		f := &h.fields[i]
		id := byte(f.id)
		if f.sensitive {
			id |= copiedSensitive
		}
		dst = append(dst, id)
		dst = appendCopied(dst, f.name)
		dst = appendCopied(dst, f.value)
	}
	return dst
}

const (
	copiedTrailers  = 1 << 0
	copiedExpect    = 1 << 1
	copiedSensitive = 1 << 7 // above the IDs of names
)

var errCopy = errors.New("http2: the bytes are no copy of a Head: pass the result of Head.AppendTo")

// View makes h a view of p, which AppendTo has written. h must not be one that a Handler got. The views are valid as long as p.
func (h *Head) View(p []byte) error {
	c := copied{rest: p}
	flags := c.byte()
	*h = Head{fields: h.fields[:0], Trailers: flags&copiedTrailers != 0, Expect: flags&copiedExpect != 0}
	h.Status = int(c.number())
	length, n := binary.Varint(c.rest)
	c.skip(n)
	h.ContentLength = length
	for _, part := range [...]*[]byte{&h.Method, &h.Scheme, &h.Authority, &h.Path, &h.Protocol} {
		*part = c.part()
	}
	for count := c.number(); count > 0 && !c.bad; count-- {
		id := c.byte()
		f := headField{id: nameID(id &^ copiedSensitive), sensitive: id&copiedSensitive != 0, name: c.part(), value: c.part()}
		if f.id >= nameCount {
			c.bad = true
		}
		h.fields = append(h.fields, f)
	}
	if c.bad || len(c.rest) > 0 {
		*h = Head{fields: h.fields[:0]}
		return errCopy
	}
	return nil
}

// appendCopied appends p with its length. A nil p and an empty one stay distinct.
func appendCopied(dst, p []byte) []byte {
	if p == nil {
		return append(dst, 0)
	}
	return append(binary.AppendUvarint(dst, uint64(len(p))+1), p...)
}

// copied reads a copy.
type copied struct {
	rest []byte
	bad  bool
}

func (c *copied) skip(n int) {
	if n <= 0 || n > len(c.rest) {
		c.bad, c.rest = true, nil
		return
	}
	c.rest = c.rest[n:]
}

func (c *copied) byte() byte {
	if len(c.rest) == 0 {
		c.bad = true
		return 0
	}
	b := c.rest[0]
	c.rest = c.rest[1:]
	return b
}

func (c *copied) number() uint64 {
	v, n := binary.Uvarint(c.rest)
	c.skip(n)
	return v
}

func (c *copied) part() []byte {
	n := c.number()
	if n == 0 {
		return nil
	}
	n--
	if n > uint64(len(c.rest)) {
		c.bad = true
		return nil
	}
	p := c.rest[:n:n]
	c.rest = c.rest[n:]
	return p
}
