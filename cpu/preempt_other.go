//go:build !linux

package cpu

// letKernelPreempt is never called, because setSlices fails on this system.
func letKernelPreempt() {}
