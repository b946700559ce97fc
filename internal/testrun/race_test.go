package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestSelectPackages(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":               "module x\n",
		"none/none.go":         "package none\n",
		"calls/calls_test.go":  "package calls\n\nimport _ \"sync/noise\" // not sync\n",
		"starts/starts.go":     "package starts\n\nfunc Start(f func()) { go f() }\n",
		"starts/x_test.go":     "package starts_test\n",
		"shares/shares.go":     "package shares\n\nimport \"sync/atomic\"\n\nvar N atomic.Int64\n",
		"shares/x_test.go":     "package shares\n",
		"tests/tests.go":       "package tests\n",
		"tests/x_test.go":      "package tests_test\n\nimport \"sync\"\n\nvar mu sync.Mutex\n",
		"untested/untested.go": "package untested\n\nfunc Start(f func()) { go f() }\n",
		"caches/caches.go":     "package caches\n\nimport \"sync\"\n\nvar one = sync.OnceValue(func() int { return 1 })\n",
		"caches/x_test.go":     "package caches\n",
		"broken/x_test.go":     "package broken\n\nfunc {\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := selectPackages(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"x/shares", "x/starts", "x/tests"}; !slices.Equal(got.race, want) {
		t.Errorf("with the race detector: got %v, want %v", got.race, want)
	}
	if want := []string{"x/broken", "x/caches", "x/calls", "x/none", "x/untested"}; !slices.Equal(got.plain, want) {
		t.Errorf("without the race detector: got %v, want %v", got.plain, want)
	}
}
