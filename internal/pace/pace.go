// Package pace lets a long computation share its processor with goroutines that wait for sockets, such as event loops.
//
//	for _, r := range routes {
//		compile(r)
//		pace.Step()
//	}
//
// runtime.Gosched is not enough. The scheduler looks for runnable goroutines first, and finds the one that has just yielded. So with one
// processor it never polls the sockets: the runtime's monitor does that, every 10 ms. Step waits for an event of a pipe of its own instead. A
// goroutine that waits for an event makes the scheduler poll, which finds the events of all sockets.
package pace

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"example.com/ferry/internal/clock"
)

// Piece is the time that passes between two turns of other goroutines. A request that arrives meanwhile waits, and giving a turn
// costs about 3 us.
const Piece = 50 * time.Microsecond

var (
	last    atomic.Int64 // when the last turn ended, on the clock of package clock
	polling sync.Mutex
)

// Step gives other goroutines their turn if the last turn is longer than Piece ago. Any goroutine may call it.
func Step() {
	if clock.Now()-last.Load() < int64(Piece) {
		return
	}
	turn()
	last.Store(clock.Now())
}

// turn lets the goroutines run that are runnable, or whose sockets have events.
func turn() {
	if polling.TryLock() { // otherwise another goroutine makes the scheduler poll
		poll()
		polling.Unlock()
	}
	runtime.Gosched() // the scheduler found several goroutines at once, and ran this one first
}
