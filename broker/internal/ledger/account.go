package ledger

import (
	"slices"
	"time"

	"example.com/ferry/broker/internal/ranks"
	"example.com/ferry/internal/peer"
)

// Account is the credit of one publisher for one tag. All methods may overlap.
//
//	idle ──Request──► waiting ──no Hold──► open
//	 └──────────────────┴──────Leave────────┴────► left
type Account struct {
	client Client
	window int

	mu     ranks.Mutex[ranks.Account]
	phase  phase
	credit int     // bytes that the client may still send
	due    int     // bytes that were routed and have not returned
	flush  bool    // due returns even if it is less than half a window
	holds  []*Hold // that withhold the credit
	runs   peer.FIFO[run]
	next   int // index of the first run that is not settled

	telling bool  // a goroutine is in tell, and tells also what comes meanwhile
	paused  bool  // a timer calls tell when the next notice may be sent
	batch   []run // of the goroutine in tell
}

// Client is told what becomes of an Account. The methods are called one after the other. The Account is not locked meanwhile, so it may
// have been left.
type Client interface {
	// Granted says that the client may publish: its credit is a whole window.
	Granted()

	// Credit says that the client may publish so many bytes more.
	Credit(bytes int)

	// NoticeWait returns 0 if a Notice may be sent now, and otherwise how long it has to wait.
	NoticeWait() time.Duration

	// Notice says that messages were dropped.
	Notice(n Notice)
}

type phase uint8

const (
	idle phase = iota
	waiting
	open
	left
)

// Init sets the client, and the window in bytes. It is called once, before all other methods.
func (a *Account) Init(c Client, window int) { a.client, a.window = c, window }

// Request asks for the first window. Further calls have no effect.
func (a *Account) Request() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.phase == idle {
		a.phase = waiting
		a.tell()
	}
}

// Spend takes a run of n bytes, whose last frame has last bytes, from the credit. Only the last frame may exceed what is left of it.
// Otherwise Spend takes nothing and returns false, and what the credit is.
func (a *Account) Spend(n, last int) (credit int, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.credit <= n-last {
		return a.credit, false
	}
	a.credit -= n
	return a.credit, true
}

// Available returns the bytes that the client may send.
func (a *Account) Available() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.credit
}

// Routed returns n bytes that were spent, together with others once they are half a window.
func (a *Account) Routed(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.due += n
	if a.due >= a.window/2 && len(a.holds) == 0 {
		a.tell()
	}
}

// Leave ends the Account: no credit returns any more, and no Hold withholds it. Runs are settled as before.
func (a *Account) Leave() {
	a.mu.Lock()
	holds := a.holds
	a.phase, a.holds = left, nil
	a.tell()
	a.mu.Unlock()
	for _, h := range holds {
		h.remove(a)
	}
}

// released removes a Hold. After the last one, everything that it withheld returns.
func (a *Account) released(h *Hold) {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.Index(a.holds, h)
	if i < 0 {
		return
	}
	if a.holds = slices.Delete(a.holds, i, i+1); len(a.holds) == 0 {
		a.flush = true
		a.tell()
	}
}

// tell tells the client what is due, in order. Only one goroutine does: what others add meanwhile, it tells, too. The caller holds the
// lock, which is released while the client is called.
func (a *Account) tell() {
	if a.telling {
		return
	}
	a.telling = true
	for len(a.holds) == 0 && a.tellNext() {
	}
	a.telling = false
}

// tellNext tells one thing. It returns false if nothing is due.
func (a *Account) tellNext() bool {
	switch {
	case a.phase == waiting:
		a.phase, a.credit = open, a.window
		a.mu.Unlock()
		a.client.Granted()
		a.mu.Lock()
		return true
	case a.next > 0:
		return a.tellSettled()
	case a.phase == open && a.due > 0 && (a.flush || a.due >= a.window/2):
		n := a.due
		a.due = 0
		a.credit += n
		a.mu.Unlock()
		a.client.Credit(n)
		a.mu.Lock()
		return true
	}
	a.flush = false
	return false
}
