package keepalive

import (
	"bytes"
	"fmt"
	"strconv"

	"golang.org/x/net/http2/hpack"
)

// headerBlock is a header block that is sent again and again. The first one on a connection fills the dynamic table (RFC 7541),
// and all later ones refer to it.
type headerBlock struct{ first, later []byte }

// newHeaderBlock encodes fields for a peer whose dynamic table holds up to tableSize bytes.
func newHeaderBlock(tableSize uint32, fields [][2]string) headerBlock {
	var out bytes.Buffer
	e := hpack.NewEncoder(&out)
	e.SetMaxDynamicTableSizeLimit(tableSize)
	encode := func() []byte {
		out.Reset()
		for _, f := range fields {
			_ = e.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}) // a bytes.Buffer accepts all writes
		}
		return bytes.Clone(out.Bytes())
	}
	return headerBlock{encode(), encode()}
}

func requestFields(scheme string, size int) [][2]string {
	return [][2]string{
		{":method", "POST"},
		{":scheme", scheme},
		{":path", "/orders/1234"},
		{":authority", "orders.example"},
		{"user-agent", "bench"},
		{"accept", "*/*"},
		{"content-type", "application/octet-stream"},
		{"content-length", strconv.Itoa(size)},
	}
}

func responseFields(size int) [][2]string {
	return [][2]string{
		{":status", "200"},
		{"server", "bench"},
		{"content-type", "application/octet-stream"},
		{"content-length", strconv.Itoa(size)},
	}
}

// headerReader decodes header blocks and tests them.
type headerReader struct {
	decoder *hpack.Decoder
	valid   []byte // the last valid block that does not change the dynamic table: the same bytes are valid again
}

func newHeaderReader() *headerReader { return &headerReader{decoder: hpack.NewDecoder(4096, nil)} }

// read returns an error if a block lacks a field, or has it with another value. A content-length that is there has to match.
func (h *headerReader) read(block []byte, want map[string]string) error {
	if len(h.valid) > 0 && bytes.Equal(block, h.valid) {
		return nil
	}
	fields, err := h.decoder.DecodeFull(block)
	if err != nil {
		return err
	}
	found := 0
	for _, f := range fields {
		value, ok := want[f.Name]
		if !ok {
			continue
		}
		if f.Value != value {
			return fmt.Errorf("%s %q: want %q", f.Name, f.Value, value)
		}
		if f.Name[0] == ':' {
			found++
		}
	}
	pseudo := 0
	for name := range want {
		if name[0] == ':' {
			pseudo++
		}
	}
	if found != pseudo {
		return fmt.Errorf("the fields %v: want %v", fields, want)
	}
	if !changesTable(block) {
		h.valid = append(h.valid[:0], block...)
	} else {
		h.valid = h.valid[:0]
	}
	return nil
}

// changesTable reports whether a valid block adds to the dynamic table or resizes it. RFC 7541, section 6.
func changesTable(block []byte) bool {
	for len(block) > 0 {
		var prefix uint
		switch b := block[0]; {
		case b&0x80 != 0: // indexed
			_, block = hpackInteger(block, 7)
			continue
		case b&0x40 != 0, b&0x20 != 0: // literal with indexing, size update
			return true
		default:
			prefix = 4
		}
		index, rest := hpackInteger(block, prefix)
		if index == 0 {
			rest = hpackString(rest)
		}
		block = hpackString(rest)
	}
	return false
}

// hpackInteger decodes an integer whose first byte has prefix bits for it. RFC 7541, section 5.1.
func hpackInteger(p []byte, prefix uint) (value int, rest []byte) {
	value = int(p[0]) & (1<<prefix - 1)
	if p = p[1:]; value < 1<<prefix-1 {
		return value, p
	}
	for shift := 0; len(p) > 0; shift += 7 {
		b := p[0]
		p = p[1:]
		value += int(b&0x7f) << shift
		if b&0x80 == 0 {
			break
		}
	}
	return value, p
}

// hpackString skips a string. RFC 7541, section 5.2.
func hpackString(p []byte) []byte {
	if len(p) == 0 {
		return nil
	}
	length, rest := hpackInteger(p, 7)
	return rest[min(length, len(rest)):]
}
