//go:build unix

package config

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestPipes: a pipe that the configuration names, and that has no writer, does not block.
func TestPipes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"data_dir: ${file:pipe}\n",
		"include: pipe\n",
		"include: 'p*'\n",
		"admin: {token_file: " + dir + "/pipe}\n",
		"functions: [{name: f, wasm: " + dir + "/pipe, observe: [a]}]\n",
	} {
		_, err := Parse(filepath.Join(dir, "node.yaml"), []byte(text), Program{})
		if err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("%s: got %v", text, err)
		}
	}
}
