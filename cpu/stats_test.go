package cpu

import (
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestBuckets(t *testing.T) {
	last := -1
	for _, d := range []time.Duration{0, 1, 7, 8, 9, 15, 16, 17, 18, 100, 1000, 1e6, 1e9, 3600e9, 1<<63 - 1} {
		i := bucket(d)
		if i < last || i >= len(histogram{}.counts) {
			t.Errorf("bucket(%d) = %d, after %d, of %d", d, i, last, len(histogram{}.counts))
		}
		if end := bucketEnd(i); end < d || end-d > d/8 {
			t.Errorf("bucket(%d) = %d, which ends at %d: want that to be at most an eighth more", d, i, end)
		}
		last = i
	}
}

func TestWaits(t *testing.T) {
	var w waitTimes
	if got := w.quantile(0.99); got != 0 {
		t.Errorf("nothing waited: got %v, want 0", got)
	}
	for i := range 100 {
		w.add(0, time.Duration(i)*time.Millisecond)
	}
	for q, want := range map[float64]time.Duration{0.5: 50 * time.Millisecond, 0.99: 99 * time.Millisecond} {
		if got := w.quantile(q); got < want || got > want*9/8 {
			t.Errorf("quantile %v: got %v, want %v or up to an eighth more", q, got, want)
		}
	}
	w.add(window, time.Hour)
	if got := w.quantile(0.5); got > time.Second {
		t.Errorf("one window later: got %v, want the jobs before counted", got)
	}
	w.add(2*window, time.Minute)
	if got := w.quantile(0.1); got < time.Minute {
		t.Errorf("two windows later: got %v, want a minute or more", got)
	}
	w.rotate(10 * window)
	if got := w.quantile(0.99); got != 0 {
		t.Errorf("long after: got %v, want 0", got)
	}
}

func TestWarning(t *testing.T) {
	n := runtime.GOMAXPROCS(0)
	if got := newPool(t, Config{Tokens: n}).Stats().Warning; !strings.Contains(got, "cpu.TuneProcess") {
		t.Errorf("as many tokens as processors: got %q, want what to do", got)
	}
	runtime.GOMAXPROCS(n + 1)
	defer runtime.GOMAXPROCS(n)
	if got := newPool(t, Config{Tokens: n}).Stats().Warning; got != "" {
		t.Errorf("a processor to spare: got %q, want none", got)
	}
}

func TestGCShare(t *testing.T) {
	runtime.GC()
	if got := gcShare(); got <= 0 || got > 1 {
		t.Errorf("got %v, want more than 0 and at most 1", got)
	}
}
