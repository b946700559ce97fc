//go:build !linux

package loop

import "testing"

func fullListener(t *testing.T) Addr {
	t.Skip("needs Linux: a listener's queue is filled as Linux counts it")
	return Addr{}
}

// descriptors returns 0: only Linux can count the open descriptors.
func openDescriptors(*testing.T) int { return 0 }
