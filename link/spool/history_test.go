package spool_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/ferry"
	"example.com/ferry/internal/disktest"
	"example.com/ferry/link/spool"
)

// TestAgainstModel runs random calls, with a new process now and then that begins with what the last one had written.
func TestAgainstModel(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 1))
			cfg := spool.Config{Dir: t.TempDir(), MaxBytes: 2000 + random.Int64N(10000), Sync: seed%4 == 0}
			s := open(t, cfg)
			var model []spool.Record // that were appended and not advanced
			read, last := 0, uint64(0)
			for step := range 400 {
				switch random.IntN(20) {
				default:
					m := ferry.Message{Tag: fmt.Sprint("a/", random.IntN(3)), Payload: fmt.Append(nil, seed, " ", step, " ", string(make([]byte, random.IntN(300))))}
					index, err := s.Append(ended(), &m)
					switch {
					case err == nil && index <= last:
						t.Fatalf("step %d: index %d after %d", step, index, last)
					case err == nil:
						model, last = append(model, spool.Record{Index: index, Message: m}), index
					case !errors.Is(err, spool.ErrFull) || len(model) == 0:
						t.Fatalf("step %d: %v", step, err)
					}
				case 0, 1, 2, 3, 4, 5:
					records, err := s.Read(ended(), random.IntN(1000))
					if err != nil && (!errors.Is(err, context.Canceled) || read < len(model)) {
						t.Fatalf("step %d: %v with %d left", step, err, len(model)-read)
					}
					for _, r := range records {
						if read >= len(model) || r.Index != model[read].Index || r.Message.Tag != model[read].Message.Tag || string(r.Message.Payload) != string(model[read].Message.Payload) {
							t.Fatalf("step %d: got %d %q", step, r.Index, r.Message.Payload)
						}
						read++
					}
				case 6, 7, 8: // of what was read, and at times of what was not
					n := random.IntN(read + 1)
					if random.IntN(4) == 0 {
						n = random.IntN(len(model) + 1)
					}
					if n == 0 {
						continue
					}
					if err := s.Advance(model[n-1].Index); err != nil {
						t.Fatal(err)
					}
					model, read = model[n:], max(read-n, 0)
				case 9:
					s.Rewind()
					read = 0
				case 10, 11:
					if cfg.Dir = disktest.Killed(t, cfg.Dir); random.IntN(2) == 0 {
						if err := s.Close(); err != nil {
							t.Fatal(err)
						}
					}
					s = open(t, cfg)
					read = 0
				}
				if v := s.Stats(); v.Messages != uint64(len(model)) || v.Bytes > cfg.MaxBytes || v.Bytes < 0 || v.Oldest.IsZero() != (len(model) == 0) || v.Last < last {
					t.Fatalf("step %d: got %+v, want %d messages", step, v, len(model))
				}
			}
		})
	}
}

// files returns the files of messages, oldest first.
func files(t testing.TB, dir string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(all) == 0 {
		t.Fatal(all, err)
	}
	return all
}

