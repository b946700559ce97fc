package formattest

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"example.com/ferry/format"
)

// checkMask changes bits of valid data that do not matter according to Mask, at random: the result must be valid. It does nothing if
// f is no Masker.
func checkMask(t testing.TB, f format.Format, data []byte) {
	t.Helper()
	m, ok := f.(format.Masker)
	if !ok {
		return
	}
	mask := bytes.Repeat([]byte{0x5a}, len(data)) // what an earlier message left behind
	if !m.Mask(mask, data) {
		t.Errorf("Mask of valid data: got false\n% x", data)
		return
	}
	r := rand.New(rand.NewPCG(uint64(len(data)), 1))
	for range 4 {
		other := bytes.Clone(data)
		for i := range other {
			other[i] ^= byte(r.Uint32()) &^ mask[i]
		}
		if err := f.Validate(other, format.Options{}); err != nil {
			t.Errorf("Validate after a change outside of the mask: %v\n% x\nfrom % x\nmask % x", err, other, data, mask)
		}
	}
}

// checkMaskOfAny calls Mask for data that may not be valid: it must not panic.
func checkMaskOfAny(f format.Format, data []byte) {
	if m, ok := f.(format.Masker); ok {
		m.Mask(make([]byte, len(data)), data)
	}
}
