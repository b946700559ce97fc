//go:build !race || !amd64

package ranks

import "sync"

// Mutex is a sync.Mutex of rank R.
type Mutex[R any] = sync.Mutex
