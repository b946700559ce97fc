package grpc_test

import (
	"testing"

	"example.com/ferry/internal/bufpool"
	"example.com/ferry/rpc/call"
)

// TestUnaryAllocations: a unary call allocates the context of its handler, which may outlive the call, and nothing else at either end. The
// handler of this test copies the response.
func TestUnaryAllocations(t *testing.T) {
	r := newRig(t, newService(), nil, nil)
	h, data := head(echoMethod), make([]byte, 581)
	var resp call.Response
	unary := func() {
		if err := r.conn.Call(t.Context(), h, data, &resp); err != nil {
			t.Fatal(err)
		}
		resp.Release()
	}
	for range 100 {
		unary()
	}
	const context, response = 1, 1
	if n := testing.AllocsPerRun(1000, unary); n > context+response && bufpool.Reuse && !raceEnabled {
		t.Errorf("%v allocations per call, want %d", n, context+response)
	}
}

func BenchmarkUnary(b *testing.B) {
	r := newRig(b, newService(), nil, nil)
	h, data := head(echoMethod), make([]byte, 581)
	b.ReportAllocs()
	var resp call.Response
	for b.Loop() {
		if err := r.conn.Call(b.Context(), h, data, &resp); err != nil {
			b.Fatal(err)
		}
		resp.Release()
	}
}
