package grpcload

import (
	"os"
	"strings"
	"testing"
	"time"

	"example.com/ferry/bench/internal/keepalive"
)

func TestMain(m *testing.M) {
	keepalive.Main(Protocols()...)
	os.Exit(m.Run())
}

func TestLoad(t *testing.T) {
	for _, wire := range []keepalive.Wire{keepalive.GRPC, keepalive.GRPCStream} {
		t.Run(string(wire), func(t *testing.T) {
			a, err := keepalive.FreeAddrs(1)
			if err != nil {
				t.Fatal(err)
			}
			backend, err := keepalive.Backend{Wire: wire, Addr: a[0]}.Start(nil)
			if err != nil {
				t.Fatal(err)
			}
			defer backend.Stop()
			client, err := keepalive.StartClient(keepalive.Spec{Wire: wire, Addr: a[0], Conns: 2, Streams: 5, Size: 1024})
			if err != nil {
				t.Fatal(err)
			}
			defer client.End()
			load := keepalive.Load{Window: 100 * time.Millisecond, PIDs: backend.Family()}
			for range 2 { // streams stay open
				r, err := client.RunUntil(load, 1)
				if err != nil {
					t.Fatal(err)
				}
				if r.Failures > 0 || r.Requests == 0 || r.CPU == 0 {
					t.Errorf("%d responses, %d failures: %s", r.Requests, r.Failures, r.Failure)
				}
			}
			backend.Stop()
			load.PIDs = nil
			if r, err := client.RunUntil(load, 1); err != nil || r.Failures == 0 || !strings.Contains(r.Failure, "Unavailable") {
				t.Errorf("without a server: got %+v, %v", r, err)
			}
		})
	}
}

func TestVerify(t *testing.T) {
	w := &worker{message: []byte("0123456789abcdef")}
	if err := w.verify([]byte("0123456789abcdef")); err != nil {
		t.Error(err)
	}
	if err := w.verify([]byte("0123456789abcdeg")); err == nil {
		t.Error("another response is no error")
	}
}
