package kafka

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestVersion(t *testing.T) {
	if !strings.Contains(string(pom), "<version>"+Version+"</version>") {
		t.Errorf("pom.xml has another version than %s", Version)
	}
}

func TestInstallFails(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("HOME", cache)
	t.Setenv("PATH", t.TempDir()) // no java
	if Installed() {
		t.Error("an empty cache has Kafka")
	}
	if err := Install(); err == nil {
		t.Error("Kafka was installed without java")
	}
	left, err := os.ReadDir(filepath.Join(cache, "ferry-bench"))
	if err == nil && len(left) > 0 {
		t.Errorf("%v was left behind", left)
	}
}
