package memory

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"example.com/ferry/engine"
)

// TestAllocations appends runs and reads them. Only a segment is allocated, once for hundreds of records.
func TestAllocations(t *testing.T) {
	e := New()
	ctx := t.Context()
	s, err := e.Open(ctx, engine.Config{Name: "records", Tags: []string{"a/#"}, InMemory: true, MaxBytes: 4 << 20})
	if err != nil {
		t.Fatal(err)
	}
	run := make([]engine.Record, 16)
	for i := range run {
		run[i] = engine.Record{Tag: "a/b", Payload: make([]byte, 256), Extension: make([]byte, 12)}
	}
	stored := make(chan error, 1)
	done := func(err error) { stored <- err }
	appendRun := func() {
		s.Append(run, done)
		if err := <-stored; err != nil {
			t.Fatal(err)
		}
	}
	for range 2000 { // the stream is full, and its segments have their size
		appendRun()
	}
	c, err := s.Cursor(ctx, engine.CursorConfig{Filter: "a/b"})
	if err != nil {
		t.Fatal(err)
	}
	appendAndRead := func() {
		appendRun()
		for n := 0; n < len(run); {
			records, err := c.Next(ctx, len(run), 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			n += len(records)
		}
	}
	if n := testing.AllocsPerRun(1000, appendAndRead); n != 0 {
		t.Errorf("appending and reading %d records allocates %v times, want 0", len(run), n)
	}
}

// TestMemoryBound keeps one record of each of many tags, while one tag changes all the time, so that few records are left of each
// segment that was filled.
func TestMemoryBound(t *testing.T) {
	e := New()
	s, err := e.Open(t.Context(), engine.Config{Name: "records", Tags: []string{"a/#"}, InMemory: true, MaxPerTag: 1})
	if err != nil {
		t.Fatal(err)
	}
	before := liveHeap()
	stored := make(chan error, 1)
	appendOne := func(tag string) {
		s.Append([]engine.Record{{Tag: tag, Payload: make([]byte, 1000)}}, func(err error) { stored <- err })
		<-stored
	}
	for i := range 200 {
		appendOne(fmt.Sprint("a/rare/", i))
		for range 300 {
			appendOne("a/often")
		}
	}
	info, err := s.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if info.Records != 201 {
		t.Fatalf("the stream has %d records, want 201", info.Records)
	}
	grown := liveHeap() - before
	if limit := 2*int64(info.Bytes) + 2*maxSegment; grown > limit {
		t.Errorf("%d bytes of records take %d bytes, want at most %d", info.Bytes, grown, limit)
	}
	if err := e.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

func liveHeap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
