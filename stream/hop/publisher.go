package hop

import (
	"fmt"
	"sync"
	"sync/atomic"

	"example.com/ferry/protocol/native"
)

// maxCredit bounds the credit of a subscription and tag, in bytes, whatever the client grants.
const maxCredit = 1 << 30

// publisher is the publish grant of one session for one tag, with its credit. The client spends credit with each message,
// and the broker returns it once the message is routed. While a delivery queue with policy block is full, the broker
// returns nothing.
type publisher struct {
	session   *session
	tag       *tag
	withholds atomic.Int32 // delivery queues that withhold the credit

	mu     sync.Mutex
	credit int // bytes that the client may still send
	spent  int // bytes routed and not yet returned
}

// spend takes the n bytes of a run whose last frame has last bytes. One frame may overdraw the credit; the next may not.
func (p *publisher) spend(n, last int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.credit <= n-last {
		return &native.Error{Code: native.CodeCredit, Reason: fmt.Sprintf("%d bytes on tag %q with credit for %d", n, p.tag.name, p.credit)}
	}
	p.credit -= n
	p.spent += n
	return nil
}

// returnHalf returns the spent credit once it is half a window.
func (p *publisher) returnHalf() { p.returnCredit(p.session.broker.cfg.Window / 2) }

func (p *publisher) withhold() { p.withholds.Add(1) }

// resume takes back one withhold. The last one returns what was spent meanwhile.
func (p *publisher) resume() {
	if p.withholds.Add(-1) == 0 {
		p.returnCredit(1)
	}
}

// returnCredit returns the spent credit with a CREDIT frame, if it is at least least bytes and nothing withholds it.
func (p *publisher) returnCredit(least int) {
	if p.withholds.Load() > 0 {
		return
	}
	p.mu.Lock()
	n := p.spent
	if n < least {
		p.mu.Unlock()
		return
	}
	p.spent = 0
	p.credit += n
	p.mu.Unlock()
	p.session.peer.Respond(func(b []byte) []byte {
		return native.AppendCredit(b, native.CreditFrame{Tag: p.tag.id, Bytes: uint32(n)})
	})
}
