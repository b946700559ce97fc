package disktest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

// model is a content as two slices: what a file has, and what it has after a power failure.
type model struct{ data, synced []byte }

func write(to, p []byte, offset int) []byte {
	if missing := offset + len(p) - len(to); missing > 0 {
		to = append(to, make([]byte, missing)...)
	}
	copy(to[offset:], p)
	return to
}

func TestContentAgainstModel(t *testing.T) {
	for seed := range uint64(10) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 2))
			var c content
			var m model
			for step := range 400 {
				p := bytes.Repeat([]byte{byte(1 + r.IntN(255))}, 1+r.IntN(3*pageSize))
				offset := r.IntN(len(m.data) + pageSize)
				switch n := r.IntN(100); {
				case n < 50:
					c.write(p, offset)
					m.data = write(m.data, p, offset)
				case n < 70:
					c.writeSync(p, offset)
					m.data, m.synced = write(m.data, p, offset), write(m.synced, p, offset)
				case n < 80:
					c.resize(offset)
					m.data = append(m.data[:min(offset, len(m.data))], make([]byte, max(0, offset-len(m.data)))...)
				case n < 90:
					c.sync()
					m.synced = bytes.Clone(m.data)
				default:
					c.losePower()
					m.data = bytes.Clone(m.synced)
				}
				if !bytes.Equal(c.data, m.data) {
					t.Fatalf("step %d: %d bytes differ from the %d of the model", step, len(c.data), len(m.data))
				}
				if len(m.data) > 40*pageSize {
					c.resize(0)
					c.sync()
					m = model{}
				}
			}
			c.losePower()
			if !bytes.Equal(c.data, m.synced) {
				t.Fatalf("after a power failure %d bytes differ from the %d of the model", len(c.data), len(m.synced))
			}
		})
	}
}
