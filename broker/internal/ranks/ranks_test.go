//go:build race && amd64

package ranks

import (
	"sync"
	"testing"
)

// TestOrder: a goroutine that takes a lock of the same or a lower rank panics, whatever others hold.
func TestOrder(t *testing.T) {
	var outer Mutex[Broker]
	var inner, other Mutex[Session]
	outer.Lock()
	inner.Lock()
	var free sync.WaitGroup
	free.Go(func() {
		other.Lock()
		other.Unlock()
	})
	free.Wait()
	inner.Unlock()
	outer.Unlock()
	for name, second := range map[string]sync.Locker{"lower": &outer, "equal": &other} {
		t.Run(name, func(t *testing.T) {
			inner.Lock()
			defer inner.Unlock()
			defer func() {
				if recover() == nil {
					t.Error("the lock is taken")
				}
			}()
			second.Lock()
		})
	}
}
