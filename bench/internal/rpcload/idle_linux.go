package rpcload

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"example.com/ferry/bench/internal/child"
)

// idleRole is a process with many clients, each with a connection of its own.
const idleRole = "clients"

// dialing is how many clients connect at the same time.
const dialing = 32

// IdleSystems are the rows with idle connections, all over TCP.
func IdleSystems() []System {
	all := slices.DeleteFunc(ferrySystems(), func(s System) bool { return s.Name != Ferry && s.Name != FerryGRPC })
	return append(all, arpcSystem(Arpc, protoCodec{}, protoKind), grpcGo(GRPCGo, protoKind))
}

// Idle is a server, and a process with clients that are connected to it and make no calls.
type Idle struct {
	clients, server *child.Process
}

// OpenIdle starts both, without a connection.
func OpenIdle(s System, dir string) (_ *Idle, err error) {
	t := new(Idle)
	defer func() {
		if err != nil {
			t.Close()
		}
	}()
	spec := Spec{Role: serverRole, System: s.Name, Dir: dir, Workers: 1, Conns: 1}
	var first report
	if t.server, first, err = start(spec, s.Kind); err != nil {
		return nil, err
	}
	spec.Role, spec.Addr = idleRole, first.Addr
	if t.clients, _, err = start(spec, s.Kind); err != nil {
		return nil, err
	}
	return t, nil
}

// Grow connects n more clients. Each of them makes one call.
func (t *Idle) Grow(n int) error {
	return t.clients.Ask(order{Do: connectMore, More: n}, new(report), 5*patience)
}

// Call makes a call with each client. It returns an error if one fails.
func (t *Idle) Call() error {
	return t.clients.Ask(order{Do: callEach}, new(report), 5*patience)
}

// Hold begins a call with each of the first n clients, and returns when n handlers are running. They run until Release.
func (t *Idle) Hold(n int) error {
	if err := t.server.Ask(order{Do: closeGate}, new(report), patience); err != nil {
		return err
	}
	if err := t.clients.Ask(order{Do: beginEach, More: n}, new(report), patience); err != nil {
		return err
	}
	for late := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		var r report
		if err := t.server.Ask(order{Do: countHeld}, &r, patience); err != nil {
			return err
		}
		if r.Calls == n {
			return nil
		}
		if time.Now().After(late) {
			return fmt.Errorf("rpcload: %d of %d calls are in progress after %v", r.Calls, n, patience)
		}
	}
}

// Release ends the calls of Hold. It returns an error if one fails.
func (t *Idle) Release() error {
	if err := t.server.Ask(order{Do: openGate}, new(report), patience); err != nil {
		return err
	}
	return t.clients.Ask(order{Do: endEach}, new(report), 5*patience)
}

// Memory returns the server's resident anonymous memory in bytes, after a garbage collection that has returned what is unused.
func (t *Idle) Memory() (int64, error) {
	if err := t.server.Ask(order{Do: settle}, new(report), patience); err != nil {
		return 0, err
	}
	name := fmt.Sprintf("/proc/%d/status", t.server.PID())
	text, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		var kib int64
		if n, _ := fmt.Sscanf(line, "RssAnon: %d kB", &kib); n == 1 {
			return kib << 10, nil
		}
	}
	return 0, fmt.Errorf("rpcload: %s says nothing of RssAnon", name)
}

// Close ends both processes.
func (t *Idle) Close() {
	for _, p := range []*child.Process{t.clients, t.server} {
		p.End()
	}
}

// crowd is the clients of an idle process.
type crowd struct {
	spec   Spec
	system System
	all    []Client
	begun  chan error // the results of the calls that beginEach began
}

// execute executes an order.
func (c *crowd) execute(o order) (r report) {
	var err error
	switch o.Do {
	case connectMore:
		err = c.connect(o.More)
	case callEach:
		err = c.call()
	case beginEach:
		c.begin(o.More)
	case endEach:
		err = c.end()
	default:
		err = fmt.Errorf("idle clients do not %s", o.Do)
	}
	if err != nil {
		r.Err = err.Error()
	}
	return r
}

// connect adds n clients, and makes a call with each.
func (c *crowd) connect(n int) error {
	more := make([]Client, n)
	err := parallel(n, func(i int) (err error) {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if more[i], err = c.system.Dial(ctx, c.spec); err != nil {
			return err
		}
		return more[i].Call(0)
	})
	for _, client := range more {
		if client != nil {
			c.all = append(c.all, client)
		}
	}
	return err
}

// call makes a call with each client.
func (c *crowd) call() error {
	return parallel(len(c.all), func(i int) error { return c.all[i].Call(0) })
}

// begin begins a call with each of the first n clients.
func (c *crowd) begin(n int) {
	c.begun = make(chan error, n)
	for _, client := range c.all[:n] {
		go func() { c.begun <- client.Call(0) }()
	}
}

// end waits for the calls that begin has begun.
func (c *crowd) end() (err error) {
	for range cap(c.begun) {
		err = errors.Join(err, <-c.begun)
	}
	return err
}

// parallel runs f for each number below n. It returns one of the errors.
func parallel(n int, f func(i int) error) error {
	var all sync.WaitGroup
	var next atomic.Int64
	errs := make([]error, dialing)
	for k := range errs {
		all.Go(func() {
			for errs[k] == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				errs[k] = f(i)
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
