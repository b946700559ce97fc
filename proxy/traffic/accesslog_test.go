package traffic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ferry/internal/invalid"
	"example.com/ferry/protocol/bolt"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		sample float64
		ok     bool
	}{{0, true}, {0.01, true}, {1, true}, {1.01, false}, {-0.5, false}, {math.NaN(), false}, {math.Inf(1), false}} {
		cfg := LogConfig{File: filepath.Join(t.TempDir(), "log"), Sample: c.sample}
		err := cfg.Check()
		if (err == nil) != c.ok {
			t.Errorf("sample %v: %v, want ok: %v", c.sample, err, c.ok)
		}
		var wrong *invalid.Error
		if err != nil && (!errors.As(err, &wrong) || wrong.Field != "sample") {
			t.Errorf("sample %v: %v, want an error about sample", c.sample, err)
		}
		l, opened := OpenLog(&cfg, nil)
		if (opened == nil) != c.ok {
			t.Errorf("sample %v: OpenLog says %v, want ok: %v", c.sample, opened, c.ok)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestSampled(t *testing.T) {
	t.Parallel()
	const all = 100_000
	random := rand.New(rand.NewPCG(3, 4))
	count := func(l *Log, c Code) (n int) {
		for range all {
			if l.Sampled(random.Uint64(), c) {
				n++
			}
		}
		return n
	}
	var none *Log
	tenth, every := &Log{threshold: (&LogConfig{Sample: 0.1}).threshold()}, &Log{threshold: (&LogConfig{}).threshold()}
	for _, c := range []struct {
		name     string
		log      *Log
		code     Code
		from, to int
	}{
		{"no log", none, HTTP(500), 0, 0},
		{"all", every, HTTP(200), all, all},
		{"a tenth", tenth, HTTP(200), all / 11, all / 9},
		{"a tenth of what clients did wrong", tenth, HTTP(404), all / 11, all / 9},
		{"a tenth of what clients left", tenth, 0, all / 11, all / 9},
		{"a tenth of Bolt", tenth, Bolt(bolt.StatusSuccess), all / 11, all / 9},
		{"all that failed", tenth, HTTP(502), all, all},
		{"all that failed in Bolt", tenth, Bolt(bolt.StatusTimeout), all, all},
		{"unknown statuses", tenth, HTTP(700), all, all},
	} {
		if n := count(c.log, c.code); n < c.from || n > c.to {
			t.Errorf("%s: %d of %d, want %d to %d", c.name, n, all, c.from, c.to)
		}
	}
	if !every.Sampled(math.MaxUint64, HTTP(200)) {
		t.Error("the largest random number is not taken, and all should be")
	}
}

func TestNoLog(t *testing.T) {
	t.Parallel()
	l, err := OpenLog(&LogConfig{}, nil)
	if l != nil || err != nil {
		t.Fatalf("got %v, %v; want no log and no error", l, err)
	}
	l.Write(&Entry{})
	if s := l.Stats(); s != (LogStats{}) {
		t.Errorf("%+v, want nothing", s)
	}
	if err := errors.Join(l.Reopen(), l.Close()); err != nil {
		t.Error(err)
	}
}

// open opens a log at path and closes it when the test ends.
func open(t *testing.T, path string) *Log {
	t.Helper()
	l, err := OpenLog(&LogConfig{File: path}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func text(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestFile checks that every line is in the file after many goroutines have logged in two runs.
func TestFile(t *testing.T) {
	t.Parallel()
	const loops, each = 4, 500
	path := filepath.Join(t.TempDir(), "access.log")
	for range 2 {
		l := open(t, path)
		var writing sync.WaitGroup
		for i := range loops {
			writing.Go(func() {
				for n := range each {
					l.Write(&Entry{Listener: "a", Path: fmt.Appendf(nil, "/%d/%d/%s", i, n, strings.Repeat("\xff", n)), Attempts: 1})
				}
			})
		}
		writing.Wait()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if s := l.Stats(); s.Written+s.Dropped != loops*each || s.Written == 0 || s.Errors != 0 {
			t.Errorf("%+v, want %d written or dropped", s, loops*each)
		}
	}
	for i, line := range strings.Split(strings.TrimSuffix(text(t, path), "\n"), "\n") {
		var e struct {
			Path     string
			Attempts int
			Time     time.Time
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Attempts != 1 || e.Path == "" || e.Time.IsZero() {
			t.Fatalf("line %d: %s: %v", i+1, line, err)
		}
	}
	if runtime.GOOS == "windows" {
		return // Windows has no such file modes
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); mode&^0o640 != 0 {
		t.Errorf("mode %v, want 0640 at most", mode)
	}
}

func TestCannotOpen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Join(dir, "none", "access.log")} {
		l, err := OpenLog(&LogConfig{File: path}, nil)
		if l != nil || err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: got %v, %v; want an error with the path", path, l, err)
		}
	}
}

func TestReopen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "access.log")
	l := open(t, path)
	l.Write(&Entry{Listener: "before"})
	for l.Stats().Written == 0 { // lasts at most flushAfter
		time.Sleep(time.Millisecond)
	}
	if err := os.Rename(path, path+".1"); err != nil {
		t.Skipf("needs a system on which an open file can be renamed: %v", err)
	}
	for range 2 {
		if err := l.Reopen(); err != nil {
			t.Fatal(err)
		}
	}
	l.Write(&Entry{Listener: "after"})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if old := text(t, path+".1"); !strings.Contains(old, "before") || strings.Contains(old, "after") {
		t.Errorf("the file moved away has\n%s", old)
	}
	if fresh := text(t, path); !strings.Contains(fresh, "after") || strings.Contains(fresh, "before") {
		t.Errorf("the new file has\n%s", fresh)
	}
	if err := l.Reopen(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("reopened after Close: %v, want os.ErrClosed", err)
	}
	if err := l.Close(); err != nil {
		t.Errorf("closed a second time: %v", err)
	}
}

// TestReopenFails removes the folder of the log. Reopen fails, and lines are still written to the old file.
func TestReopenFails(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "logs")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	l := open(t, filepath.Join(dir, "access.log"))
	if err := os.Rename(dir, dir+".1"); err != nil {
		t.Skipf("needs a system on which a folder in use can be renamed: %v", err)
	}
	if err := l.Reopen(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want os.ErrNotExist", err)
	}
	l.Write(&Entry{Listener: "a"})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if got := text(t, filepath.Join(dir+".1", "access.log")); !strings.Contains(got, `"a"`) {
		t.Errorf("got %q, want the line", got)
	}
}

