package durable

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestHeap compares a keyHeap with a list, under random pushes, removals from the middle and changes of rank.
func TestHeap(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 3))
		var h keyHeap
		var all []*key
		for range 300 {
			switch n := r.IntN(5); {
			case n < 2 || len(all) == 0:
				k := &key{index: -1}
				h.push(k, r.Uint64N(50))
				all = append(all, k)
			case n == 2:
				i := r.IntN(len(all))
				h.remove(all[i])
				if all[i].index != -1 {
					t.Fatal("a key that has left knows a place")
				}
				all = slices.Delete(all, i, i+1)
			default:
				h.update(all[r.IntN(len(all))], r.Uint64N(50))
			}
			if len(h.keys) != len(all) {
				t.Fatalf("seed %d: %d keys, want %d", seed, len(h.keys), len(all))
			}
			for i, k := range h.keys {
				if k.index != i || !slices.Contains(all, k) || h.keys[(i-1)/2].rank > k.rank {
					t.Fatalf("seed %d: key %d of rank %d has index %d, its parent rank %d", seed, i, k.rank, k.index, h.keys[(i-1)/2].rank)
				}
			}
		}
	}
}
