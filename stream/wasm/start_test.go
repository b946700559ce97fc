package wasm

import (
	"context"
	"errors"
	"os"
	"testing"
)

// TestStartEnds: a Start whose context ends does not wait for the compiler, neither its own nor that of another module, and leaves nothing behind that keeps others from
// being compiled.
func TestStartEnds(t *testing.T) {
	guest, err := os.ReadFile("testdata/guest.wasm")
	if err != nil {
		t.Fatal(err)
	}
	compiling <- struct{}{} // another module is being compiled
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := Start(ctx, guest, Config{})
		ended <- err
	}()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("beside another module: got %v", err)
	}
	<-compiling
	for range 20 { // some begin to compile, some do not
		if p, err := Start(ctx, guest, Config{}); err == nil {
			_ = p.Close()
		} else if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	}
	p, err := Start(t.Context(), guest, Config{})
	if err != nil {
		t.Fatal(err)
	}
	_ = p.Close()
}
