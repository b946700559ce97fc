package spool_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ferry"
	"example.com/ferry/link/spool"
)

func open(t testing.TB, cfg spool.Config) *spool.Spool {
	t.Helper()
	s, err := spool.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func add(t testing.TB, s *spool.Spool, payloads ...string) {
	t.Helper()
	for _, p := range payloads {
		if _, err := s.Append(t.Context(), &ferry.Message{Tag: "a/b", Type: ferry.JSON, Time: 7, Payload: []byte(p)}); err != nil {
			t.Fatal(err)
		}
	}
}

// ended is a context with which no method waits.
func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// readAll returns the payloads of all messages behind the last one that was read, and their IDs.
func readAll(t testing.TB, s *spool.Spool, limit int) (payloads, ids []string) {
	t.Helper()
	for {
		records, err := s.Read(ended(), limit)
		if errors.Is(err, context.Canceled) {
			return payloads, ids
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			payloads, ids = append(payloads, string(r.Message.Payload)), append(ids, r.Message.ID)
		}
	}
}

func numbered(from, to int) []string {
	var all []string
	for i := from; i < to; i++ {
		all = append(all, fmt.Sprint("message ", i))
	}
	return all
}

func equal(a, b []string) bool { return strings.Join(a, ",") == strings.Join(b, ",") }

func TestMessage(t *testing.T) {
	s := open(t, spool.Config{Dir: t.TempDir()})
	want := ferry.Message{Tag: "a/b", Type: ferry.CBOR, Time: 42, ID: "mine", Key: []byte("k"), Payload: []byte("p")}
	for _, m := range []ferry.Message{want, {Tag: "c"}} {
		if _, err := s.Append(t.Context(), &m); err != nil {
			t.Fatal(err)
		}
	}
	records, err := s.Read(t.Context(), 1<<20)
	if err != nil || len(records) != 2 {
		t.Fatalf("got %v, %v, want two records", records, err)
	}
	got := records[0].Message
	if got.Tag != want.Tag || got.Type != want.Type || got.Time != want.Time || got.ID != want.ID || string(got.Key) != "k" || string(got.Payload) != "p" || records[0].Index != 1 {
		t.Errorf("got %+v, want %+v", records[0], want)
	}
	if m := records[1].Message; m.Tag != "c" || m.ID == "" || m.Key != nil || len(m.Payload) != 0 || time.Since(time.Unix(0, m.Time)) > time.Hour {
		t.Errorf("got %+v, want an ID and the current time", m)
	}
}

// TestReopen: messages that were not advanced are read again by the next Spool, with the same IDs; those that were are not.
func TestReopen(t *testing.T) {
	for _, sync := range []bool{false, true} {
		t.Run(fmt.Sprint("sync ", sync), func(t *testing.T) {
			cfg := spool.Config{Dir: t.TempDir(), Sync: sync}
			s := open(t, cfg)
			add(t, s, numbered(0, 10)...)
			first, ids := readAll(t, s, 100)
			if !equal(first, numbered(0, 10)) {
				t.Fatalf("got %q", first)
			}
			if err := s.Advance(4); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = open(t, cfg)
			add(t, s, numbered(10, 12)...)
			again, idsAgain := readAll(t, s, 100)
			if !equal(again, numbered(4, 12)) || !equal(idsAgain[:6], ids[4:]) {
				t.Errorf("got %q with %q, want messages 4 to 11 with %q", again, idsAgain, ids[4:])
			}
			seen := map[string]bool{}
			for _, id := range append(ids[:4:4], idsAgain...) {
				if seen[id] {
					t.Errorf("two messages have ID %s", id)
				}
				seen[id] = true
			}
		})
	}
}

// TestRewind: what was read and not advanced is read again.
func TestRewind(t *testing.T) {
	s := open(t, spool.Config{Dir: t.TempDir(), MaxBytes: 2000}) // each message has a file
	add(t, s, numbered(0, 9)...)
	for _, advanced := range []int{0, 1, 5, 6, 9} {
		readAll(t, s, 1)
		if advanced > 0 {
			if err := s.Advance(uint64(advanced)); err != nil {
				t.Fatal(err)
			}
		}
		s.Rewind()
		if got, _ := readAll(t, s, 60); !equal(got, numbered(advanced, 9)) {
			t.Errorf("after %d were advanced: got %q", advanced, got)
		}
	}
}

func TestBound(t *testing.T) {
	const most = 4000
	s := open(t, spool.Config{Dir: t.TempDir(), MaxBytes: most})
	var indexes []uint64
	appended, read := 0, 0
	for range 6 {
		for {
			index, err := s.Append(ended(), &ferry.Message{Tag: "a", Payload: fmt.Append(nil, "message ", appended)})
			if errors.Is(err, spool.ErrFull) && errors.Is(err, context.Canceled) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			appended++
			indexes = append(indexes, index)
		}
		v := s.Stats()
		if v.Messages != uint64(appended-read) || v.Messages < 45 || v.Bytes > most || v.Bytes < most*3/4 || v.Last != indexes[appended-1] {
			t.Fatalf("full with %+v, want %d messages", v, appended-read)
		}
		got, _ := readAll(t, s, 200)
		half := len(got) / 2
		if !equal(got, numbered(read, appended)) {
			t.Fatalf("got %q, want %d to %d", got, read, appended)
		}
		if err := s.Advance(indexes[read+half-1]); err != nil {
			t.Fatal(err)
		}
		read += half
		s.Rewind()
	}
	readAll(t, s, most)
	if err := s.Advance(indexes[appended-1]); err != nil {
		t.Fatal(err)
	}
	if v := s.Stats(); v.Messages != 0 || v.Bytes != 0 || !v.Oldest.IsZero() {
		t.Errorf("empty: %+v", v)
	}
	large := ferry.Message{Tag: "a", Payload: make([]byte, most-100)} // fits if the spool is empty
	if _, err := s.Append(ended(), &large); err != nil {
		t.Error(err)
	}
	large.Payload = make([]byte, most)
	if _, err := s.Append(t.Context(), &large); err == nil || errors.Is(err, spool.ErrFull) {
		t.Errorf("a message that never fits: got %v", err)
	}
}

// TestWaits: Append waits for room, Read for a message, Wait for Advance; Close ends each.
func TestWaits(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s, err := spool.Open(spool.Config{Dir: dir, MaxBytes: 300})
		if err != nil {
			t.Fatal(err)
		}
		big := ferry.Message{Tag: "a", Payload: make([]byte, 200)}
		var records []spool.Record
		results := make(chan error, 3)
		go func() {
			var err error
			records, err = s.Read(t.Context(), 1)
			results <- err
		}()
		synctest.Wait()
		if _, err := s.Append(t.Context(), &big); err != nil {
			t.Fatal(err)
		}
		if err := <-results; err != nil || len(records) != 1 {
			t.Fatalf("Read: got %v, %v", records, err)
		}
		go func() { results <- s.Wait(t.Context(), 1) }()
		go func() {
			_, err := s.Append(t.Context(), &big)
			results <- err
		}()
		time.Sleep(time.Hour)
		select {
		case err := <-results:
			t.Fatalf("no wait: %v", err)
		default:
		}
		if err := s.Advance(1); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := <-results; err != nil {
				t.Fatal(err)
			}
		}
		go func() { results <- s.Wait(t.Context(), 2) }()
		go func() {
			_, err := s.Append(t.Context(), &big)
			results <- err
		}()
		go func() {
			_, err := s.Read(t.Context(), 1)
			if err == nil {
				_, err = s.Read(t.Context(), 1)
			}
			results <- err
		}()
		synctest.Wait()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if err := <-results; !errors.Is(err, spool.ErrClosed) {
				t.Errorf("after Close: got %v", err)
			}
		}
	})
}

