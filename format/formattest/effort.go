//go:build !race

package formattest

// How much is tried at random.
const (
	generated = 50  // documents from each generator
	mutants   = 40  // damaged copies of each document
	patched   = 100 // values of each document that are patched
	seekCuts  = 12  // values of each document that are sought with a cut at each byte
)
