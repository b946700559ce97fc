package cpu

import "runtime"

// Cores returns how many cores the process may use: the smaller of its affinity and of the CPU quota of its control groups
// (version 1 or 2, rounded down), but at least 1.
func Cores() int {
	n := runtime.NumCPU()
	if a := affinity(); a > 0 {
		n = min(n, a)
	}
	if q := quota("/"); q > 0 {
		n = min(n, int(q))
	}
	return max(n, 1)
}