func content(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestKilledInWrite: a process dies in the middle of a write. Each message that was written as a whole is read, no other one, and nothing is
// reported.
func TestKilledInWrite(t *testing.T) {
	const messages = 3
	dir := t.TempDir()
	s := open(t, spool.Config{Dir: dir})
	sizes := []int{0}
	for i := range messages {
		add(t, s, numbered(i, i+1)...)
		sizes = append(sizes, len(content(t, files(t, dir)[0])))
	}
	for cut, whole := 0, 0; cut < sizes[messages]; cut += 5 {
		for sizes[whole+1] <= cut {
			whole++
		}
		next := disktest.Killed(t, dir)
		if err := os.Truncate(files(t, next)[0], int64(cut)); err != nil {
			t.Fatal(err)
		}
		s := open(t, spool.Config{Dir: next})
		add(t, s, "next")
		if got, _ := readAll(t, s, 1<<20); !equal(got, append(numbered(0, whole), "next")) {
			t.Fatalf("cut at %d: got %q, want %d messages", cut, got, whole)
		}
		_ = s.Close()
	}
}

// TestDamage: damages of a spool of 12 messages in three files. The others are read, each loss is reported once with its indexes, and Wait
// does not wait for what is lost.
func TestDamage(t *testing.T) {
	flip := func(path string, at, of int) error {
		b, err := os.ReadFile(path)
		if err == nil {
			b[len(b)*at/of] ^= 1
			err = os.WriteFile(path, b, 0o600)
		}
		return err
	}
	for _, c := range []struct {
		name        string
		damage      func(files []string) error
		first, last uint64 // that are lost
	}{
		{"a bit in the first file", func(f []string) error { return flip(f[0], 3, 8) }, 2, 2},
		{"a bit in the last file", func(f []string) error { return flip(f[2], 3, 8) }, 10, 10},
		{"the first file is empty", func(f []string) error { return os.Truncate(f[0], 0) }, 1, 4},
		{"the middle file is missing", func(f []string) error { return os.Remove(f[1]) }, 5, 8},
		{"the middle file is short", func(f []string) error { return os.Truncate(f[1], 300) }, 7, 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := spool.Config{Dir: t.TempDir(), MaxBytes: 16 * 600} // a file has four messages
			s := open(t, cfg)
			for i := range 12 {
				add(t, s, fmt.Sprintf("message %d%50s", i, ""))
			}
			cfg.Dir = disktest.Killed(t, cfg.Dir)
			all := files(t, cfg.Dir)
			if len(all) != 3 {
				t.Fatalf("%d files: %q", len(all), all)
			}
			if err := c.damage(all); err != nil {
				t.Fatal(err)
			}
			s = open(t, cfg)
			expect := func(told bool) {
				t.Helper()
				var next uint64
				reports := 0
				for next < 12 {
					records, err := s.Read(ended(), 1)
					var damage *spool.CorruptError
					switch {
					case errors.As(err, &damage) && damage.First == c.first && damage.Last == c.last && damage.First == next+1 && damage.Dir == cfg.Dir:
						next = damage.Last
						reports++
					case err != nil:
						t.Fatalf("behind %d: %v", next, err)
					case !told && records[0].Index != next+1:
						t.Fatalf("%d is read behind %d", records[0].Index, next)
					default:
						next = records[0].Index
					}
				}
				if told == (reports > 0) {
					t.Errorf("the loss is reported %d times, told before: %v", reports, told)
				}
			}
			expect(false)
			s.Rewind()
			expect(true)
			if v := s.Stats(); v.Lost != c.last-c.first+1 || v.Messages != 12-v.Lost {
				t.Errorf("got %+v", v)
			}
			if c.first > 1 {
				if err := s.Advance(c.first - 1); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Wait(ended(), c.last); err != nil {
				t.Errorf("Wait for what is lost: %v", err)
			}
			if err := s.Advance(12); err != nil {
				t.Fatal(err)
			}
			if v := s.Stats(); v.Messages != 0 || v.Bytes != 0 {
				t.Errorf("after the last one was advanced: %+v", v)
			}
		})
	}
}

// TestPositionDamaged: without the position, the messages that are in files are read again.
func TestPositionDamaged(t *testing.T) {
	cfg := spool.Config{Dir: t.TempDir()}
	s := open(t, cfg)
	add(t, s, numbered(0, 3)...)
	if err := s.Advance(2); err != nil {
		t.Fatal(err)
	}
	cfg.Dir = disktest.Killed(t, cfg.Dir)
	if err := os.WriteFile(filepath.Join(cfg.Dir, "position"), make([]byte, 12), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, _ := readAll(t, open(t, cfg), 1<<20); !equal(got, numbered(0, 3)) {
		t.Errorf("got %q", got)
	}
}

// TestLostBehindPosition: the power failed, and the newest messages are lost, some of which were advanced. The messages of the next process
// are read, and by the one after it, too.
func TestLostBehindPosition(t *testing.T) {
	cfg := spool.Config{Dir: t.TempDir()}
	s := open(t, cfg)
	add(t, s, numbered(0, 9)...)
	if err := s.Advance(8); err != nil {
		t.Fatal(err)
	}
	cfg.Dir = disktest.Killed(t, cfg.Dir)
	if err := os.Truncate(files(t, cfg.Dir)[0], 100); err != nil {
		t.Fatal(err)
	}
	add(t, open(t, cfg), "next")
	cfg.Dir = disktest.Killed(t, cfg.Dir)
	if got, _ := readAll(t, open(t, cfg), 1<<20); !equal(got, []string{"next"}) {
		t.Errorf("got %q", got)
	}
}

// TestForeignDirectory: the messages of an earlier version, and those of a stored stream, are neither dropped nor taken.
func TestForeignDirectory(t *testing.T) {
	for name, want := range map[string]string{"00000000000000000001-0123456789abcdef.spool": "an earlier version", "stream": "a stored stream"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if s, err := spool.Open(spool.Config{Dir: dir}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, %v", name, s, err)
		}
	}
}