// disk is a file that accepts a limited number of bytes per write, like a disk that is full.
type disk struct {
	wait chan struct{} // if not nil, Write waits until it is closed

	mu     sync.Mutex
	takes  int
	got    bytes.Buffer
	writes int
	closed bool
}

var errFull = errors.New("disk full")

func (d *disk) Write(p []byte) (int, error) {
	if d.wait != nil {
		<-d.wait
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.writes++
	n := min(len(p), d.takes)
	d.got.Write(p[:n])
	if n < len(p) {
		return n, errFull
	}
	return n, nil
}

func (d *disk) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	return nil
}

// has returns the bytes that d has received and the number of writes.
func (d *disk) has() (text string, writes int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.got.String(), d.writes
}

func (d *disk) isClosed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.closed
}

// take sets the number of bytes that d accepts per write from now on.
func (d *disk) take(bytes int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.takes = bytes
}

// inBubble runs f in a synctest bubble with a log that writes to the first disk. Each Reopen opens the next disk.
func inBubble(t *testing.T, disks []*disk, f func(t *testing.T, l *Log, told *disk)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var opened atomic.Int32
		told := &disk{takes: math.MaxInt}
		log := slog.New(slog.NewTextHandler(told, nil))
		l, err := newLog(&LogConfig{File: "access.log"}, log, func() (io.WriteCloser, error) { return disks[opened.Add(1)-1], nil })
		if err != nil {
			t.Fatal(err)
		}
		f(t, l, told)
		if err := l.Close(); err != nil && !errors.Is(err, errFull) {
			t.Error(err)
		}
		for i, d := range disks[:opened.Load()] {
			if !d.isClosed() {
				t.Errorf("disk %d is still open", i)
			}
		}
	})
}

// after waits until d has passed and all goroutines are blocked.
func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// room returns the number of bytes that l has not written and the capacity of its buffers.
func room(l *Log) (unwritten, kept int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.queue) + l.writing, cap(l.queue)
}

func TestLinesAreBatched(t *testing.T) {
	t.Parallel()
	d := &disk{takes: math.MaxInt}
	inBubble(t, []*disk{d}, func(t *testing.T, l *Log, _ *disk) {
		after(time.Hour)
		for range 10 {
			l.Write(&Entry{})
			after(flushAfter/10 - 1)
		}
		if _, n := d.has(); n != 0 {
			t.Errorf("%d writes before %v have passed, want none", n, flushAfter)
		}
		after(10)
		if _, n := d.has(); n != 1 || l.Stats().Written != 10 {
			t.Errorf("%d writes, %+v; want one of 10 lines after %v", n, l.Stats(), flushAfter)
		}
		long := &Entry{Path: bytes.Repeat([]byte("x"), flushAt/4)}
		for range 4 {
			l.Write(long)
		}
		synctest.Wait()
		if _, n := d.has(); n != 2 || l.Stats().Written != 14 {
			t.Errorf("%d writes, %+v; want another one as soon as %d bytes are waiting", n, l.Stats(), flushAt)
		}
	})
}

