//go:build proof && !race && !386 && !arm && !s390x

package formattest

// Numbers of random documents and changes in make proof, which runs for minutes per format.
const (
	generatedDocuments  = 100 // documents from each generator
	mutantsPerDocument  = 100 // damaged copies of each document
	patchesPerDocument  = 100 // values of each document that are patched
	searchesPerDocument = 25  // values of each document that are searched with a cut at each byte
)
