package envoy

import (
	"os"
	"path/filepath"
	"testing"
)

func TestPath(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("HOME", cache)
	if got := Path(); got != "" {
		t.Errorf("got %q from an empty cache", got)
	}
	dir, err := home()
	if err != nil {
		t.Fatal(err)
	}
	want := filepath.Join(dir, "lib", "python3.12", "site-packages", "envoy", "_bin", "envoy")
	if err := os.MkdirAll(filepath.Dir(want), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(want, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if got := Path(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if err := Install(); err != nil {
		t.Errorf("what is there is installed again: %v", err)
	}
}

func TestInstallFails(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("HOME", cache)
	t.Setenv("PATH", t.TempDir()) // no python3
	if err := Install(); err == nil {
		t.Error("Envoy was installed without python3")
	}
	left, err := os.ReadDir(filepath.Join(cache, "ferry-bench"))
	if err == nil && len(left) > 0 {
		t.Errorf("%v was left behind", left)
	}
}
