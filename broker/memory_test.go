package broker

import (
	"math/bits"
	"testing"
	"unsafe"
)

// TestSizes: what the broker has for a client in the process that does nothing does not grow into the next size of Go's allocator unnoticed.
func TestSizes(t *testing.T) {
	if bits.UintSize != 64 {
		return // the sizes are those of 64-bit platforms
	}
	for name, row := range map[string]struct{ size, most uintptr }{
		"session": {unsafe.Sizeof(session{}), 128},
		"Local":   {unsafe.Sizeof(Local{}), 64},
	} {
		if row.size > row.most {
			t.Errorf("%s has %d bytes, want at most %d", name, row.size, row.most)
		}
	}
}
