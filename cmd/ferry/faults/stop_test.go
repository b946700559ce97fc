//go:build linux

package faults

import (
	"context"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestStopped stops the process for a while, as a debugger or a paused virtual machine does.
func TestStopped(t *testing.T) {
	t.Parallel()
	s := newServer(t, t.TempDir())
	s.start()
	l := startLoads(s)
	before := strings.Count(s.log.String(), "\n")
	s.signal(syscall.SIGSTOP)
	time.Sleep(stoppedFor) // the fault itself
	s.signal(syscall.SIGCONT)
	s.named("the process stood still")
	if n := s.metric("ferry_stalls_total"); n < 1 {
		t.Errorf("%v stalls are counted", n)
	}
	if seconds := s.metric("ferry_stalled_seconds_total"); seconds < stoppedFor.Seconds()-2 {
		t.Errorf("%v s of stalls are counted, want about %v", seconds, stoppedFor)
	}
	l.progress("afterwards", kinds...)
	l.settle()
	if n := strings.Count(s.log.String(), "\n") - before; n > 40 {
		t.Errorf("the log has %d lines more", n)
	}
	if status, body := s.get("/ready"); status != http.StatusOK || body != "ready" {
		t.Errorf("/ready: %d %q", status, body)
	}
}

// TestKilled kills the process and starts it again at once, at the same addresses.
func TestKilled(t *testing.T) {
	t.Parallel()
	s := newServer(t, t.TempDir())
	s.start()
	l := startLoads(s)
	for range kills {
		s.signal(syscall.SIGKILL)
		s.wait()
		s.start()
		l.progress("after kill -9", kinds...)
	}
	l.settle()
}

// TestTerminated ends the process under load, and starts it again.
func TestTerminated(t *testing.T) {
	t.Parallel()
	s := newServer(t, t.TempDir())
	s.start()
	l := startLoads(s)
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		s.signal(sig)
		if status := s.wait(); status != 0 {
			t.Errorf("after %v: exit status %d, want 0", sig, status)
		}
		s.start()
		l.progress("after "+sig.String(), kinds...)
	}
	// A request without a response keeps the process draining. The second signal ends it.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.http+"/wait", nil)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if resp, err := client.Do(req); err == nil {
			_ = resp.Body.Close()
		}
	}()
	s.await("the request is in progress", func() bool {
		_, body := s.get("/api/proxy")
		return strings.Contains(body, `"name":"web","active":1`) || strings.Contains(body, `"name":"web","active":2`)
	})
	drained := s.log.count("draining; Ctrl-C again ends at once")
	s.signal(syscall.SIGTERM)
	s.await("the node drains", func() bool { return s.log.count("draining; Ctrl-C again ends at once") > drained })
	s.signal(syscall.SIGTERM)
	if status := s.wait(); status != 130 {
		t.Errorf("after the second signal: exit status %d, want 130", status)
	}
	<-ended
	s.start()
	l.progress("after the second signal", kinds...)
	l.settle()
}
