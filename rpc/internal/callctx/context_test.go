package callctx_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ferry/rpc/internal/callctx"
)

func TestDeadline(t *testing.T) {
	t.Parallel()
	for name, wait := range map[string]func(*callctx.Context){
		"Done":      func(c *callctx.Context) { <-c.Done() },
		"Err":       func(c *callctx.Context) { time.Sleep(time.Minute) },
		"AfterFunc": func(c *callctx.Context) { ch := make(chan int); c.AfterFunc(func() { close(ch) }); <-ch },
		"a child": func(c *callctx.Context) {
			child, cancel := context.WithCancel(c)
			defer cancel()
			<-child.Done()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				c := callctx.New(start.Add(time.Minute))
				if at, ok := c.Deadline(); !ok || at != start.Add(time.Minute) {
					t.Errorf("Deadline: got %v, %v", at, ok)
				}
				if err := c.Err(); err != nil {
					t.Errorf("before the deadline: %v", err)
				}
				wait(c)
				if err := c.Err(); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Minute {
					t.Errorf("got %v after %v, want DeadlineExceeded after a minute", err, time.Since(start))
				}
				c.End(context.Canceled)
				if err := c.Err(); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("a later End has changed the reason: %v", err)
				}
			})
		})
	}
}

func TestEnd(t *testing.T) {
	t.Parallel()
	c := callctx.New(time.Time{})
	if _, ok := c.Deadline(); ok {
		t.Error("a context without a deadline has one")
	}
	child, cancel := context.WithCancel(c)
	defer cancel()
	called := make(chan int, 2)
	c.AfterFunc(func() { called <- 1 })
	stop := c.AfterFunc(func() { called <- 2 })
	if !stop() || stop() {
		t.Error("stop must prevent the call once")
	}
	early := c.Done()
	c.End(context.Canceled)
	<-early
	<-c.Done()
	<-child.Done()
	if got := <-called; got != 1 {
		t.Errorf("called %d, want 1", got)
	}
	if stop := c.AfterFunc(func() { called <- 3 }); stop() {
		t.Error("the end has passed, but stop prevented a call")
	}
	if got := <-called; got != 3 {
		t.Errorf("called %d, want 3", got)
	}
	if !errors.Is(c.Err(), context.Canceled) || !errors.Is(child.Err(), context.Canceled) {
		t.Errorf("got %v and %v, want Canceled", c.Err(), child.Err())
	}
}

// TestChildNeedsNoGoroutine: derived contexts, which each handler makes for its own calls, wait without a goroutine.
func TestChildNeedsNoGoroutine(t *testing.T) {
	c := callctx.New(time.Now().Add(time.Hour))
	before := runtime.NumGoroutine()
	for range 100 {
		_, cancel := context.WithCancel(c)
		defer cancel()
	}
	if after := runtime.NumGoroutine(); after > before+10 {
		t.Errorf("100 derived contexts started %d goroutines", after-before)
	}
	c.End(context.Canceled)
}
