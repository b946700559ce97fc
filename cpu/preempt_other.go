//go:build !linux

package cpu

// letKernelPreempt does nothing: it is called only where the kernel has time slices.
func letKernelPreempt() {}
