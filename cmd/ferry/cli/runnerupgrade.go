package cli

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"example.com/ferry/internal/handover"
	"example.com/ferry/node/admin"
)

// upgradeTimeout bounds each step of a new process: until it wants the streams, and from then until it serves. An engine may take long to
// recover what it stores.
const upgradeTimeout = 2 * time.Minute

// upgrade starts the program again and leaves the sockets and the streams to it. It is an admin.Upgrade.
func (p *runner) upgrade(ctx context.Context) (admin.Upgraded, error) {
	if !p.upgrading.TryLock() {
		return admin.Upgraded{}, admin.ErrUpgrading
	}
	defer p.upgrading.Unlock()
	p.mu.Lock()
	n, stop, leaving := p.node, p.stop, p.again || p.replaced
	p.mu.Unlock()
	if n == nil || leaving {
		return admin.Upgraded{}, errors.New("the node does not serve yet, or is stopping")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.ending, cancel)()
	defer n.HoldReloads()()
	began := time.Now()
	p.sockets.Keep()
	next, err := p.sockets.Start(handover.Command{Path: p.program, Args: os.Args, Env: successorEnv()})
	if err != nil {
		p.sockets.Drop()
		return admin.Upgraded{}, err
	}
	p.next.Store(next)
	defer p.next.Store(nil)
	p.note("upgrade: process %d starts from %s", next.PID(), p.program)
	var released time.Time // when the streams were, if they were
	for ready := false; !ready; {
		if ready, err = p.await(ctx, next); err == nil && !ready {
			released = time.Now()
			if err := n.ReleaseStreams(); err != nil {
				p.note("upgrade: %v", err) // what was not drained in time has ended
			}
			err = next.Give()
		}
		if err == nil {
			continue
		}
		next.Kill()
		p.note("upgrade: failed, this process goes on: %v", err)
		if released.IsZero() {
			p.sockets.Drop()
			return admin.Upgraded{}, err
		}
		p.mu.Lock()
		p.again, p.last, p.left = true, n.Config(), n.LeaveTo() // to the next node
		p.mu.Unlock()
		stop()
		return admin.Upgraded{}, err
	}
	p.next.Store(nil)
	next.Release()
	done := admin.Upgraded{PID: next.PID(), Took: time.Since(began)}
	if !released.IsZero() {
		done.Paused = time.Since(released)
	}
	p.note("upgrade: process %d serves after %v, of which the streams paused %v; this one drains", done.PID, done.Took.Round(time.Millisecond), done.Paused.Round(time.Millisecond))
	p.mu.Lock()
	p.replaced, p.left = true, n.LeaveTo()
	p.mu.Unlock()
	stop()
	return done, nil
}

func (p *runner) await(ctx context.Context, next *handover.Successor) (ready bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, upgradeTimeout)
	defer cancel()
	return next.Await(ctx)
}

// successorEnv is the environment of the next process. systemd's watchdog would not let it be the one that reports.
func successorEnv() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "WATCHDOG_PID=") })
}
