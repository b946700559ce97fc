//go:build 386 || arm || s390x

package formattest

// Numbers of random documents and changes on the processors of make test-cross. An emulator makes tests ten times slower. A few documents are enough to find errors in the width of an int or in the order of bytes.
const (
	generatedDocuments  = 4 // documents from each generator
	mutantsPerDocument  = 2 // damaged copies of each document
	patchesPerDocument  = 5 // values of each document that are patched
	searchesPerDocument = 1 // values of each document that are searched with a cut at each byte
)