func TestLinesAreDroppedWhileDiskIsFull(t *testing.T) {
	t.Parallel()
	d := &disk{takes: 100}
	inBubble(t, []*disk{d}, func(t *testing.T, l *Log, told *disk) {
		for range 3 {
			l.Write(&Entry{Path: bytes.Repeat([]byte("x"), 200)})
		}
		after(2 * flushAfter)
		if s := l.Stats(); s.Errors != 2 || s.Written != 0 || s.Dropped != 0 {
			t.Errorf("%+v, want 2 errors and nothing lost", s)
		}
		d.take(0)
		after(time.Minute - 2*flushAfter)
		if text, n := told.has(); n != 1 || !strings.Contains(text, "disk full") {
			t.Errorf("told %d times within a minute, want once:\n%s", n, text)
		}
		after(time.Minute)
		if text, n := told.has(); n != 2 {
			t.Errorf("told %d times within two minutes, want twice:\n%s", n, text)
		}
		for range 2 * maxQueued / 1000 {
			l.Write(&Entry{Path: bytes.Repeat([]byte("y"), 1000)})
		}
		s := l.Stats()
		if bytes, _ := room(l); s.Dropped == 0 || bytes > maxQueued {
			t.Errorf("%+v with %d bytes waiting; want some lines dropped, and at most %d bytes", s, bytes, maxQueued)
		}
		d.take(math.MaxInt)
		after(flushAfter)
		l.Write(&Entry{Path: []byte("z")})
		after(flushAfter)
		now := l.Stats()
		if want := uint64(3+2*(maxQueued/1000)) + 1; now.Written+now.Dropped < want || now.Dropped != s.Dropped {
			t.Errorf("%+v, want all of %d but %d written", now, want, s.Dropped)
		}
		got, _ := d.has()
		if n := uint64(strings.Count(got, "\n")); n != now.Written {
			t.Errorf("%d lines in the file, and %d counted", n, now.Written)
		}
		for line := range strings.Lines(got) {
			if !json.Valid([]byte(line)) {
				t.Errorf("a line is torn: %s", line)
			}
		}
		if _, kept := room(l); kept > 2*flushAt {
			t.Errorf("%d bytes of room are kept after the rush, want no more than %d", kept, 2*flushAt)
		}
	})
}

// TestReopenAfterPartOfALine checks that the new file begins with a whole line.
func TestReopenAfterPartOfALine(t *testing.T) {
	t.Parallel()
	full, next, last := &disk{takes: 10}, &disk{takes: math.MaxInt}, &disk{takes: math.MaxInt}
	inBubble(t, []*disk{full, next, last}, func(t *testing.T, l *Log, _ *disk) {
		for range 3 {
			l.Write(&Entry{})
		}
		after(flushAfter)
		if err := l.Reopen(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if s := l.Stats(); !full.isClosed() || s.Dropped != 1 || s.Written != 2 {
			t.Errorf("%+v, closed: %v; want the torn line dropped and two written", s, full.isClosed())
		}
		if got, _ := next.has(); strings.Count(got, "\n") != 2 || !strings.HasPrefix(got, "{") {
			t.Errorf("the new file has\n%s", got)
		}
		if err := l.Reopen(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if s := l.Stats(); !next.isClosed() || s.Dropped != 1 {
			t.Errorf("%+v, closed: %v; want a change with nothing to do", s, next.isClosed())
		}
	})
}

func TestCloseWithoutRoom(t *testing.T) {
	t.Parallel()
	inBubble(t, []*disk{{takes: 10}}, func(t *testing.T, l *Log, _ *disk) {
		l.Write(&Entry{})
		after(flushAfter)
		l.Write(&Entry{})
		err := l.Close()
		if !errors.Is(err, errFull) || !strings.Contains(err.Error(), "2 lines") {
			t.Errorf("got %v, want 2 lines lost, the disk being full", err)
		}
		l.Write(&Entry{})
		if s := l.Stats(); s.Dropped != 3 || s.Written != 0 {
			t.Errorf("%+v, want 3 dropped", s)
		}
	})
}

func TestCloseGivesUpAfterItsTimeout(t *testing.T) {
	t.Parallel()
	stuck := &disk{takes: math.MaxInt}
	inBubble(t, []*disk{stuck}, func(t *testing.T, l *Log, _ *disk) {
		stuck.wait = make(chan struct{}) // the channel must belong to the bubble
		l.Write(&Entry{})
		before := time.Now()
		err := l.Close()
		if err == nil || time.Since(before) != closeTimeout {
			t.Errorf("got %v after %v, want an error after %v", err, time.Since(before), closeTimeout)
		}
		close(stuck.wait)
		synctest.Wait()
	})
}
