package ferrynode

import (
	"path/filepath"

	"example.com/ferry/bench/internal/harness"
)

// Binary is the name of the file that Build writes.
const Binary = "ferry"

// Build puts ferry's binary into dir.
func Build(dir string) error {
	return harness.Program(filepath.Join(dir, Binary), "./cmd/ferry")
}
