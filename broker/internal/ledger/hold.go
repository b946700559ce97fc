package ledger

import "example.com/ferry/broker/internal/ranks"

// Hold is one reason to withhold credit, from the time it begins until Release: a queue that is full, for example. When the queue is full
// again, that is another Hold. Each method has no effect if what it asks for is done already.
type Hold struct {
	of any // with HoldFor

	mu       ranks.Mutex[ranks.Hold]
	ended    bool
	accounts map[*Account]struct{}
	vacated  func() // called when the last account has left; may be nil
}

// Add withholds the credit of a.
func (h *Hold) Add(a *Account) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, known := h.accounts[a]; known || h.ended {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.phase == left {
		return
	}
	a.holds = append(a.holds, h)
	if h.accounts == nil {
		h.accounts = map[*Account]struct{}{}
	}
	h.accounts[a] = struct{}{}
}

// Release returns the credit that no other Hold withholds. The caller holds no lock that a Client takes.
func (h *Hold) Release() {
	h.mu.Lock()
	accounts := h.accounts
	h.ended, h.accounts, h.vacated = true, nil, nil
	h.mu.Unlock()
	for a := range accounts {
		a.released(h)
	}
}

// Len returns how many accounts the Hold withholds the credit of.
func (h *Hold) Len() int {
	if h == nil {
		return 0
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.accounts)
}

// remove removes an account that has left.
func (h *Hold) remove(a *Account) {
	h.mu.Lock()
	delete(h.accounts, a)
	var vacated func()
	if len(h.accounts) == 0 {
		vacated, h.vacated = h.vacated, nil
	}
	h.mu.Unlock()
	if vacated != nil {
		vacated()
	}
}

// HoldFor begins a Hold of a alone, because of what of says. It returns nil if there is such a Hold, or a has left.
func (a *Account) HoldFor(of any) *Hold {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.phase == left {
		return nil
	}
	for _, h := range a.holds {
		if h.of == of {
			return nil
		}
	}
	h := &Hold{of: of, accounts: map[*Account]struct{}{a: {}}}
	a.holds = append(a.holds, h)
	return h
}

// OnVacated has f called when the account of a HoldFor leaves before Release. It calls f at once if the account has left.
func (h *Hold) OnVacated(f func()) {
	h.mu.Lock()
	gone := !h.ended && len(h.accounts) == 0
	if !h.ended && !gone {
		h.vacated = f
	}
	h.mu.Unlock()
	if gone {
		f()
	}
}
