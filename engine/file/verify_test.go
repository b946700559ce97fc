package file_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"example.com/ferry/engine"
	"example.com/ferry/engine/file"
	"example.com/ferry/engine/log"
)

// verifyOne returns what Verify finds of the only stream of a directory.
func verifyOne(t *testing.T, dir string) file.Verified {
	t.Helper()
	var all []file.Verified
	err := file.Verify(t.Context(), dir, func(v file.Verified) error {
		all = append(all, v)
		return nil
	})
	if err != nil || len(all) != 1 || all[0].Name != "s" {
		t.Fatalf("Verify: %+v, %v, want stream s", all, err)
	}
	return all[0]
}

// contents returns the files of a stream.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	entries, err := os.ReadDir(filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		b, err := os.ReadFile(filepath.Join(dir, "s", entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[entry.Name()] = string(b)
	}
	return files
}

// TestVerify reads a stream that a process has closed, and the same one as a killed process leaves it. Verify finds a damaged record and a
// damaged durable, and changes nothing.
func TestVerify(t *testing.T) {
	config := file.Config{Dir: t.TempDir()}
	e := open(t, config)
	s := openStream(t, e, engine.Config{})
	for i := range 20 {
		store(t, s, engine.Record{Tag: "a", Payload: fmt.Appendf(nil, "payload %02d", i+1)})
	}
	for _, name := range []string{"first", "second"} {
		if err := s.CreateCursor(t.Context(), engine.CursorConfig{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Remove(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Purge(t.Context(), "", 2); err != nil {
		t.Fatal(err)
	}
	err := file.Verify(t.Context(), config.Dir, func(file.Verified) error { return nil })
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("process %d holds", os.Getpid())) {
		t.Errorf("Verify of a directory in use: %v, want that this process holds it", err)
	}
	killed := t.TempDir()
	if err := os.CopyFS(killed, os.DirFS(config.Dir)); err != nil {
		t.Fatal(err)
	}
	shut(t, e)
	for what, dir := range map[string]string{"closed": config.Dir, "killed": killed} {
		t.Run(what, func(t *testing.T) {
			expect := func(want log.Report, durables int, damaged string) {
				t.Helper()
				before := contents(t, dir)
				v := verifyOne(t, dir)
				if !reflect.DeepEqual(v.Report, want) || v.Durables != durables || (v.Err == nil) != (damaged == "") || v.Err != nil && !strings.Contains(v.Err.Error(), damaged) {
					t.Errorf("Verify: %+v, want %+v, %d durables and error %q", v, want, durables, damaged)
				}
				if intact := damaged == "" && want.Damaged == nil; v.Intact() != intact {
					t.Errorf("Intact is %v, want %v", v.Intact(), intact)
				}
				if !reflect.DeepEqual(contents(t, dir), before) {
					t.Error("Verify has changed files")
				}
			}
			flip := func(pattern, text string) {
				t.Helper()
				paths, err := filepath.Glob(filepath.Join(dir, "s", pattern))
				if err != nil || len(paths) != 1 {
					t.Fatalf("%s: %q, %v", pattern, paths, err)
				}
				b, err := os.ReadFile(paths[0])
				if err != nil {
					t.Fatal(err)
				}
				b[bytes.Index(b, []byte(text))] ^= 4
				if err := os.WriteFile(paths[0], b, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			expect(log.Report{First: 2, Last: 20, Records: 18}, 2, "")
			flip("*.log", "payload 09")
			flip("*.log", "payload 10")
			flip("*.log", "payload 12")
			expect(log.Report{First: 2, Last: 20, Records: 15, Damaged: []log.Range{{First: 9, Last: 10}, {First: 12, Last: 12}}}, 2, "")
			flip("cursors", "first")
			expect(log.Report{First: 2, Last: 20, Records: 15, Damaged: []log.Range{{First: 9, Last: 10}, {First: 12, Last: 12}}}, 1, "durables may be lost")
		})
	}
}
