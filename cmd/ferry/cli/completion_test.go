package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"example.com/ferry/internal/needs"
)

func TestCompletionScripts(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish"} {
		got := ferryWith("", "completion", shell)
		if got.status != 0 || got.stderr != "" {
			t.Errorf("%s: status %d, %q", shell, got.status, got.stderr)
		}
		golden(t, "completion."+shell, got.stdout)
		path, err := exec.LookPath(shell)
		if err != nil {
			continue // without the shell, only the golden file is compared
		}
		if out, err := exec.Command(path, "-n", filepath.Join("testdata", "completion."+shell)).CombinedOutput(); err != nil {
			t.Errorf("%s -n: %v: %s", shell, err, out)
		}
	}
}

// TestCompletionInBash compares the words that bash offers to complete the last word of a line.
func TestCompletionInBash(t *testing.T) {
	t.Parallel()
	needs.Program(t, "bash")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "event.cbor"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(dir, "ferry.bash")
	if err := os.WriteFile(script, []byte(ferryWith("", "completion", "bash").stdout), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ line, want string }{
		{"ferry |c", "check call convert conformance completion"},
		{"ferry |--v", "--version"},
		{"ferry |get |-t |c", "cbor"},
		{"ferry |get |--type |=", "cbor json y3 y3n bson msgpack protobuf"},
		{"ferry |get |--type |= |js", "json"},
		{"ferry |-q |get |--as |u", "uint32 uint64"},
		{"ferry |get |--o", "--output"},
		{"ferry |get |id |ev", "event.cbor"},
		{"ferry |set |--max |ev", "event.cbor"},
		{"ferry |completion |", "bash zsh fish"},
		{"ferry |pub |-t |r", "raw"},
		{"ferry |stream |", "ls info purge copy rm rm-durable reset-durable verify replay-dead-letters"},
		{"ferry |stream |ls |-o |", "text json"},
		{"ferry |stream |purge |--be", "--before"},
		{"ferry |-q |stream |info |-o |j", "json"},
	} {
		words := strings.Split(strings.ReplaceAll(c.line, " ", ""), "|")
		cmd := exec.Command("bash", append([]string{
			"-c", `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _ferry; echo "${COMPREPLY[*]}"`, "bash", script,
		}, words...)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != c.want {
			t.Errorf("%q: got %q, %v, want %q", c.line, got, err, c.want)
		}
	}
}
