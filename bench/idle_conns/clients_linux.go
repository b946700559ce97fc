package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	"example.com/ferry/bench/internal/keepalive"
)

// clients are the client processes of a case. Each client opens a part of the connections.
type clients []*keepalive.Client

// connect starts as many clients as the case has processes. On an error it also returns the processes that were started.
func (e *experiment) connect(r row, l load) (clients, error) {
	c := make(clients, l.processes)
	err := c.each(func(i int) (err error) {
		c[i], err = keepalive.StartClient(keepalive.Spec{
			Wire: r.wire, Addr: e.at.proxy, From: fmt.Sprintf("127.0.0.%d", i+2), Size: bodySize, Cores: []int{ends},
			Conns: share(l.conns, i, l.processes),
		})
		return err
	})
	return slices.DeleteFunc(c, func(c *keepalive.Client) bool { return c == nil }), err
}

// share returns how many of conns the i-th client opens.
func share(conns, i, of int) int { return conns*(i+1)/of - conns*i/of }

// each calls f for all clients at once.
func (c clients) each(do func(i int) error) error {
	errs := make([]error, len(c))
	var all sync.WaitGroup
	for i := range c {
		all.Go(func() { errs[i] = do(i) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// more opens more connections.
func (c clients) more(conns int) error {
	return c.each(func(i int) error { return c[i].More(share(conns, i, len(c))) })
}

// run divides a load among the clients, and adds up their reports. The first client reads the CPU time.
func (c clients) run(l keepalive.Load) (*keepalive.Report, error) {
	l.Rate /= float64(len(c))
	reports := make([]*keepalive.Report, len(c))
	err := c.each(func(i int) (err error) {
		own := l
		if i > 0 {
			own.PIDs = nil
		}
		reports[i], err = c[i].Run(own)
		return err
	})
	if err != nil {
		return nil, err
	}
	sum := reports[0]
	for _, r := range reports[1:] {
		sum.Requests += r.Requests
		sum.Times.Merge(r.Times)
		sum.Late.Merge(r.Late)
		sum.Failures += r.Failures
		sum.Failure = cmp.Or(sum.Failure, r.Failure)
	}
	return sum, nil
}

func (c clients) pids() (pids []int) {
	for _, client := range c {
		pids = append(pids, client.PID())
	}
	return pids
}

func (c clients) end() {
	_ = c.each(func(i int) error { c[i].End(); return nil })
}
