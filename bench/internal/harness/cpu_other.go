//go:build !unix

package harness

import "time"

// processCPU returns 0, because Go has no portable way to read the CPU time of the process.
func processCPU() time.Duration { return 0 }
