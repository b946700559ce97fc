package wasm

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"slices"
	"testing"
	"time"
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

// TestStartAbandoned: when a Start is given up, its compiler ends with the functions that it is at, and not with the module: the next module does not wait for it.
func TestStartAbandoned(t *testing.T) {
	const functions, values = 60, 40_000 // all of them take minutes
	number := func(n int) []byte { return binary.AppendUvarint(nil, uint64(n)) }
	section := func(id byte, parts ...[]byte) []byte {
		all := slices.Concat(parts...)
		return slices.Concat([]byte{id}, number(len(all)), all)
	}
	body := slices.Concat([]byte{0}, slices.Repeat([]byte{0x20, 0, 0x41, 3, 0x6d}, values), slices.Repeat([]byte{0x6a}, values-1), []byte{0x0b}) // local 0 / 3 + local 0 / 3 + ...
	guest := slices.Concat([]byte("\x00asm\x01\x00\x00\x00"),
		section(1, []byte{1, 0x60, 2, 0x7f, 0x7f, 1, 0x7f}), section(3, number(functions), make([]byte, functions)), section(5, []byte{1, 0, 1}),
		section(7, []byte{2, 6}, []byte("memory"), []byte{2, 0, 12}, []byte("ferry_handle"), []byte{0, 0}),
		section(10, number(functions), slices.Repeat(slices.Concat(number(len(body)), body), functions)))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := Start(ctx, guest, Config{})
		ended <- err
	}()
	for len(compiling) == 0 {
		select {
		case err := <-ended:
			t.Fatal(err)
		case <-time.After(time.Millisecond):
		}
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	select {
	case compiling <- struct{}{}:
		<-compiling
	case <-time.After(20 * time.Second):
		t.Error("the compiler still runs")
	}
}
