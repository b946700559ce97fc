package cli

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"example.com/ferry/node"
)

// systemdPhases returns a function that reports phases of a node to systemd (sd_notify(3)). Elsewhere, where NOTIFY_SOCKET is not set, it does
// nothing.
func (p *runner) systemdPhases() func(node.Phase) {
	e := p.env
	return func(phase node.Phase) {
		switch phase {
		case node.PhaseReady:
			notifySystemd(e, daemon.SdNotifyReady)
		case node.PhaseReloading:
			notifySystemd(e, daemon.SdNotifyReloading+"\n"+daemon.SdNotifyMonotonicUsec()) // both are needed for Type=notify-reload
		case node.PhaseDraining:
			p.mu.Lock()
			goesOn := p.again || p.replaced // the service does, in this process or in the next one
			p.mu.Unlock()
			if !goesOn {
				notifySystemd(e, daemon.SdNotifyStopping)
			}
		}
	}
}

// systemdMain makes this process the service's main process. It is called once, as only one of two processes may report that.
func (p *runner) systemdMain() {
	notifySystemd(p.env, fmt.Sprintf("MAINPID=%d\n%s", os.Getpid(), daemon.SdNotifyReady))
}

// notifySystemd sends one state. A node runs without a supervisor that listens, so an error is only noted.
func notifySystemd(e *env, state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		e.note("systemd is not notified: %v", err)
	}
}

// startWatchdog reports to systemd's watchdog (WatchdogSec) that the process is alive, until stopWatchdog. systemd expects that from the first
// READY=1 on. Without a watchdog it does nothing.
func (p *runner) startWatchdog() {
	limit, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		p.note("systemd's watchdog is off: %v", err)
	}
	if limit == 0 {
		return
	}
	var ctx context.Context
	ctx, p.endWatchdog = context.WithCancel(context.Background())
	go func() {
		ticks := time.NewTicker(limit / 3)
		defer ticks.Stop()
		for {
			if p.turn(ctx) == nil {
				notifySystemd(p.env, daemon.SdNotifyWatchdog)
			}
			select {
			case <-ticks.C:
			case <-ctx.Done():
				return
			}
		}
	}()
}

func (p *runner) stopWatchdog() {
	if p.endWatchdog != nil {
		p.endWatchdog()
	}
}

// turn returns nil once every part of the node has made a step: systemd also restarts a process whose node is deadlocked. Between two nodes,
// the second one has upgradeTimeout to be built: it may recover what the first one stored.
func (p *runner) turn(ctx context.Context) error {
	p.mu.Lock()
	n, since := p.node, p.since
	p.mu.Unlock()
	if n != nil {
		return n.Turn(ctx)
	}
	if left := upgradeTimeout - time.Since(since); left < 0 {
		return fmt.Errorf("no node serves since %v", since)
	}
	return nil
}
