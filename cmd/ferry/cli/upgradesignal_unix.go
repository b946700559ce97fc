//go:build unix

package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// upgradeOnSignal upgrades on SIGUSR2, until the caller calls stop.
func (p *runner) upgradeOnSignal(ctx context.Context) (stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR2)
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-signals:
				if _, err := p.upgrade(ctx); err != nil {
					p.note("upgrade: %v", err)
				}
			}
		}
	}()
	return func() { signal.Stop(signals) }
}
