package ferrynode

import (
	"path/filepath"

	"example.com/ferry/bench/internal/harness"
)

// Binary is the name of the file that Build writes.
const Binary = "ferry"

// Build writes ferry's binary to dir, built as `make build` does.
func Build(dir string) error {
	return harness.Go("build", "-trimpath", "-o", filepath.Join(dir, Binary), "./cmd/ferry")
}
