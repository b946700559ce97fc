package hop

import (
	"fmt"
	"sync"
	"sync/atomic"

	"example.com/ferry/protocol/native"
)

// maxCredit bounds the credit of a subscription and tag, in bytes, whatever the client grants.
const maxCredit = 1 << 30

// publisher is one session's right to publish on one tag, and its credit there. A message is owed back to its publisher
// once it is routed; while a lane that must not drop is full, what is owed is withheld.
type publisher = *publishing

type publishing struct {
	session *session
	tag     *tag
	held    atomic.Int32 // lanes that want credit withheld

	mu      sync.Mutex
	balance int // bytes the client may still send
	owed    int // bytes taken and not yet given back
}

// charge takes the n bytes of a run whose last frame has last bytes. A frame may overdraw the balance; the next may not.
func (p *publishing) charge(n, last int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.balance <= n-last {
		return &native.Error{Code: native.CodeCredit, Reason: fmt.Sprintf("%d bytes on tag %q with credit for %d", n, p.tag.name, p.balance)}
	}
	p.balance -= n
	p.owed += n
	return nil
}

// settle gives credit back once half the window is owed.
func (p *publishing) settle() { p.grant(p.session.hop.cfg.Window / 2) }

func (p *publishing) hold() { p.held.Add(1) }

func (p *publishing) resume() {
	if p.held.Add(-1) == 0 {
		p.grant(1)
	}
}

func (p *publishing) grant(least int) {
	if p.held.Load() > 0 {
		return
	}
	p.mu.Lock()
	n := p.owed
	if n < least {
		p.mu.Unlock()
		return
	}
	p.owed = 0
	p.balance += n
	p.mu.Unlock()
	p.session.peer.Respond(func(b []byte) []byte {
		return native.AppendCredit(b, native.CreditFrame{Tag: p.tag.id, Bytes: uint32(n)})
	})
}
