package ferrynode

import (
	"path/filepath"

	"example.com/ferry/bench/internal/harness"
)

// Binary is the name of the file that Build writes.
const Binary = "ferry"

// Build builds ferry's binary into dir, with the same flags as `make build`.
func Build(dir string) error {
	return harness.Go("build", "-trimpath", "-o", filepath.Join(dir, Binary), "./cmd/ferry")
}
