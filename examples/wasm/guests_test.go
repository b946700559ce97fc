package wasm_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"example.com/ferry"
	"example.com/ferry/format"
	"example.com/ferry/format/json"
	"example.com/ferry/internal/needs"
	"example.com/ferry/stream/wasm"
)

// sent is a Sender that keeps what it is given.
type sent []ferry.Message

func (s *sent) Send(_ context.Context, m ferry.Message) error {
	*s = append(*s, m.Clone())
	return nil
}

// TestGuests builds each guest and passes messages to it.
func TestGuests(t *testing.T) {
	t.Parallel()
	for name, build := range map[string]func(t *testing.T, to string){"go": buildGo, "rust": buildRust, "assemblyscript": buildAssemblyScript} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "high.wasm")
			build(t, file)
			module, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			pool, err := wasm.Start(t.Context(), module, wasm.Config{Name: name, Formats: []format.Format{json.Format{}}})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = pool.Close() }()
			var out sent
			for _, payload := range []string{`{"value":30}`, `{"value":31,"rest":[1,2]}`, `{"value":"high"}`, `{}`, `{"value":30.5}`} {
				in := ferry.Message{Tag: "in/pump-1", Type: ferry.JSON, Payload: []byte(payload)}
				if err := pool.Handle(t.Context(), &in, &out); err != nil {
					t.Fatalf("%s: %v", payload, err)
				}
			}
			want := []string{`{"value":31,"rest":[1,2]}`, `{"value":30.5}`}
			if len(out) != len(want) {
				t.Fatalf("got %d messages, want %d", len(out), len(want))
			}
			for i, m := range out {
				if m.Tag != "high/in/pump-1" || string(m.Payload) != want[i] {
					t.Errorf("got %s on %s, want %s on high/in/pump-1", m.Payload, m.Tag, want[i])
				}
			}
		})
	}
}

func run(t *testing.T, dir string, env []string, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, output)
	}
}

func buildGo(t *testing.T, to string) {
	run(t, "go", []string{"GOOS=wasip1", "GOARCH=wasm"}, "go", "build", "-buildmode=c-shared", "-ldflags=-s -w", "-o", to, ".")
}

// buildRust uses rustc alone, so that Debian's is enough.
func buildRust(t *testing.T, to string) {
	rustc := needs.Program(t, "rustc")
	const target = "wasm32-unknown-unknown"
	libraries, err := exec.CommandContext(t.Context(), rustc, "--print", "target-libdir", "--target", target).Output()
	if err == nil {
		_, err = os.Stat(strings.TrimSpace(string(libraries)))
	}
	if err != nil {
		needs.Missing(t, "rustc's target "+target, "make deps")
	}
	run(t, "rust", nil, rustc, "--edition", "2021", "--crate-type", "cdylib", "--target", target, "-C", "opt-level=3", "-C", "panic=abort", "-o", to, "src/lib.rs")
}

// buildAssemblyScript uses the compiler that make deps installs into bin.
func buildAssemblyScript(t *testing.T, to string) {
	node := needs.Program(t, "node")
	compiler, err := filepath.Abs("../../bin/assemblyscript/node_modules/assemblyscript/bin/asc.js")
	if err == nil {
		_, err = os.Stat(compiler)
	}
	if err != nil {
		needs.Missing(t, "the compiler of AssemblyScript", "make deps")
	}
	run(t, "assemblyscript", nil, node, compiler, "assembly/index.ts", "--outFile", to, "--runtime", "stub", "--optimize", "--use", "abort=", "--exportStart", "_initialize")
}
