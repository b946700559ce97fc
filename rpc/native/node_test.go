package native_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"example.com/ferry/broker"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/native"
	"example.com/ferry/transport/memory"
)

// TestNodeWithoutServices calls a node that no client serves for: the call fails, and the connection is sound.
func TestNodeWithoutServices(t *testing.T) {
	node, err := broker.New(broker.Config{Identify: broker.Anyone, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	network := memory.New(nil)
	l, err := network.Listen(t.Context(), "node")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- node.Serve(context.Background(), l, broker.ValidateFull) }()
	conn, err := native.Protocol{}.Dial(t.Context(), network, "node")
	if err != nil {
		t.Fatal(err)
	}
	var resp call.Response
	err = conn.Call(t.Context(), &call.Head{Method: "a.A.B", Content: "application/json"}, []byte("{}"), &resp)
	if !errors.Is(err, &call.Status{Code: call.Unimplemented}) || !resp.Unsent {
		t.Errorf("got %v, unsent %v, want Unimplemented and unsent", err, resp.Unsent)
	}
	if err := conn.Close(t.Context()); err != nil {
		t.Errorf("Close: %v", err)
	}
	_ = l.Close()
	if err := node.Shutdown(t.Context()); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
}
