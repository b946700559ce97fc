package spool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"example.com/ferry"
)

// written is a directory with files of messages, as a process has left it that was killed.
type written struct {
	dir      string
	payloads []string
}

// write makes a spool in a new directory. Each process appends counts of messages, is killed, and the next one begins.
func write(t testing.TB, counts ...int) written {
	t.Helper()
	w := written{dir: t.TempDir()}
	for _, n := range counts {
		s, err := Open(Config{Dir: w.dir})
		if err != nil {
			t.Fatal(err)
		}
		for range n {
			p := fmt.Sprint("message ", len(w.payloads))
			if _, err := s.Append(context.Background(), &ferry.Message{Tag: "a", Time: 1, Payload: []byte(p)}); err != nil {
				t.Fatal(err)
			}
			w.payloads = append(w.payloads, p)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// files returns the files of messages, oldest first.
func (w written) files(t testing.TB) []*segment {
	t.Helper()
	all, err := listSegments(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// outcome is what reading a whole spool gives.
type outcome struct {
	payloads []string
	damage   []*CorruptError
}

// read opens the spool in dir, appends a message, and reads until that message comes.
func read(t testing.TB, dir string, limit int) (o outcome) {
	t.Helper()
	const last = "the last one"
	s, err := Open(Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Append(context.Background(), &ferry.Message{Tag: "a", Payload: []byte(last)}); err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for next := uint64(0); ; {
		records, err := s.Read(ended, limit)
		var damage *CorruptError
		if errors.As(err, &damage) {
			o.damage = append(o.damage, damage)
			continue
		}
		if err != nil {
			t.Fatalf("the message that was appended after %q did not come: %v", o.payloads, err)
		}
		for _, r := range records {
			if r.Index <= next {
				t.Fatalf("index %d after %d", r.Index, next)
			}
			next = r.Index
			if string(r.Message.Payload) == last {
				if err := s.Advance(r.Index); err != nil {
					t.Fatal(err)
				}
				if v := s.Stats(); v.Messages != 0 {
					t.Fatalf("after the last one was advanced: %+v", v)
				}
				return o
			}
			o.payloads = append(o.payloads, string(r.Message.Payload))
		}
	}
}

func (o outcome) lost() (n uint64) {
	for _, d := range o.damage {
		n += d.Lost
	}
	return n
}

func without(all []string, i int) []string {
	return append(all[:i:i], all[i+1:]...)
}

func same(a, b []string) bool { return fmt.Sprintf("%q", a) == fmt.Sprintf("%q", b) }

// restore writes content to a file, and removes what a Spool has changed since: its position and files of its own.
func (w written) restore(t testing.TB, keep []*segment, path string, content []byte) {
	t.Helper()
	entries, err := os.ReadDir(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name := filepath.Join(w.dir, e.Name())
		kept := false
		for _, s := range keep {
			kept = kept || s.path == name
		}
		if !kept {
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestKilledAtEachByte: a process dies after each byte that it writes. Each message that was written as a whole is read, no other one,
// and nothing is reported.
func TestKilledAtEachByte(t *testing.T) {
	w := write(t, 2, 3)
	files := w.files(t)
	first, last := content(t, files[0]), content(t, files[1])
	length := len(last) / 3
	for cut := range len(last) + 1 {
		w.restore(t, files, files[1].path, last[:cut])
		if err := os.WriteFile(files[0].path, first, 0o600); err != nil {
			t.Fatal(err)
		}
		whole := 2 + cut/length
		if got := read(t, w.dir, 1<<20); !same(got.payloads, w.payloads[:whole]) || got.damage != nil {
			t.Fatalf("cut at %d: got %q and %v, want %d messages", cut, got.payloads, got.damage, whole)
		}
	}
}

// TestEachByteDamaged: a byte of a file changes. Its message is missing and reported with the file and its offset; all others are
// read.
func TestEachByteDamaged(t *testing.T) {
	for _, limit := range []int{1, 1 << 20} {
		w := write(t, 3, 3)
		files := w.files(t)
		contents := [][]byte{content(t, files[0]), content(t, files[1])}
		for i, file := range files {
			length := len(contents[i]) / 3
			for at := range contents[i] {
				for j := range files {
					w.restore(t, files, files[j].path, contents[j])
				}
				bad := bytes.Clone(contents[i])
				bad[at] ^= 1 << (at % 8)
				if err := os.WriteFile(file.path, bad, 0o600); err != nil {
					t.Fatal(err)
				}
				lost, offset := 3*i+at/length, int64(at/length*length)
				got := read(t, w.dir, limit)
				if !same(got.payloads, without(w.payloads, lost)) || len(got.damage) != 1 || got.lost() != 1 {
					t.Fatalf("file %d, byte %d: got %q and %v", i, at, got.payloads, got.damage)
				}
				if d := got.damage[0]; d.Path != file.path || d.Offset != offset || d.Skipped != int64(length) {
					t.Fatalf("file %d, byte %d: got %+v, want offset %d and %d bytes", i, at, d, offset, length)
				}
			}
		}
	}
}

// TestDamage: larger damages of the files of a spool with four messages in each.
func TestDamage(t *testing.T) {
	for _, c := range []struct {
		name   string
		damage func(files []*segment, contents [][]byte) error
		want   []int // messages that are read
		lost   uint64
	}{
		{"the middle of the first file is zero", func(f []*segment, c [][]byte) error {
			clear(c[0][len(c[0])/4 : len(c[0])*3/4])
			return os.WriteFile(f[0].path, c[0], 0o600)
		}, []int{0, 3, 4, 5, 6, 7, 8, 9, 10, 11}, 2},
		{"the first file is empty", func(f []*segment, _ [][]byte) error { return os.Truncate(f[0].path, 0) }, []int{4, 5, 6, 7, 8, 9, 10, 11}, 4},
		{"the first file ends in the middle", func(f []*segment, _ [][]byte) error { return os.Truncate(f[0].path, f[0].size/2+1) }, []int{0, 1, 4, 5, 6, 7, 8, 9, 10, 11}, 2},
		{"the middle file is missing", func(f []*segment, _ [][]byte) error { return os.Remove(f[1].path) }, []int{0, 1, 2, 3, 8, 9, 10, 11}, 4},
		{"the last file is empty: the machine lost power", func(f []*segment, _ [][]byte) error { return os.Truncate(f[2].path, 0) }, []int{0, 1, 2, 3, 4, 5, 6, 7}, 0},
		{"the last message is zero: the machine lost power", func(f []*segment, c [][]byte) error {
			clear(c[2][len(c[2])*3/4:])
			return os.WriteFile(f[2].path, c[2], 0o600)
		}, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 1},
		{"all of the last file is zero", func(f []*segment, c [][]byte) error {
			clear(c[2])
			return os.WriteFile(f[2].path, c[2], 0o600)
		}, []int{0, 1, 2, 3, 4, 5, 6, 7}, 1},
		{"bytes between two messages", func(f []*segment, c [][]byte) error {
			n := len(c[1]) / 2
			return os.WriteFile(f[1].path, append(append(bytes.Clone(c[1][:n]), make([]byte, 77)...), c[1][n:]...), 0o600)
		}, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := write(t, 4, 4, 4)
			files := w.files(t)
			var contents [][]byte
			for _, f := range files {
				contents = append(contents, content(t, f))
			}
			if err := c.damage(files, contents); err != nil {
				t.Fatal(err)
			}
			var want []string
			for _, i := range c.want {
				want = append(want, w.payloads[i])
			}
			if got := read(t, w.dir, 1<<20); !same(got.payloads, want) || got.lost() != c.lost {
				t.Errorf("got %q and %v, want %q and %d lost", got.payloads, got.damage, want, c.lost)
			}
		})
	}
}

// TestDamageReportedOnce: a damage is reported by one Read, also if Rewind follows, and Wait does not wait for what is lost.
func TestDamageReportedOnce(t *testing.T) {
	w := write(t, 4)
	file := w.files(t)[0]
	b := content(t, file)
	b[len(b)/4+40] ^= 1 // of the second message
	if err := os.WriteFile(file.path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(Config{Dir: w.dir})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var damage *CorruptError
	for i, want := range []uint64{1, 0, 3, 1, 3} {
		records, err := s.Read(t.Context(), 1)
		switch {
		case want == 0:
			if !errors.As(err, &damage) || damage.Lost != 1 {
				t.Fatalf("read %d: got %v, %v, want a damage", i, records, err)
			}
		case err != nil || records[0].Index != want:
			t.Fatalf("read %d: got %v, %v, want message %d", i, records, err, want)
		}
		if i == 2 {
			s.Rewind()
		}
	}
	if err := s.Advance(1); err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	if v := s.Stats(); v.Messages != 2 || v.Lost != 1 {
		t.Errorf("got %+v, want two messages left", v)
	}
}

// TestPositionDamaged: without the position, the messages of the oldest file are read again, and that is reported.
func TestPositionDamaged(t *testing.T) {
	w := write(t, 3)
	if err := os.WriteFile(filepath.Join(w.dir, positionName), make([]byte, slotDistance+slotSize), 0o600); err != nil {
		t.Fatal(err)
	}
	got := read(t, w.dir, 1<<20)
	if !same(got.payloads, w.payloads) || len(got.damage) != 1 || got.damage[0].Lost != 0 {
		t.Errorf("got %q and %v, want a report and all messages", got.payloads, got.damage)
	}
}

// TestForgedRecord: bytes of a payload that look like a record of another spool are not taken for one after a damage.
func TestForgedRecord(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	forged := appendRecord(nil, birth(1).salt(), 2, &ferry.Message{Tag: "a", Payload: []byte("forged")})
	for _, p := range [][]byte{append([]byte("it has "), forged...), []byte("the next one")} {
		if _, err := s.Append(t.Context(), &ferry.Message{Tag: "a", Payload: p}); err != nil {
			t.Fatal(err)
		}
	}
	_ = s.Close()
	file := written{dir: dir}.files(t)[0]
	b := content(t, file)
	b[0] ^= 1
	if err := os.WriteFile(file.path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := read(t, dir, 1<<20); !same(got.payloads, []string{"the next one"}) || got.lost() != 1 {
		t.Errorf("got %q and %v", got.payloads, got.damage)
	}
}

// TestAgainstModel runs random calls, with a new process now and then that begins with what the last one had written.
func TestAgainstModel(t *testing.T) {
	for seed := range uint64(15) {
		random := rand.New(rand.NewPCG(seed, 1))
		cfg := Config{Dir: t.TempDir(), MaxBytes: 1000 + random.Int64N(5000)}
		s, err := Open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		var model []string // that were appended and not advanced
		first, read := uint64(1), 0
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		for step := range 400 {
			switch random.IntN(10) {
			default:
				p := fmt.Sprint(seed, " ", step, " ", string(make([]byte, random.IntN(300))))
				index, err := s.Append(ended, &ferry.Message{Tag: "a", Payload: []byte(p)})
				if err == nil {
					if model = append(model, p); index != first+uint64(len(model))-1 {
						t.Fatalf("seed %d, step %d: index %d", seed, step, index)
					}
				} else if !errors.Is(err, ErrFull) || len(model) == 0 {
					t.Fatalf("seed %d, step %d: %v", seed, step, err)
				}
			case 0, 1, 2:
				records, err := s.Read(ended, random.IntN(1000))
				if err != nil && (!errors.Is(err, context.Canceled) || read < len(model)) {
					t.Fatalf("seed %d, step %d: %v with %d left", seed, step, err, len(model)-read)
				}
				for _, r := range records {
					if read >= len(model) || string(r.Message.Payload) != model[read] || r.Index != first+uint64(read) {
						t.Fatalf("seed %d, step %d: got %d %q", seed, step, r.Index, r.Message.Payload)
					}
					read++
				}
			case 3, 4:
				if n := random.IntN(read + 1); n > 0 {
					if err := s.Advance(first + uint64(n) - 1); err != nil {
						t.Fatal(err)
					}
					model, first, read = model[n:], first+uint64(n), read-n
				}
			case 5:
				s.Rewind()
				read = 0
			case 6:
				_ = s.Close()
				if s, err = Open(cfg); err != nil {
					t.Fatal(err)
				}
				read = 0
			}
			if v := s.Stats(); v.Messages != uint64(len(model)) || v.Bytes > cfg.MaxBytes || v.Bytes < 0 || v.Oldest.IsZero() != (len(model) == 0) {
				t.Fatalf("seed %d, step %d: got %+v, want %d messages", seed, step, v, len(model))
			}
		}
		_ = s.Close()
	}
}

// FuzzRecover: files with any content are opened, and read to the end. A message that is appended then is read.
func FuzzRecover(f *testing.F) {
	const salted = birth(5)
	record := func(index uint64, payload string) []byte {
		return appendRecord(nil, salted.salt(), index, &ferry.Message{Tag: "a", Key: []byte("k"), Payload: []byte(payload)})
	}
	two := append(record(1, "one"), record(2, "two")...)
	f.Add(two, record(3, "three"), []byte{})
	f.Add(two[:len(two)-1], record(7, "seven"), make([]byte, 540))
	f.Add(append(make([]byte, 30), two...), record(3, "")[:20], []byte("position"))
	f.Add([]byte{}, []byte{0}, []byte{})
	f.Fuzz(func(t *testing.T, one, two, position []byte) {
		dir := t.TempDir()
		for name, b := range map[string][]byte{segmentName(1, salted): one, segmentName(3, salted): two, positionName: position} {
			if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		read(t, dir, 100)
	})
}

func content(t testing.TB, s *segment) []byte {
	t.Helper()
	b, err := os.ReadFile(s.path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
