package http1

import "example.com/ferry/internal/bufpool"

const maxKept = 64 << 10 // bytes of body

// kept is a request as it was sent so far, for another attempt.
type kept struct {
	whole bool // it has all that was sent
	b     []byte
	buf   *bufpool.Buf // has b, if that is not small
	small [1 << 10]byte
}

// begin keeps a head.
func (k *kept) begin(head []byte, whole bool) {
	k.whole = whole
	k.put(head)
}

// add keeps what is sent behind the head, unless that makes too much.
func (k *kept) add(p []byte) {
	if !k.whole {
		return
	}
	if len(k.b)+len(p) > maxKept {
		k.reset()
		return
	}
	k.put(p)
}

func (k *kept) put(p []byte) {
	if need := len(k.b) + len(p); need > cap(k.b) {
		larger := bufpool.Get(need)
		larger.B = append(larger.B, k.b...)
		if k.buf != nil {
			k.buf.Release()
		}
		k.buf, k.b = larger, larger.B
	}
	k.b = append(k.b, p...)
}

// reset forgets it.
func (k *kept) reset() {
	if k.buf != nil {
		k.buf.Release()
	}
	k.whole, k.b, k.buf = false, k.small[:0], nil
}
