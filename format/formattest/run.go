package formattest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"example.com/ferry/format"
)

// Generator returns one random valid message. Equal states of r must give equal messages. The messages should contain
// every kind of value, nesting, and lengths on both sides of each limit of the length encoding.
type Generator func(r *rand.Rand) []byte

// Run checks that f keeps the contract. The documents come from gens and from the vectors in testdata/vectors. If a
// package has several formats, the vectors are in a subfolder of that folder, named after f.
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
		for seed := range uint64(generatedDocuments) {
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
		checkPatches(t, f, data, patchesPerDocument)
		checkEdits(t, f, data, 10)
		checkNoAllocations(t, f, data)
		checkSearchCuts(t, f, data)
		checkEditAllocations(t, f, data)
		checkTruncations(t, f, data)
	}
	checkMutations(t, f, data)
	checkAllocationBound(t, f, data)
	checkSearchBound(t, f, data)
	checkEditBounds(t, f, data)
}

// Check checks that f keeps the contract for data, which may be any bytes. f must not panic, must return spans inside
// data, and must not read after the end of data. For valid data, lookups, sets, patches and edits must also agree with
// a full walk.
func Check(t testing.TB, f format.Format, data []byte) {
	t.Helper()
	checkReadsPastEnd(t, f, data)
	checkSearches(t, f, data, 8)
	checkArbitraryEdits(t, f, data)
	checkMaskOfAny(f, data)
	if f.Validate(data, format.Options{}) == nil {
		checkMask(t, f, data)
		checkLookups(t, f, data)
		checkPatches(t, f, data, 4)
		checkEdits(t, f, data, 1)
	}
}
