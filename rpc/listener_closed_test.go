package rpc_test

import (
	"testing"

	"example.com/ferry/rpc"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/grpc"
	"example.com/ferry/rpc/jsonrpc"
	"example.com/ferry/rpc/native"
	"example.com/ferry/transport"
	"example.com/ferry/transport/memory"
	"example.com/ferry/transport/tcp"
)

// TestDrainAfterClose closes the listener of a server, which still drains without an error.
func TestDrainAfterClose(t *testing.T) {
	t.Parallel()
	for _, p := range []call.Protocol{native.Protocol{}, grpc.Protocol{}, jsonrpc.Protocol{}} {
		for addr, tr := range map[string]transport.Transport{"127.0.0.1:0": tcp.New(nil), "closed-" + p.Name(): memory.New(nil)} {
			srv := rpc.NewServer(nil)
			l, err := srv.Listen(t.Context(), p, tr, addr)
			if err != nil {
				t.Fatal(err)
			}
			if err := l.Close(); err != nil {
				t.Errorf("%s, %s: Close: %v", p.Name(), tr.Scheme(), err)
			}
			if err := srv.Drain(t.Context()); err != nil {
				t.Errorf("%s, %s: Drain: %v", p.Name(), tr.Scheme(), err)
			}
		}
	}
}
