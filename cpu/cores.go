package cpu

import "runtime"

// Cores returns how many cores the process may use. It is the smaller of two numbers: the cores of the affinity mask, and the
// CPU quota of the control groups (version 1 or 2), rounded down. The result is at least 1.
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
