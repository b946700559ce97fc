//go:build !race && !proof && !386 && !arm && !s390x

package formattest

// Numbers of random documents and changes in a normal test run.
const (
	generatedDocuments  = 25 // documents from each generator
	mutantsPerDocument  = 20 // damaged copies of each document
	patchesPerDocument  = 50 // values of each document that are patched
	searchesPerDocument = 6  // values of each document that are searched with a cut at each byte
)
