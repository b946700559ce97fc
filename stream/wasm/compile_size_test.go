package wasm_test

import (
	"encoding/binary"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"example.com/ferry/stream/wasm"
)

// TestCompileSize checks that compiling a module needs no more memory than SizesOf says: one with a large function, whose values all live until its end.
func TestCompileSize(t *testing.T) {
	const values = 10_000
	number := func(n int) []byte { return binary.AppendUvarint(nil, uint64(n)) }
	section := func(id byte, parts ...[]byte) []byte {
		all := slices.Concat(parts...)
		return slices.Concat([]byte{id}, number(len(all)), all)
	}
	body := slices.Concat([]byte{0}, slices.Repeat([]byte{0x20, 0, 0x41, 3, 0x6d}, values), slices.Repeat([]byte{0x6a}, values-1), []byte{0x0b}) // local 0 / 3 + local 0 / 3 + ...
	guest := slices.Concat([]byte("\x00asm\x01\x00\x00\x00"),
		section(1, []byte{1, 0x60, 2, 0x7f, 0x7f, 1, 0x7f}), section(3, []byte{1, 0}), section(5, []byte{1, 0, 1}),
		section(7, []byte{2, 6}, []byte("memory"), []byte{2, 0, 12}, []byte("ferry_handle"), []byte{0, 0}),
		section(10, []byte{1}, number(len(body)), body))
	live := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := live()
	var most atomic.Int64
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				most.Store(max(most.Load(), live()))
			}
		}
	}()
	p, err := wasm.Start(t.Context(), guest, wasm.Config{Memory: 64 << 10, Instances: 1})
	close(stop)
	<-stopped
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	s := wasm.SizesOf(guest)
	if used := most.Load() - before; used > s.Compile+s.Code {
		t.Errorf("compiling has used %d KiB, and SizesOf says %d KiB and %d KiB", used>>10, s.Compile>>10, s.Code>>10)
	} else {
		t.Logf("used %d KiB of %d KiB", used>>10, (s.Compile+s.Code)>>10)
	}
}
