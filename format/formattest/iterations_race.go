//go:build race && !arm && !s390x

package formattest

// The race detector makes the tests ten times slower and finds no more in values without state. The checks are the
// same, with fewer random documents.
const (
	generatedDocuments  = 15 // documents from each generator
	mutantsPerDocument  = 10 // damaged copies of each document
	patchesPerDocument  = 30 // values of each document that are patched
	searchesPerDocument = 4  // values of each document that are searched with a cut at each byte
)
