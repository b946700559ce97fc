package formattest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"example.com/ferry/format"
)

// Generator writes one random valid message, the same one for the same r. It should reach every kind of value, nesting,
// and lengths on both sides of each length encoding's limits.
type Generator func(r *rand.Rand) []byte

// Run holds f to the contract with the vectors in testdata/vectors (or in a folder below it that is named after f, if
// the package has several formats) and the documents of gens.
func Run(t *testing.T, f format.Format, gens ...Generator) {
	t.Helper()
	vectors := loadVectors(t, f.Name())
	if len(vectors) == 0 && len(gens) == 0 {
		t.Fatal("formattest: no vectors in testdata/vectors and no generator")
	}
	t.Run("vectors", func(t *testing.T) { runVectors(t, f, vectors) })
	for _, v := range vectors {
		if v.data == nil {
			continue
		}
		t.Run("contract/"+v.name, func(t *testing.T) { checkDocument(t, f, v.data) })
	}
	for g, gen := range gens {
		for seed := range uint64(generated) {
			data := gen(rand.New(rand.NewPCG(uint64(g), seed)))
			t.Run(fmt.Sprintf("generated/%d/%d", g, seed), func(t *testing.T) {
				if err := f.Validate(data, format.Options{}); err != nil {
					t.Fatalf("Validate of a generated document: %v\n% x", err, data)
				}
				checkDocument(t, f, data)
			})
		}
	}
}

func checkDocument(t *testing.T, f format.Format, data []byte) {
	Check(t, f, data)
	if f.Validate(data, format.Options{}) == nil {
		patches(t, f, data, patched)
		edits(t, f, data, 10)
		noAllocs(t, f, data)
		searchEveryCut(t, f, data)
		editsAllocate(t, f, data)
		truncations(t, f, data)
	}
	mutations(t, f, data)
	boundedAllocation(t, f, data)
	searchBounded(t, f, data)
	editsBounded(t, f, data)
}

// Check holds f to what the contract promises for any bytes at all: no panic, spans inside data, nothing read behind
// its end; and for valid ones, that lookups, sets, patches and edits agree with a full walk.
func Check(t testing.TB, f format.Format, data []byte) {
	t.Helper()
	readsPastEnd(t, f, data)
	checkSearches(t, f, data, 8)
	anyEdits(t, f, data)
	if f.Validate(data, format.Options{}) == nil {
		lookups(t, f, data)
		patches(t, f, data, 4)
		edits(t, f, data, 1)
	}
}
