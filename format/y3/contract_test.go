package y3

import (
	"math/rand/v2"
	"testing"

	"example.com/ferry/format"
	"example.com/ferry/format/formattest"
)

func TestContract(t *testing.T) {
	t.Run("P", func(t *testing.T) { formattest.Run(t, Format{}, randomMessage(P)) })
	t.Run("N", func(t *testing.T) { formattest.Run(t, Format{Dialect: N}, randomMessage(N)) })
}

// randomMessage generates messages with values on both sides of each limit of the length encoding.
func randomMessage(d Dialect) formattest.Generator {
	return func(r *rand.Rand) []byte {
		b := NewBuilder(d)
		fill(b, r, 0, r.Perm(63)[:1+r.IntN(4)])
		data, err := b.Message()
		if err != nil {
			panic(err)
		}
		return data
	}
}

func fill(b *Builder, r *rand.Rand, depth int, keys []int) {
	for _, key := range keys {
		key++ // key 0 is only for items of a slice
		switch r.IntN(8) {
		case 0, 1, 2:
			if depth < 4 {
				b.Node(key)
				fill(b, r, depth+1, r.Perm(63)[:r.IntN(6)])
				b.End()
			}
		case 3:
			if b.dialect == P {
				b.Slice(key)
				for range r.IntN(5) {
					if r.IntN(3) == 0 {
						b.Node(Item)
						fill(b, r, depth+3, r.Perm(63)[:2])
						b.End()
					} else {
						b.Int64(Item, int64(r.Uint64())>>r.IntN(64))
					}
				}
				b.End()
			}
		case 4:
			b.Int64(key, int64(r.Uint64())>>r.IntN(64))
		case 5:
			b.Float64(key, r.NormFloat64())
		case 6:
			sizes := []int{0, 1, 62, 63, 64, 65, 300}
			b.Bytes(key, make([]byte, sizes[r.IntN(len(sizes))]))
		case 7:
			b.Bool(key, r.IntN(2) == 0)
		}
	}
	if depth == 0 {
		b.Bool(0, true) // a message must not be empty
	}
}

func TestLargeLengths(t *testing.T) {
	t.Parallel()
	for _, n := range []int{8191, 8192, 1048575, 1048576} {
		b := NewBuilder(P)
		b.Node(1)
		b.Bytes(0x10, make([]byte, n))
		b.Int32(0x11, 7)
		b.End()
		data, err := b.Message()
		if err != nil {
			t.Fatal(err)
		}
		if err := (Format{}).Validate(data, format.Options{}); err != nil {
			t.Errorf("%d bytes: %v", n, err)
		}
		if n < 10000 {
			formattest.Check(t, Format{}, data)
		}
	}
}

func fuzzSeeds(f *testing.F) {
	for _, d := range []Dialect{P, N} {
		for seed := range uint64(5) {
			f.Add(randomMessage(d)(rand.New(rand.NewPCG(7, seed))))
		}
	}
	for _, b := range regressions {
		f.Add(b.data)
	}
}
