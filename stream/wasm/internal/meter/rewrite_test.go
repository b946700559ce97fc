package meter_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"example.com/ferry/stream/wasm/internal/meter"
)

var limits = meter.Limits{MemoryPages: 256, TableEntries: 1000}

// guests returns the modules that package wasm is tested with.
func guests(t testing.TB) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("../../testdata/*.wasm")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	all := map[string][]byte{}
	for _, file := range files {
		if all[filepath.Base(file)], err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// TestRewrite checks that a rewritten module is valid, has the same functions, and exports Stop.
func TestRewrite(t *testing.T) {
	t.Parallel()
	r := wazero.NewRuntime(t.Context())
	defer func() { _ = r.Close(t.Context()) }()
	for name, module := range guests(t) {
		rewritten, err := meter.Rewrite(module, limits)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		before, err := r.CompileModule(t.Context(), module)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		after, err := r.CompileModule(t.Context(), rewritten)
		if err != nil {
			t.Fatalf("%s, rewritten: %v", name, err)
		}
		for export := range before.ExportedFunctions() {
			if after.ExportedFunctions()[export] == nil {
				t.Errorf("%s: %s is gone", name, export)
			}
		}
		if got := len(after.ImportedFunctions()); got != len(before.ImportedFunctions()) {
			t.Errorf("%s: it imports %d functions, and did %d", name, got, len(before.ImportedFunctions()))
		}
		if name == "guest.wasm" && after.ExportedFunctions()[meter.Start] == nil {
			t.Errorf("%s: its start function is not exported", name)
		}
	}
}

// TestTwice checks that a module that was rewritten is refused: it would export Stop twice.
func TestTwice(t *testing.T) {
	t.Parallel()
	once, err := meter.Rewrite(guests(t)["payload.wasm"], limits)
	if err != nil {
		t.Fatal(err)
	}
	twice, err := meter.Rewrite(once, limits)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := wazero.NewRuntime(t.Context()).CompileModule(t.Context(), twice); err == nil {
		t.Error("a module that exports its counters itself is taken")
	}
}

// TestSame checks that the counters change no result: it runs a loop of many iterations, with and without them.
func TestSame(t *testing.T) {
	t.Parallel()
	module := guests(t)["payload.wasm"]
	rewritten, err := meter.Rewrite(module, limits)
	if err != nil {
		t.Fatal(err)
	}
	var results [2]uint64
	for at, binary := range [][]byte{module, rewritten} {
		r := wazero.NewRuntime(t.Context())
		defer func() { _ = r.Close(t.Context()) }()
		host := r.NewHostModuleBuilder("ferry").NewFunctionBuilder().WithFunc(func(uint32, uint32) {}).Export("buffer")
		if _, err := host.Instantiate(t.Context()); err != nil {
			t.Fatal(err)
		}
		m, err := r.Instantiate(t.Context(), binary)
		if err != nil {
			t.Fatal(err)
		}
		for i := range uint32(1 << 17) {
			m.Memory().WriteUint64Le(65536+8*i, uint64(i)*0x9e3779b97f4a7c15)
		}
		if _, err := m.ExportedFunction("ferry_handle").Call(t.Context(), 1<<20, 0); err != nil {
			t.Fatal(err)
		}
		results[at] = m.ExportedGlobal("sum").Get()
	}
	if results[0] != results[1] || results[0] == 0 {
		t.Errorf("got %#x, want %#x, and not 0", results[1], results[0])
	}
}

// TestStop checks that a module whose Stop is set traps in a loop.
func TestStop(t *testing.T) {
	t.Parallel()
	rewritten, err := meter.Rewrite(guests(t)["payload.wasm"], limits)
	if err != nil {
		t.Fatal(err)
	}
	r := wazero.NewRuntime(t.Context())
	defer func() { _ = r.Close(t.Context()) }()
	host := r.NewHostModuleBuilder("ferry").NewFunctionBuilder().WithFunc(func(uint32, uint32) {}).Export("buffer")
	if _, err := host.Instantiate(t.Context()); err != nil {
		t.Fatal(err)
	}
	m, err := r.Instantiate(t.Context(), rewritten)
	if err != nil {
		t.Fatal(err)
	}
	m.ExportedGlobal(meter.Stop).(api.MutableGlobal).Set(1)
	for calls := range 4 {
		if _, err := m.ExportedFunction("ferry_handle").Call(t.Context(), 1<<20, 0); err != nil {
			return
		}
		if calls == 3 { // 4 times 128 Ki iterations
			t.Error("it does not trap")
		}
	}
}

func FuzzRewrite(f *testing.F) {
	for _, module := range guests(f) {
		f.Add(module)
	}
	f.Fuzz(func(t *testing.T, module []byte) {
		rewritten, err := meter.Rewrite(module, limits)
		if err != nil {
			var syntax *meter.SyntaxError
			if errors.As(err, &syntax) && (syntax.Offset < 0 || syntax.Offset > len(module)) {
				t.Errorf("an error at %d of %d bytes", syntax.Offset, len(module))
			}
			return
		}
		if _, err := meter.Rewrite(rewritten, limits); err != nil {
			t.Errorf("what Rewrite returns is refused: %v", err)
		}
	})
}
