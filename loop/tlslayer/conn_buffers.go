package tlslayer

import (
	"bytes"
	"crypto/tls"
	"reflect"
	"unsafe"
)

// A tls.Conn has two buffers that it keeps as long as it lives: rawInput, of the size of the longest record it has read, and
// hand, of the size of the longest handshake message. They are 2.6 KB of an idle connection's 6.1 KB, and 18 KB after one long
// record. crypto/tls has no way to release them. So this file finds them by reflection, and replaces them while they are
// empty. An empty bytes.Buffer behaves like any other one, so the tls.Conn cannot tell. If another version of Go has no such
// fields of this type, nothing is replaced.

// connBuffers are the buffers of a tls.Conn; nil if they were not found.
type connBuffers struct{ rawInput, hand *bytes.Buffer }

var (
	rawInputOffset, rawInputFound = bufferField("rawInput")
	handOffset, handFound         = bufferField("hand")
)

// bufferField returns the offset of a field of tls.Conn. found is false if the field is not a bytes.Buffer.
func bufferField(name string) (offset uintptr, found bool) {
	f, found := reflect.TypeFor[tls.Conn]().FieldByName(name)
	return f.Offset, found && f.Type == reflect.TypeFor[bytes.Buffer]()
}

func buffersOf(c *tls.Conn) (b connBuffers) {
	if rawInputFound && handFound {
		b.rawInput = (*bytes.Buffer)(unsafe.Add(unsafe.Pointer(c), rawInputOffset))
		b.hand = (*bytes.Buffer)(unsafe.Add(unsafe.Pointer(c), handOffset))
	}
	return b
}

// release frees the memory of buffers that are empty. The tls.Conn must hold no decrypted bytes: they lie in rawInput.
func (b connBuffers) release() {
	for _, each := range []*bytes.Buffer{b.rawInput, b.hand} {
		if each != nil && each.Len() == 0 {
			*each = bytes.Buffer{}
		}
	}
}

// handLen returns how many bytes of an incomplete handshake message are held; 0 if that is not known.
func (b connBuffers) handLen() int {
	if b.hand == nil {
		return 0
	}
	return b.hand.Len()
}

// recordBuffer is the size in bytes of the buffer that is lent as rawInput: it has room for every record, so the tls.Conn does
// not allocate another one. The tls.Conn asks for bytes.MinRead more than it needs.
const recordBuffer = recordHead + maxCiphertext + 2*bytes.MinRead

// lend makes the loop's record buffer the rawInput of t's tls.Conn.
func (t *Layer) lend() {
	raw := buffersOf(t.conn).rawInput
	if t.lent || raw == nil || raw.Len() > 0 {
		return
	}
	b := t.shared.record
	if b == nil {
		b = make([]byte, 0, recordBuffer)
	}
	t.shared.record, t.lent = nil, true
	*raw = *bytes.NewBuffer(b)
}

// takeBack ends the loan, unless the buffer is in use: Read has returned only a part of a record. Then the next layer gets
// another buffer.
func (t *Layer) takeBack() {
	raw := buffersOf(t.conn).rawInput
	if !t.lent || t.plain || raw.Len() > 0 {
		return
	}
	raw.Reset()
	t.shared.record, t.lent = raw.AvailableBuffer(), false
	*raw = bytes.Buffer{}
}
