package keepalive

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"example.com/ferry/bench/internal/pinned"
)

// FreeAddrs returns n free addresses of 127.0.0.1. Their ports are below the range that Linux assigns to outgoing
// connections, so the thousands of connections of a test cannot use them.
func FreeAddrs(n int) ([]string, error) {
	const low, high = 20_000, 32_768
	var found []string
	for range 100 * n {
		addr := fmt.Sprintf("127.0.0.1:%d", low+rand.IntN(high-low))
		if slices.Contains(found, addr) || pinned.Free(addr) != nil {
			continue
		}
		if found = append(found, addr); len(found) == n {
			return found, nil
		}
	}
	return nil, fmt.Errorf("keepalive: %d ports of %d between %d and %d are free", len(found), n, low, high)
}
