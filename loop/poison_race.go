//go:build race

package loop

// poison overwrites bytes that were lent, so that a test that still reads them reads garbage.
func poison(p []byte) {
	for i := range p {
		p[i] = 0xdb
	}
}
