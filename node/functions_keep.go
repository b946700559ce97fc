package node

import (
	"context"
	"fmt"
	"strings"
	"time"

	"example.com/ferry/internal/redial"
)

// The pause before a function is started again: leastRevival at first, twice as long after each start that fails, up to mostRevival.
const (
	leastRevival = time.Second
	mostRevival  = 30 * time.Second
)

// keep starts the function again whenever it has ended by itself or did not start, until ctx ends.
func (f *function) keep(ctx context.Context) {
	pause := redial.Pause{Min: leastRevival, Max: mostRevival}
	for {
		if r := f.current(); r != nil {
			since := time.Now()
			select {
			case <-r.Done():
				pause.Ended(time.Since(since))
			case <-ctx.Done():
				return
			}
		}
		pause.Wait(ctx, nil)
		f.revive(ctx)
		if ctx.Err() != nil {
			return
		}
	}
}

// revive starts the function unless it runs or ctx has ended. It logs an error that differs from the one before.
func (f *function) revive(ctx context.Context) {
	f.change.Lock()
	defer f.change.Unlock()
	before := f.state()
	if before.Running || ctx.Err() != nil {
		return
	}
	switch err := f.restart(ctx); {
	case ctx.Err() != nil:
		f.end() // stop waits for change
	case err == nil:
		f.mu.Lock()
		f.restarts++
		f.mu.Unlock()
		f.node.log.Info("a function that did not run has been started", "function", f.Name, "was", before.Error)
	case err.Error() != before.Error:
		f.node.log.Error("a function does not run: it is started again", "function", f.Name, "err", err)
	}
}

// current returns the running function; nil if it does not run.
func (f *function) current() *running {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.running
}

// forget ends keep, and a start that keep has begun.
func (f *function) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.unkeep != nil {
		f.unkeep()
		f.unkeep = nil
	}
}

// outage says which functions were started and do not run; empty if all do.
func (fs *functions) outage() string {
	var down []string
	all := fs.all()
	for _, f := range all {
		if s := f.state(); !s.Running && s.Error != "" {
			down = append(down, s.Error)
		}
	}
	if len(down) == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d functions do not run, and are started again: %s", len(down), len(all), strings.Join(down, ", "))
}
