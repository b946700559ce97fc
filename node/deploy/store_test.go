package deploy_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/ferry/node/deploy"
)

// add adds and commits a version.
func add(t *testing.T, s *deploy.Store, name, module string) deploy.Function {
	t.Helper()
	f, err := s.Add(deploy.Spec{Name: name, Observe: []string{"in"}}, []byte(module), time.Now())
	if err == nil {
		err = s.Commit(f)
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func open(t *testing.T, dir string) *deploy.Store {
	t.Helper()
	s, err := deploy.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestVersions checks that five versions are kept, and the one in use, and that all of it is there after opening again.
func TestVersions(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "functions")
	s := open(t, dir)
	for i := range 7 {
		add(t, s, "a", fmt.Sprint("module ", i+1))
	}
	f, err := s.RolledBack("a")
	if err == nil {
		err = s.Commit(f)
	}
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		add(t, s, "a", fmt.Sprint("module ", i+8))
	}
	for s := range map[*deploy.Store]bool{s: true, open(t, dir): true} {
		f, err := s.Get("a")
		if err != nil {
			t.Fatal(err)
		}
		var numbers []int
		for _, v := range f.Versions {
			numbers = append(numbers, v.Number)
		}
		if fmt.Sprint(numbers) != "[6 7 8 9 10]" || f.Current != 10 || len(s.Damaged) > 0 {
			t.Errorf("got versions %v, %d in use, %v, want 6 to 10, and 10", numbers, f.Current, s.Damaged)
		}
		if module, err := os.ReadFile(s.File(f)); err != nil || string(module) != "module 10" {
			t.Errorf("got %q, %v", module, err)
		}
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "a", "*.wasm")); len(files) != deploy.MaxVersions {
		t.Errorf("got %v, want %d modules", files, deploy.MaxVersions)
	}
}

// TestRollBackToTheOldest checks that there is an end.
func TestRollBackToTheOldest(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	add(t, s, "a", "1")
	if _, err := s.RolledBack("a"); err == nil || !strings.Contains(err.Error(), "no version before 1") {
		t.Errorf("got %v", err)
	}
	if _, err := s.RolledBack("b"); !errors.Is(err, deploy.ErrUnknown) {
		t.Errorf("got %v, want %v", err, deploy.ErrUnknown)
	}
}

// TestNotCommitted checks that a version that was not committed is not there: it was discarded, or the node has ended before.
func TestNotCommitted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	add(t, s, "a", "1")
	for _, name := range []string{"a", "b"} {
		f, err := s.Add(deploy.Spec{Name: name}, []byte("2"), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		for again := range map[*deploy.Store]bool{s: true, open(t, dir): true} {
			if list := again.List(); len(list) != 1 || list[0].Current != 1 || len(again.Damaged) > 0 {
				t.Errorf("got %+v, %v, want version 1 of a", list, again.Damaged)
			}
		}
		s.Discard(f)
		if _, err := os.Stat(s.File(f)); err == nil {
			t.Errorf("%s is there after Discard", s.File(f))
		}
	}
}

// TestDamage checks that damaged modules are not used, and that a damaged function harms no other one.
func TestDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	for _, name := range []string{"a", "b", "c"} {
		add(t, s, name, "one")
		add(t, s, name, "two")
	}
	damage := func(file string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, file), []byte("tow"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	damage("a/2.wasm")
	damage("b/deployment.json")
	s = open(t, dir)
	if list := s.List(); len(list) != 2 || list[0].Name != "a" || list[0].Current != 1 || list[1].Name != "c" || list[1].Current != 2 || len(s.Damaged) != 2 {
		t.Errorf("got %+v, %v, want version 1 of a and version 2 of c", list, s.Damaged)
	}
	damage("a/1.wasm")
	if list := open(t, dir).List(); len(list) != 1 {
		t.Errorf("got %+v, want c", list)
	}
}

func TestRemove(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	add(t, s, "a", "1")
	if err := errors.Join(s.Remove("a")); err != nil {
		t.Fatal(err)
	}
	if err := s.Remove("a"); !errors.Is(err, deploy.ErrUnknown) {
		t.Errorf("got %v, want %v", err, deploy.ErrUnknown)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("got %v, %v, want nothing", entries, err)
	}
}

func TestBytes(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	for i := range deploy.MaxVersions {
		if s.Freed("a") != 0 {
			t.Errorf("with %d versions, %d bytes would be freed", i, s.Freed("a"))
		}
		add(t, s, "a", strings.Repeat("x", i+1))
	}
	if s.Bytes() != 1+2+3+4+5 || s.Freed("a") != 1 {
		t.Errorf("got %d bytes, of which %d would be freed, want 15 and 1", s.Bytes(), s.Freed("a"))
	}
}

func TestCheckName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"a": true, "_a-1.b": true, "": false, ".": false, "..": false, ".a": false, "a/b": false, `a\b`: false, "a b": false,
		string(bytes.Repeat([]byte("a"), 65)): false,
	} {
		if got := deploy.CheckName(name); got != want {
			t.Errorf("%q: got %v, want %v", name, got, want)
		}
	}
}
