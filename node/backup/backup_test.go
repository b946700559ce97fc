package backup

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"
)

var manifest = Manifest{Version: Version, Made: time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC), Engine: "embedded", Address: "embedded", Streams: []string{"orders", "dead"}}

// content is what an archive holds.
type content struct {
	files   map[string]string
	streams map[string][]string
}

func write(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, manifest)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range Files {
		if err := w.File(f, []byte("content of "+f.Name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range manifest.Streams {
		if err := w.Stream(name, func(write func([]byte) error) error {
			return errors.Join(write([]byte(name)), write(nil), write(bytes.Repeat([]byte{7}, 200_000)))
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func read(data []byte) (Manifest, content, error) {
	got := content{map[string]string{}, map[string][]string{}}
	r, err := NewReader(bytes.NewReader(data))
	if err != nil {
		return Manifest{}, got, err
	}
	files, err := r.Files()
	if err != nil {
		return r.Manifest, got, err
	}
	for f, text := range files {
		got.files[f.Name] = string(text)
	}
	for {
		name, parts, err := r.NextStream()
		if errors.Is(err, io.EOF) {
			return r.Manifest, got, nil
		}
		for err == nil {
			var part []byte
			if part, err = parts(); err == nil {
				got.streams[name] = append(got.streams[name], string(part))
			}
		}
		if !errors.Is(err, io.EOF) {
			return r.Manifest, got, err
		}
	}
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	m, got, err := read(write(t))
	if err != nil || !reflect.DeepEqual(m, manifest) {
		t.Fatalf("got %+v, %v, want %+v", m, err, manifest)
	}
	long := strings.Repeat("\x07", 200_000)
	want := content{map[string]string{}, map[string][]string{"orders": {"orders", "", long}, "dead": {"dead", "", long}}}
	for _, f := range Files {
		want.files[f.Name] = "content of " + f.Name
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %d files and %d streams, want %d and %d", len(got.files), len(got.streams), len(want.files), len(want.streams))
	}
	if m, err := Verify(bytes.NewReader(write(t))); err != nil || !reflect.DeepEqual(m, manifest) {
		t.Errorf("Verify: %+v, %v", m, err)
	}
}

// TestCut: an archive that ends early is refused, wherever it ends before the sum, which the last two blocks of content and the two
// empty ones at the end of a tar file have.
func TestCut(t *testing.T) {
	t.Parallel()
	data := write(t)
	for n := 0; n < len(data)-4*512; n += 511 {
		if _, err := Verify(bytes.NewReader(data[:n])); err == nil {
			t.Fatalf("the first %d of %d bytes are an archive", n, len(data))
		}
	}
}

func TestDamaged(t *testing.T) {
	t.Parallel()
	data := write(t)
	for _, text := range []string{"content of ca.key", "content of token", "\x07\x07\x07"} {
		damaged := bytes.Clone(data)
		damaged[bytes.Index(data, []byte(text))]++
		if _, err := Verify(bytes.NewReader(damaged)); err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("%q changed: got %v", text, err)
		}
	}
}

// TestForeign: a tar file of another make writes no file outside of the data directory, and none that a data directory does not have.
func TestForeign(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, want string
		entries    []string
	}{
		{"no tar file", "this is no archive of ferry backup", nil},
		{"another tar file", "this is no archive of ferry backup", []string{"README"}},
		{"a path", `"../../etc/passwd" is no file of a data directory`, []string{manifestEntry, "data/../../etc/passwd"}},
		{"another file", `"node.yaml" is no file of a data directory`, []string{manifestEntry, "data/node.yaml"}},
		{"a path of a stream", "unexpected entry", []string{manifestEntry, "streams/../0"}},
		{"a long path of a stream", "unexpected entry", []string{manifestEntry, "streams/a/b/0"}},
		{"a missing part", "part 1 of stream a is missing", []string{manifestEntry, "streams/a/0", "streams/a/2"}},
		{"no first part", "unexpected entry", []string{manifestEntry, "streams/a/1"}},
	} {
		var out bytes.Buffer
		w := &Writer{tar: tar.NewWriter(&out), sum: sha256.New()}
		for _, name := range tt.entries {
			if err := w.entry(name, 0o600, []byte(`{"version":2}`)); err != nil {
				t.Fatal(err)
			}
		}
		if tt.entries == nil {
			out.WriteString(strings.Repeat("no tar file ", 100))
		} else if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := Verify(&out); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
	}
	if _, err := Verify(bytes.NewReader(bytes.Replace(write(t), []byte(`"version":2`), []byte(`"version":1`), 1))); err == nil || !strings.Contains(err.Error(), "version 1") {
		t.Errorf("another version: %v", err)
	}
}
