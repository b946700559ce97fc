package wasm_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"example.com/ferry"
	"example.com/ferry/stream/wasm"
)

// imported is a function of WASI. Its type is a number of a type in assemble.
type imported struct {
	name string
	typ  byte
}

const guestMemory = 16 << 20 // of the guests that assemble makes

// assemble returns a guest with imported functions, a function without parameters and results, and a ferry_handle. Both have a local 2.
// The imports have the first numbers; the function leaf has the next one. text is at 0 in memory.
func assemble(imports []imported, leaf, handle []byte, text string) []byte {
	number := func(n int) []byte { return binary.AppendUvarint(nil, uint64(n)) }
	sized := func(parts ...[]byte) []byte {
		all := slices.Concat(parts...)
		return append(number(len(all)), all...)
	}
	named := func(name string) []byte { return sized([]byte(name)) }
	section := func(id byte, parts ...[]byte) []byte { return append([]byte{id}, sized(parts...)...) }
	list := number(len(imports))
	for _, i := range imports {
		list = slices.Concat(list, named("wasi_snapshot_preview1"), named(i.name), []byte{0, i.typ})
	}
	return slices.Concat([]byte("\x00asm\x01\x00\x00\x00"),
		section(1, []byte{5}, // types: a function has 0x60, its parameters and its results; 0x7f is i32, 0x7e is i64
			[]byte{0x60, 2, 0x7f, 0x7f, 1, 0x7f},
			[]byte{0x60, 3, 0x7f, 0x7f, 0x7f, 0},
			[]byte{0x60, 4, 0x7f, 0x7f, 0x7f, 0x7f, 1, 0x7f},
			[]byte{0x60, 5, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 1, 0x7f},
			[]byte{0x60, 9, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7e, 0x7e, 0x7f, 0x7f, 1, 0x7f}),
		section(2, list),
		section(3, []byte{2, 1, 0}),
		section(5, []byte{1, 0}, number(guestMemory>>16)),
		section(7, []byte{2}, named("memory"), []byte{2, 0}, named("ferry_handle"), []byte{0}, number(len(imports)+1)),
		section(10, []byte{2}, sized([]byte{0}, leaf, []byte{0x0b}), sized([]byte{1, 1, 0x7f}, handle, []byte{0x0b})),
		section(11, []byte{1, 0, 0x41, 0, 0x0b}, named(text)))
}

// constants are i32.const instructions for numbers that are not negative.
func constants(numbers ...int) (code []byte) {
	for _, n := range numbers {
		for code = append(code, 0x41); n > 0x3f; n >>= 7 {
			code = append(code, byte(n&0x7f)|0x80)
		}
		code = append(code, byte(n))
	}
	return code
}

// repeat is a loop of n iterations, which are counted in local 2.
func repeat(n int, body []byte) []byte {
	return slices.Concat([]byte{0x03, 0x40}, body, []byte{0x20, 2}, constants(1), []byte{0x6a, 0x22, 2}, constants(n), []byte{0x48, 0x0d, 0, 0x0b})
}

// TestHeavyCode checks that a call of a guest ends whose code takes long in few iterations of its loop, or in one call of the host.
func TestHeavyCode(t *testing.T) {
	const vectors = 4000
	copied := constants(0, 1<<19, 1<<19)
	fill := slices.Concat(constants(0, 0, guestMemory), []byte{0xfc, 0x0b, 0})
	division := []byte{0x20, 0, 0x41, 3, 0x6d, 0x21, 0} // local 0 divided by 3
	call := slices.Concat(constants(1, 1, 1), []byte{0x10, 0})
	for _, row := range []struct {
		name         string
		imports      []imported
		leaf, handle []byte
	}{
		{"fills its memory", nil, nil, repeat(2000, fill)},
		{"copies its memory", nil, nil, repeat(50_000, slices.Concat(copied, []byte{0xfc, 0x0a, 0, 0}))},
		{"long code", nil, nil, repeat(40_000, slices.Repeat(division, 10_000))},
		{"calls", nil, slices.Repeat(division, 36), repeat(10_000, slices.Repeat(call, 1000))},
		{"calls without a loop", nil, slices.Repeat(division, 20_000), slices.Repeat(call, 10_000)},
		{"prints", []imported{{"fd_write", 2}}, nil, slices.Concat(
			repeat(vectors, slices.Concat([]byte{0x20, 2}, constants(8), []byte{0x6c}, constants(guestMemory), []byte{0x36, 2, 4})),
			constants(1, 0, vectors, 0), []byte{0x10, 0, 0x1a})},
	} {
		t.Run(row.name, func(t *testing.T) {
			p, err := wasm.Start(t.Context(), assemble(row.imports, row.leaf, append(row.handle, constants(0)...), ""),
				wasm.Config{Memory: guestMemory, Timeout: 20 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = p.Close() })
			if err := p.Handle(t.Context(), &ferry.Message{}, discard{}); !errors.Is(err, wasm.ErrTimeout) {
				t.Errorf("got %v, want %v", err, wasm.ErrTimeout)
			}
		})
	}
}

