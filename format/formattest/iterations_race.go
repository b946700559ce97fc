//go:build race && !arm && !s390x

package formattest

// The race detector makes all of it ten times slower and finds nothing more in values without state: the kinds of checks
// are the same, the random documents fewer.
const (
	generated  = 15 // documents from each generator
	mutants    = 10 // damaged copies of each document
	patched    = 30 // values of each document that are patched
	searchCuts = 4  // values of each document that are searched with a cut at each byte
)
