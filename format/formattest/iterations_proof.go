//go:build proof && !race && !arm && !s390x

package formattest

// The long proof: minutes for each format.
const (
	generated = 100 // documents from each generator
	mutants   = 100 // damaged copies of each document
	patched   = 100 // values of each document that are patched
	seekCuts  = 25  // values of each document that are sought with a cut at each byte
)
