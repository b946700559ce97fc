package node

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"

	"example.com/ferry/node/config"
)

// restaffing is a prepared change of the functions.
type restaffing struct {
	list  []*function    // the functions after the change
	stop  []*function    // those that end
	start []*function    // those that begin, which are in list
	swap  [][2]*function // running functions that stay, and those whose guests they take
}

// prepareFunctions compares the functions with those of the next configuration. It starts the processes of new workers and
// compiles new guests. A function stays, with its connection and its statistics, if nothing of it changes, the file of its guest
// included. While a function is deployed or removed, all others stay.
func (n *Node) prepareFunctions(r *reload) (change, error) {
	if n.functions == nil {
		return change{}, nil
	}
	running := map[string]*function{}
	for _, f := range n.functions.all() {
		running[f.Name] = f
	}
	var c restaffing
	var added, removed, changed []string
	var errs []error
	for _, want := range append(wantedFunctions(r.next), configsOf(r.deployed, n.deployed)...) {
		old := running[want.Name]
		delete(running, want.Name)
		if r.only != "" && want.Name != r.only && old != nil {
			c.list = append(c.list, old)
			continue
		}
		f, err := n.functionOf(want, r)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		alike := old != nil && old.alike(f)
		same := alike && old.moduleOf().same(f.guest)
		if same && old.version == f.version {
			c.list = append(c.list, old)
			continue
		}
		if err := f.prepare(n.untilDrain()); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", placeOf(want, r), err))
			continue
		}
		if alike && f.guest != nil && old.state().Running {
			c.list = append(c.list, old)
			c.swap = append(c.swap, [2]*function{old, f})
			changed = append(changed, want.Name)
			continue
		}
		c.list = append(c.list, f)
		if old == nil {
			added = append(added, want.Name)
		} else {
			changed = append(changed, want.Name)
			c.stop = append(c.stop, old)
		}
		if !same || old.state().Running {
			c.start = append(c.start, f)
		}
	}
	for _, f := range n.functions.all() {
		if running[f.Name] == f {
			removed = append(removed, f.Name)
			c.stop = append(c.stop, f)
		}
	}
	if len(errs) > 0 {
		c.abort()
		return change{}, errors.Join(errs...)
	}
	return change{differences(added, removed, changed), func() { c.commit(n) }, c.abort}, nil
}

// functionOf makes a function that is not prepared. It reads the file of a guest.
func (n *Node) functionOf(c config.Function, r *reload) (*function, error) {
	at := placeOf(c, r)
	version := r.versionOf(c.Name)
	if c.CPU == config.Heavy && n.pool == nil && version > 0 {
		if err := n.makePool(r.next); err != nil {
			return nil, err
		}
	}
	f, err := n.newFunction(c)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	f.version = version
	return f, nil
}

// alike reports whether f and next differ in nothing but their guests.
func (f *function) alike(next *function) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	mine := f.Function
	mine.Wasm = next.Wasm
	return (f.Wasm == "") == (next.Wasm == "") && (f.version == 0) == (next.version == 0) && reflect.DeepEqual(mine, next.Function)
}

// placeOf returns where the next configuration has a function.
func placeOf(c config.Function, r *reload) string {
	for i := range r.next.Functions {
		if r.next.Functions[i].Name == c.Name {
			return fmt.Sprintf("functions[%d]", i)
		}
	}
	if r.versionOf(c.Name) > 0 {
		return "deployed function " + c.Name
	}
	return "live.functions"
}

// commit stops and starts functions. One that cannot start shows the reason, like one that has ended by itself. Those of a
// configuration stop at the same time, and start at the same time, so that a reload waits for the slowest only: at most
// startTimeout.
func (c *restaffing) commit(n *Node) {
	for _, pair := range c.swap {
		pair[0].replaceGuest(pair[1])
		pair[1].discard()
	}
	each(c.stop, (*function).retire)
	n.functions.replace(c.list)
	each(c.start, func(f *function) {
		if err := f.start(context.Background()); err != nil {
			n.log.Error("a function of the new configuration does not run: it is started again", "function", f.Name, "err", err)
		}
	})
	for _, f := range c.list {
		f.discard() // of functions that stay stopped
	}
}

// each calls do for all functions at the same time, and waits.
func each(list []*function, do func(*function)) {
	var group sync.WaitGroup
	for _, f := range list {
		group.Go(func() { do(f) })
	}
	group.Wait()
}

func (c *restaffing) abort() {
	for _, f := range c.list {
		f.discard()
	}
	for _, pair := range c.swap {
		pair[1].discard()
	}
}
