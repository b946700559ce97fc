//go:build race && !386 && !arm && !s390x

package formattest

// Numbers of random documents and changes with the race detector, which makes the tests ten times slower. Formats have
// no state, so more documents would not find more races.
const (
	generatedDocuments  = 15 // documents from each generator
	mutantsPerDocument  = 10 // damaged copies of each document
	patchesPerDocument  = 30 // values of each document that are patched
	searchesPerDocument = 4  // values of each document that are searched with a cut at each byte
)
