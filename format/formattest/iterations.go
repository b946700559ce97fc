//go:build !race && !proof && !arm && !s390x

package formattest

// How much is tried at random.
const (
	generated  = 25 // documents from each generator
	mutants    = 20 // damaged copies of each document
	patched    = 50 // values of each document that are patched
	searchCuts = 6  // values of each document that are sought with a cut at each byte
)
