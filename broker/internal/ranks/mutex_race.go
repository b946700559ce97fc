//go:build race && amd64

package ranks

import (
	"fmt"
	"reflect"
	"slices"
	"sync"
)

// Mutex is a sync.Mutex of rank R.
type Mutex[R any] struct{ mu sync.Mutex }

// Lock locks m. It panics if the goroutine holds a Mutex of the same or a higher rank.
func (m *Mutex[R]) Lock() {
	rank, g := reflect.TypeFor[R](), goroutine()
	locks, _ := held.Load(g)
	list, _ := locks.([]reflect.Type)
	for _, other := range list {
		if other.Len() >= rank.Len() {
			panic(fmt.Sprintf("ranks: a lock of rank %v is taken while one of rank %v is held", rank, other))
		}
	}
	m.mu.Lock()
	held.Store(g, append(list, rank))
}

// Unlock unlocks m.
func (m *Mutex[R]) Unlock() {
	rank, g := reflect.TypeFor[R](), goroutine()
	locks, _ := held.Load(g)
	list, _ := locks.([]reflect.Type)
	if list = slices.DeleteFunc(list, func(t reflect.Type) bool { return t == rank }); len(list) > 0 {
		held.Store(g, list)
	} else {
		held.Delete(g)
	}
	m.mu.Unlock()
}

// held has the ranks that each goroutine holds.
var held sync.Map

// goroutine returns what no other goroutine returns while this one runs.
func goroutine() uintptr
