package nats

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/ferry/engine"
)

// patience bounds what a test waits for on a busy machine.
const patience = 60 * time.Second

// rig is an engine on a server of the test, with a stream of orders.
type rig struct {
	t *testing.T
	e *Engine
	s engine.Stream
}

func newRig(t *testing.T) *rig {
	t.Helper()
	return rigAt(t, startAlone(t))
}

func rigAt(t *testing.T, address string) *rig {
	t.Helper()
	r := &rig{t: t, e: connectTo(t, address)}
	var err error
	if r.s, err = r.e.Open(t.Context(), engine.Config{Name: "orders", Tags: []string{"orders/#"}}); err != nil {
		t.Fatal(err)
	}
	return r
}

// append appends records one after the other, and returns a channel with their fates.
func (r *rig) append(from, n, size int) <-chan error {
	done := make(chan error, n)
	for i := range n {
		payload := fmt.Appendf(nil, "%d %s", from+i, strings.Repeat("x", size))
		r.s.Append([]engine.Record{{Tag: "orders/a", Payload: payload}}, func(err error) { done <- err })
	}
	return done
}

func (r *rig) await(done <-chan error) {
	r.t.Helper()
	for range cap(done) {
		select {
		case err := <-done:
			if err != nil {
				r.t.Fatalf("Append: %v", err)
			}
		case <-time.After(patience):
			_, err := r.s.(*stream).appender.state()
			r.t.Fatalf("Append: not done within %s: %v", patience, err)
		}
	}
}

// until waits for a condition.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %s", what, patience)
		}
	}
}

func (r *rig) failure() string {
	if _, err := r.s.(*stream).appender.state(); err != nil {
		return err.Error()
	}
	return ""
}

// numbers reads n records from the first on and returns the numbers in their payloads.
func (r *rig) numbers(n int) []string {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	c, err := r.s.Cursor(ctx, engine.CursorConfig{Start: engine.Start{At: engine.AtFirst}})
	if err != nil {
		r.t.Fatal(err)
	}
	defer c.Close(ctx)
	var all []string
	for len(all) < n {
		records, err := c.Next(ctx, 1000, 1<<20)
		if err != nil {
			r.t.Fatalf("Next after %d of %d records: %v", len(all), n, err)
		}
		for _, r := range records {
			number, _, _ := strings.Cut(string(r.Payload), " ")
			all = append(all, number)
		}
	}
	return all
}

// checkOrder checks that n numbers are stored in order. One that the server has stored, and could not acknowledge, may come again.
func (r *rig) checkOrder(n int) {
	r.t.Helper()
	info, err := r.s.Info(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	next := 0
	for _, number := range r.numbers(int(info.Records)) {
		if number == fmt.Sprint(next) {
			next++
		}
	}
	if next != n {
		r.t.Errorf("number %d is missing, or out of order", next)
	}
}
