//go:build !linux

package startmemory

import "runtime/debug"

// Release collects the garbage of the start.
func Release() { debug.FreeOSMemory() }
