//go:build !unix

package harness

import "time"

// processCPU has no portable source: figures of CPU time are 0.
func processCPU() time.Duration { return 0 }
