package crate

import (
	"os"
	"path/filepath"
	"testing"
)

// An installation that fails leaves nothing behind.
func TestInstallFails(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("HOME", cache)
	t.Setenv("PATH", t.TempDir()) // no cargo
	p := Program{Name: "none-1.0", Binary: "none"}
	if got := p.Path(); got != "" {
		t.Errorf("got %q from an empty cache", got)
	}
	if err := p.Install(); err == nil {
		t.Error("the program was built without cargo")
	}
	left, err := os.ReadDir(filepath.Join(cache, "ferry-bench"))
	if err == nil && len(left) > 0 {
		t.Errorf("%v was left behind", left)
	}
}

func TestPath(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("HOME", cache)
	p := Program{Name: "peer-1.0", Binary: "peer"}
	dir, err := p.home()
	if err != nil {
		t.Fatal(err)
	}
	want := filepath.Join(dir, "target", "release", "peer")
	if err := os.MkdirAll(filepath.Dir(want), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(want, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if got := p.Path(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if err := p.Install(); err != nil {
		t.Errorf("what is built is built again: %v", err)
	}
}
