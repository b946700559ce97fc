package durable_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"example.com/ferry/bench/internal/durable"
	"example.com/ferry/bench/internal/ferrynode"
	"example.com/ferry/bench/internal/kafka"
)

func TestMain(m *testing.M) {
	durable.Main()
	os.Exit(m.Run())
}

// TestKafka needs Kafka in the cache: make bench Q=stream_replay installs it.
func TestKafka(t *testing.T) {
	if !kafka.Installed() {
		t.Log("Kafka is not installed")
		return
	}
	dir := t.TempDir()
	servers, err := durable.StartKafka(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer servers.Close()
	s, err := durable.Open(durable.Setup{System: durable.Kafka, Servers: servers, Dir: dir, Name: "one", Replicas: 1, Size: 256})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	replay(t, s)
}

// replay stores messages and reads them.
func replay(t *testing.T, s *durable.Session) {
	t.Helper()
	const n = 1000
	if rate, err := s.Fill(n); err != nil || rate <= 0 {
		t.Fatalf("Fill: got %v, %v", rate, err)
	}
	for _, where := range []bool{false, true} {
		if rate, err := s.Replay(n, where); err != nil || rate <= 0 {
			t.Fatalf("Replay, where %v: got %v, %v", where, rate, err)
		}
	}
}

func TestSystems(t *testing.T) {
	bin := t.TempDir()
	if err := ferrynode.Build(bin); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		system   durable.System
		replicas int
	}{{durable.NATS, 1}, {durable.NATS, 3}, {durable.Ferry, 1}, {durable.FerryExternal, 1}, {durable.FerryExternal, 3}} {
		t.Run(fmt.Sprintf("%s, %d", c.system, c.replicas), func(t *testing.T) {
			servers, err := durable.StartServers(t.TempDir(), c.replicas, false)
			if err != nil {
				t.Fatal(err)
			}
			defer servers.Close()
			s, err := durable.Open(durable.Setup{System: c.system, Servers: servers, Dir: bin, Name: fmt.Sprintf("s%d-%d", c.replicas, len(c.system)), Replicas: c.replicas, Size: 256})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			replay(t, s)
			if err := s.Check(20); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if err := s.Run(time.Millisecond); err != nil {
					t.Fatal(err)
				}
			}
			f, err := s.Figures()
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range durable.Figures() {
				if f[name] <= 0 {
					t.Errorf("%s: got %v", name, f[name])
				}
			}
		})
	}
}