// TestDescriptors checks that a guest that closes no file has few descriptors of the process.
func TestDescriptors(t *testing.T) {
	open := slices.Concat(constants(3, 0, 0, 1, 0), []byte{0x42, 2, 0x42, 2}, constants(0, 1024), []byte{0x10, 0, 0x22, 0, 0x04, 0x40, 0x20, 0, 0x0f, 0x0b}) // returns the error
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := wasm.Start(t.Context(), assemble([]imported{{"path_open", 4}}, nil, slices.Concat(repeat(wasm.MaxOpen+1, open), constants(0)), "f"),
		wasm.Config{Memory: guestMemory, Mounts: []wasm.Mount{{Host: dir, Guest: "/"}}, Instances: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	const eagain = 6
	var failed *wasm.HandlerError
	if err := p.Handle(t.Context(), &ferry.Message{}, discard{}); !errors.As(err, &failed) || failed.Status != eagain {
		t.Errorf("a guest that opens %d files: got %v, want status %d, EAGAIN", wasm.MaxOpen+1, err, eagain)
	}
}

// TestStack checks that an instance which has recursed deeply keeps no stack of that while it is idle.
func TestStack(t *testing.T) {
	recurse := []byte{0x20, 0, 0x45, 0x04, 0x7f, 0x41, 0, 0x05, 0x20, 0, 0x41, 1, 0x6b, 0x20, 1, 0x10, 1, 0x0b} // handle(n, t): n == 0 ? 0 : handle(n-1, t)
	p, err := wasm.Start(t.Context(), assemble(nil, nil, recurse, ""), wasm.Config{Memory: guestMemory, Instances: 1, Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	live := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := live()
	if err := p.Handle(t.Context(), &ferry.Message{Payload: make([]byte, 200_000)}, discard{}); err != nil {
		t.Fatal(err)
	}
	grown := func() int64 { return int64(live() - before) }
	for until := time.Now().Add(20 * time.Second); grown() > 1<<20; {
		if time.Now().After(until) {
			t.Fatalf("the idle instance keeps %d KiB", grown()>>10)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestCodeSize checks that a module keeps no more memory than SizesOf says: one of very small functions.
func TestCodeSize(t *testing.T) {
	const functions = 100_000
	number := func(n int) []byte { return binary.AppendUvarint(nil, uint64(n)) }
	section := func(id byte, parts ...[]byte) []byte {
		all := slices.Concat(parts...)
		return slices.Concat([]byte{id}, number(len(all)), all)
	}
	guest := slices.Concat([]byte("\x00asm\x01\x00\x00\x00"),
		section(1, []byte{2, 0x60, 2, 0x7f, 0x7f, 1, 0x7f, 0x60, 0, 0}),
		section(3, number(functions+1), []byte{0}, bytes.Repeat([]byte{1}, functions)),
		section(5, []byte{1, 0, 1}),
		section(7, []byte{2, 6}, []byte("memory"), []byte{2, 0, 12}, []byte("ferry_handle"), []byte{0, 0}),
		section(10, number(functions+1), []byte{4, 0, 0x41, 0, 0x0b}, bytes.Repeat([]byte{2, 0, 0x0b}, functions)))
	live := func() int64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := live()
	p, err := wasm.Start(t.Context(), guest, wasm.Config{Memory: 64 << 10, Instances: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	if kept, said := live()-before, wasm.SizesOf(guest).Code; kept > said || said > 4*kept {
		t.Errorf("it keeps %d KiB of heap, and SizesOf says %d KiB", kept>>10, said>>10)
	}
}

// TestMounts checks that a guest makes no symbolic link, which would lead out of the directory, and no descriptor with a large number.
func TestMounts(t *testing.T) {
	t.Parallel()
	const link, target = "link", "../../secret"
	for _, row := range []struct {
		name    string
		imports []imported
		handle  []byte
	}{
		{"symbolic link", []imported{{"path_symlink", 3}}, slices.Concat(constants(len(link), len(target), 3, 0, len(link)), []byte{0x10, 0})},
		{"descriptor", []imported{{"path_open", 4}, {"fd_renumber", 0}}, slices.Concat(
			constants(3, 0, 0, len(link), 1), []byte{0x42, 0x7f, 0x42, 0x7f}, constants(0, 100), []byte{0x10, 0, 0x1a},
			constants(100), []byte{0x28, 2, 0}, constants(1<<20), []byte{0x10, 1})},
	} {
		dir := t.TempDir()
		p, err := wasm.Start(t.Context(), assemble(row.imports, nil, row.handle, link+target),
			wasm.Config{Memory: guestMemory, Mounts: []wasm.Mount{{Host: dir, Guest: "/", Write: true}}})
		if err != nil {
			t.Fatal(row.name, err)
		}
		t.Cleanup(func() { _ = p.Close() })
		var failed *wasm.HandlerError
		if err := p.Handle(t.Context(), &ferry.Message{}, discard{}); !errors.As(err, &failed) || failed.Status != 63 {
			t.Errorf("%s: got %v, want status 63, EPERM", row.name, err)
		}
		if _, err := os.Readlink(filepath.Join(dir, link)); err == nil {
			t.Errorf("%s: there is a symbolic link", row.name)
		}
	}
}
