//go:build race || arm || s390x

package formattest

// The race detector and an emulated processor make all of it ten times slower, and find nothing more in many random
// documents than in few: the kinds of checks are the same.
const (
	generated = 10 // documents from each generator
	mutants   = 5  // damaged copies of each document
	patched   = 20 // values of each document that are patched
	seekCuts  = 3  // values of each document that are sought with a cut at each byte
)
