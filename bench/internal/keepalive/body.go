package keepalive

import (
	"bytes"
	"fmt"
)

const markLen = 16 // bytes at the start of a body that identify its request, in hex

// newBody returns a body with room for its mark.
func newBody(size int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = 'a' + byte(i%23)
	}
	return b
}

// mark writes id to the start of a body.
func mark(body []byte, id uint64) {
	const digits = "0123456789abcdef"
	for i := markLen - 1; i >= 0; i-- {
		body[i] = digits[id&15]
		id >>= 4
	}
}

// checkBody returns an error if got differs from want in any byte. It compares the mark too, unless want has none.
func checkBody(got, want []byte) error {
	if bytes.Equal(got, want) {
		return nil
	}
	if len(got) != len(want) {
		return fmt.Errorf("a body of %d bytes: want %d", len(got), len(want))
	}
	at := 0
	for got[at] == want[at] {
		at++
	}
	return fmt.Errorf("a body that is another from byte %d on: %q, want %q", at, clip(got[at:]), clip(want[at:]))
}

// clip shortens bytes for an error text.
func clip(b []byte) []byte { return b[:min(len(b), 40)] }

// Body returns a body that the backends accept in a request. Its mark is the number 0.
func Body(size int) []byte {
	b := newBody(size)
	mark(b, 0)
	return b
}
