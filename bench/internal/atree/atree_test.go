package atree

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestVersion(t *testing.T) {
	text, err := program.ReadFile("program/Cargo.toml")
	if err != nil || !strings.Contains(string(text), `a-tree = "=`+Version+`"`) {
		t.Errorf("Cargo.toml has another version than %s (%v)", Version, err)
	}
}

func TestInstallFails(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("HOME", cache)
	t.Setenv("PATH", t.TempDir()) // no cargo
	if Installed() {
		t.Error("an empty cache has the program")
	}
	if err := Install(); err == nil {
		t.Error("the program was built without cargo")
	}
	left, err := os.ReadDir(filepath.Join(cache, "ferry-bench"))
	if err == nil && len(left) > 0 {
		t.Errorf("%v was left behind", left)
	}
}
