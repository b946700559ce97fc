//go:build arm || s390x

package formattest

// make test-cross emulates these processors, which is ten times slower. Errors in the width of an int or in the order
// of bytes show in few documents.
const (
	generatedDocuments  = 4 // documents from each generator
	mutantsPerDocument  = 2 // damaged copies of each document
	patchesPerDocument  = 5 // values of each document that are patched
	searchesPerDocument = 1 // values of each document that are searched with a cut at each byte
)
