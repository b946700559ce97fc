package exchange

import (
	"example.com/ferry/internal/bufpool"
	"example.com/ferry/loop"
)

// HeldBytes are bytes of a body that wait: for the route of their request, or for a connection. Their memory grows with them and
// counts for loop.Config.QueueMemory. The zero value is empty.
type HeldBytes struct {
	loop *loop.Loop
	buf  *bufpool.Buf // nil if nothing is held
}

// Append copies p.
func (h *HeldBytes) Append(l *loop.Loop, p []byte) {
	if len(p) == 0 {
		return
	}
	if need := len(h.Bytes()) + len(p); h.buf == nil || need > cap(h.buf.B) {
		larger := bufpool.Get(max(need, 2*len(h.Bytes())))
		larger.B = append(larger.B, h.Bytes()...)
		l.Hold(cap(larger.B))
		h.Release()
		h.loop, h.buf = l, larger
	}
	h.buf.B = append(h.buf.B, p...)
}

// Bytes returns what is held. It is valid until Append or Release.
func (h *HeldBytes) Bytes() []byte {
	if h.buf == nil {
		return nil
	}
	return h.buf.B
}

// Empty reports whether nothing is held.
func (h *HeldBytes) Empty() bool { return h.buf == nil }

// Release drops the bytes.
func (h *HeldBytes) Release() {
	if h.buf != nil {
		h.loop.Hold(-cap(h.buf.B))
		h.buf.Release()
		*h = HeldBytes{}
	}
}
