//go:build arm || s390x

package formattest

// make test-cross emulates these processors, which makes all of it ten times slower. What depends on the width of an int
// or on the order of bytes shows in few documents.
const (
	generated = 4 // documents from each generator
	mutants   = 2 // damaged copies of each document
	patched   = 5 // values of each document that are patched
	seekCuts  = 1 // values of each document that are sought with a cut at each byte
)