func TestLocked(t *testing.T) {
	cfg := spool.Config{Dir: t.TempDir()}
	s := open(t, cfg)
	if _, err := spool.Open(cfg); !errors.Is(err, spool.ErrLocked) || !strings.Contains(err.Error(), cfg.Dir) {
		t.Errorf("got %v, want ErrLocked with the directory", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, cfg)
}

func TestMisuse(t *testing.T) {
	if _, err := spool.Open(spool.Config{}); err == nil || !strings.Contains(err.Error(), "Config.Dir") {
		t.Errorf("no directory: got %v", err)
	}
	if _, err := spool.Open(spool.Config{Dir: t.TempDir(), MaxBytes: -1}); err == nil || !strings.Contains(err.Error(), "MaxBytes") {
		t.Errorf("a negative bound: got %v", err)
	}
	s := open(t, spool.Config{Dir: t.TempDir()})
	add(t, s, "1")
	if err := s.Advance(2); err == nil || !strings.Contains(err.Error(), "the last one is 1") {
		t.Errorf("Advance of a message that there is not: got %v", err)
	}
	if _, err := s.Append(t.Context(), &ferry.Message{ID: strings.Repeat("x", 1<<16)}); err == nil || !strings.Contains(err.Error(), "an ID of 65536") {
		t.Errorf("a long ID: got %v", err)
	}
}

// TestOldest: Stats knows when the first message that was not advanced was appended, in the middle of a batch as well.
func TestOldest(t *testing.T) {
	s := open(t, spool.Config{Dir: t.TempDir(), MaxBytes: 4000})
	var times []time.Time
	for range 20 {
		times = append(times, time.Now())
		add(t, s, "x")
	}
	times = append(times, time.Now())
	readAll(t, s, 10000)
	for i := range 20 {
		if v := s.Stats(); v.Oldest.Before(times[i]) || v.Oldest.After(times[i+1]) || v.Messages != uint64(20-i) {
			t.Fatalf("after %d: got %+v, want one between %v and %v", i, v, times[i], times[i+1])
		}
		if err := s.Advance(uint64(i + 1)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOverlap: many goroutines append while one reads and advances. Each one's messages stay in order.
func TestOverlap(t *testing.T) {
	for _, durable := range []bool{false, true} {
		s := open(t, spool.Config{Dir: t.TempDir(), MaxBytes: 64 << 10, Sync: durable})
		const writers, each = 8, 200
		var all sync.WaitGroup
		for w := range writers {
			all.Go(func() {
				for i := range each {
					if _, err := s.Append(t.Context(), &ferry.Message{Tag: fmt.Sprint(w), Payload: fmt.Append(nil, i)}); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		next := map[string]int{}
		for got := 0; got < writers*each; {
			records, err := s.Read(t.Context(), 1000)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range records {
				if string(r.Message.Payload) != fmt.Sprint(next[r.Message.Tag]) {
					t.Fatalf("tag %s: got %s, want %d", r.Message.Tag, r.Message.Payload, next[r.Message.Tag])
				}
				next[r.Message.Tag]++
			}
			got += len(records)
			s.Stats()
			if err := s.Advance(records[len(records)-1].Index); err != nil {
				t.Fatal(err)
			}
		}
		all.Wait()
	}
}

func BenchmarkAppend(b *testing.B) {
	s := open(b, spool.Config{Dir: b.TempDir(), MaxBytes: 1 << 40})
	m := ferry.Message{Tag: "bench", Payload: make([]byte, 256)}
	b.SetBytes(256)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Append(b.Context(), &m); err != nil {
			b.Fatal(err)
		}
	}
}

// TestBoundShared: calls that overlap do not exceed the bound together, and each message is taken when others are advanced.
func TestBoundShared(t *testing.T) {
	const most = 1000
	for range 10 {
		s := open(t, spool.Config{Dir: t.TempDir(), MaxBytes: most})
		var calls sync.WaitGroup
		for range 8 {
			calls.Go(func() {
				if _, err := s.Append(t.Context(), &ferry.Message{Tag: "a", Payload: make([]byte, most/4)}); err != nil {
					t.Error(err)
				}
				if v := s.Stats(); v.Bytes > most {
					t.Errorf("%d bytes of at most %d", v.Bytes, most)
				}
				if err := s.Advance(s.Last()); err != nil {
					t.Error(err)
				}
			})
		}
		calls.Wait()
	}
}
