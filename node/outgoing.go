package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"example.com/ferry/broker"
	"example.com/ferry/link"
	"example.com/ferry/link/spool"
	"example.com/ferry/node/config"
)

// outgoing is a link to another node, or a bridge to another broker. S is its state.
type outgoing[S any] interface {
	broker.Forwarder
	Stats() S
	Close(context.Context) error
	name() string
}

// outgoings are those of one section of the configuration. A nil *outgoings has none.
type outgoings[S any, T outgoing[S]] struct {
	section string // forward
	noun    string // link
	log     *slog.Logger

	mu   sync.Mutex
	list []T
}

// all returns the links or bridges.
func (o *outgoings[S, T]) all() []T {
	if o == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.list)
}

// set replaces them.
func (o *outgoings[S, T]) set(list []T) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.list = list
}

// Stats returns the state of each.
func (o *outgoings[S, T]) Stats() []S {
	var all []S
	for _, each := range o.all() {
		all = append(all, each.Stats())
	}
	return all
}

// outgoingGrace is the least time that a link or bridge has to write its messages to its spool, and to learn which ones have arrived.
const outgoingGrace = time.Second

// withGrace returns ctx, or a context with at least the time of grace if ctx has a deadline before.
func withGrace(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < grace {
		return context.WithTimeout(context.WithoutCancel(ctx), grace)
	}
	return ctx, func() {}
}

// close closes those of a list, at the same time. A nil *outgoings has none to close.
func (o *outgoings[S, T]) close(ctx context.Context, list []T) {
	ctx, cancel := withGrace(ctx, outgoingGrace)
	defer cancel()
	var group sync.WaitGroup
	for _, each := range list {
		group.Go(func() {
			if err := each.Close(ctx); err != nil {
				o.log.Warn("a "+o.noun+" was closed", o.noun, each.name(), "err", err)
			}
		})
	}
	group.Wait()
}

// open makes the first ones, of the configurations 0 to count-1. After an error those that were made are in place, for close.
func (o *outgoings[S, T]) open(count int, create func(i int) (T, error)) error {
	var made []T
	defer func() { o.set(made) }()
	for i := range count {
		each, err := create(i)
		if err != nil {
			return fmt.Errorf("node: %s[%d].%w", o.section, i, err)
		}
		made = append(made, each)
	}
	return nil
}

// outgoingConfig is what links and bridges have in common: a spool in a directory of a section, and the log.
func (n *Node) outgoingConfig(cfg *config.Config, section, name string, s config.Spool) link.Config {
	return link.Config{
		Name: name, Log: n.log, BlockWhenFull: s.Full == config.FullBlock,
		Spool: spool.Config{Dir: filepath.Join(cfg.DataDir, section, name), MaxBytes: int64(s.Size), Sync: s.Sync},
	}
}

// setForwarders tells the broker which links and bridges there are.
func (n *Node) setForwarders() {
	var all []broker.Forwarder
	for _, l := range n.links.all() {
		all = append(all, l)
	}
	for _, b := range n.bridges.all() {
		all = append(all, b)
	}
	n.broker.SetForwarders(all)
}

// outgoingPatch is a prepared change of a link or bridge that stays.
type outgoingPatch struct{ commit, abort func() }

// outgoingChange is how a section prepares its configurations of a reload.
type outgoingChange[T any] struct {
	names  []string                                     // of the next configurations
	create func(i int) (T, error)                       // for a name that is new
	patch  func(i int, stays T) (*outgoingPatch, error) // nil if nothing changes
}

// prepare makes what the next configuration adds, and prepares what changes. What stays keeps its spool, so no message is lost.
func (o *outgoings[S, T]) prepare(n *Node, r *reload, c outgoingChange[T]) (change, error) {
	before := map[string]T{}
	for _, each := range o.all() {
		before[each.name()] = each
	}
	var list, created []T
	var patches []*outgoingPatch
	var added, changed []string
	var errs []error
	for i, name := range c.names {
		each, stays := before[name]
		delete(before, name)
		var err error
		if stays {
			var p *outgoingPatch
			if p, err = c.patch(i, each); p != nil {
				patches, changed = append(patches, p), append(changed, name)
			}
		} else if each, err = c.create(i); err == nil {
			created, added = append(created, each), append(added, name)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s[%d].%w", o.section, i, err))
			continue
		}
		list = append(list, each)
	}
	var ended []T
	var removed []string
	for name, each := range before {
		ended, removed = append(ended, each), append(removed, name)
	}
	slices.Sort(removed)
	abort := func() {
		for _, p := range patches {
			p.abort()
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // nothing is in flight
		o.close(ctx, created)
	}
	if len(errs) > 0 {
		abort()
		return change{}, errors.Join(errs...)
	}
	commit := func() {
		for _, p := range patches {
			p.commit()
		}
		o.set(list)
		n.setForwarders()
		if len(ended) > 0 {
			n.serving.parts.start("removed links or bridges", func() { // drain.timeout is the time for what is on its way
				ctx, cancel := context.WithTimeout(context.Background(), r.next.Drain.Timeout)
				defer cancel()
				o.close(ctx, ended)
			})
		}
	}
	return change{differences(added, removed, changed), commit, abort}, nil
}
