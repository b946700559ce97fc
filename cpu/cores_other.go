//go:build !linux

package cpu

// affinity is known to the runtime only: runtime.NumCPU respects it where it exists.
func affinity() int { return 0 }

// quota is 0: only Linux has control groups.
func quota(string) float64 { return 0 }
