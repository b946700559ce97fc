package node

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// parts are the goroutines of a running node, each with the name of what it serves. All methods may overlap.
type parts struct {
	group   sync.WaitGroup
	mu      sync.Mutex
	running map[string]int // goroutines by name
}

// start calls serve on a goroutine.
func (p *parts) start(name string, serve func()) {
	p.count(name, 1)
	p.group.Go(func() {
		defer p.count(name, -1)
		serve()
	})
}

func (p *parts) count(name string, more int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running == nil {
		p.running = map[string]int{}
	}
	if p.running[name] += more; p.running[name] == 0 {
		delete(p.running, name)
	}
}

// await waits until all goroutines have ended, or until ctx ends. It returns the names of those that have not.
func (p *parts) await(ctx context.Context) []string {
	ended := make(chan struct{})
	go func() {
		p.group.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.running))
}

// awaitParts waits until the goroutines of s have ended, at most drain.timeout. What hangs does not hold the process: the log and the error
// name it.
func (n *Node) awaitParts(s *serving) error {
	ctx, cancel := context.WithTimeout(context.Background(), max(n.config().Drain.Timeout, phaseGrace))
	defer cancel()
	if left := s.parts.await(ctx); len(left) > 0 {
		return n.hangs(strings.Join(left, ", "))
	}
	return nil
}

// stopGrace is how long a part may take to stop after the end of the context that bounds this: longer than linkGrace for links and bridges.
const stopGrace = 3 * time.Second

// stop calls a function that stops a part of the node until ctx ends. If it does not return then, stop leaves it alone.
func (n *Node) stop(ctx context.Context, part string, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(stopGrace):
		return n.hangs(part)
	}
}

func (n *Node) hangs(part string) error {
	n.log.Error("a part of the node has not stopped in time: the process ends without it", "part", part)
	return fmt.Errorf("node: not stopped in time: %s", part)
}
