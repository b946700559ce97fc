//go:build linux

package faults

import (
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/ferry/internal/needs"
)

// TestDescriptors has clients that only connect take all descriptors that a node gives to clients.
func TestDescriptors(t *testing.T) {
	needs.Program(t, "prlimit")
	s := newServer(t, t.TempDir())
	s.wrap = []string{"prlimit", "--nofile=256:256"}
	s.start()
	l := startLoads(s)
	var idle []net.Conn
	l.unharmed(func() {
		for _, addr := range []string{s.http, s.tcp, s.mqtt} {
			for range crowd {
				c, err := net.Dial("tcp", addr) // the kernel completes the handshake, also if the node does not accept
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				idle = append(idle, c)
			}
		}
		s.named("few descriptors are left")
		status, body := s.get("/ready")
		if status != http.StatusOK || !strings.Contains(body, "few descriptors are left") {
			t.Errorf("/ready: %d %q", status, body)
		}
		if s.metric("ferry_descriptors_short") != 1 || s.metric("ferry_descriptor_shortages_total") != 1 {
			t.Error("the shortage is not counted")
		}
		l.progress("without descriptors", kinds...)
		before, begun := s.cpu(), time.Now()
		l.s.await("a pause", func() bool { return time.Since(begun) > time.Second })
		if used, passed := s.cpu()-before, time.Since(begun); used > passed*3/2 {
			t.Errorf("the node used %v of the processor in %v: a loop spins", used, passed)
		}
	}, kinds...)
	for _, c := range idle {
		_ = c.Close()
	}
	s.named("descriptors are free again")
	if status, body := s.get("/ready"); status != http.StatusOK || body != "ready" {
		t.Errorf("/ready afterwards: %d %q", status, body)
	}
	l.progress("afterwards", kinds...)
	l.settle()
}
