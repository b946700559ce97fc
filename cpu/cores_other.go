//go:build !linux

package cpu

// affinity returns 0, because runtime.NumCPU already respects the affinity mask.
func affinity() int { return 0 }

// quota returns 0: only Linux has control groups.
func quota(string) float64 { return 0 }
