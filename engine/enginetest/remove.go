package enginetest

import (
	"errors"
	"testing"
	"time"

	"example.com/ferry/engine"
)

func testGet(t *testing.T, f Fixture) {
	s := open(t, f)
	appendAll(t, s, numbered("a", 1, 3)...)
	r, err := s.Get(deadline(t), 2)
	if err != nil || r.Sequence != 2 || r.Tag != "a" || string(r.Payload) != "2" || r.Stored == 0 {
		t.Fatalf("Get(2) = %+v, %v", r, err)
	}
	r.Payload[0] = 'X' // the record is the caller's
	if again, err := s.Get(deadline(t), 2); err != nil || string(again.Payload) != "2" {
		t.Errorf("Get(2) = %+v, %v after the caller has changed the record", again, err)
	}
	for _, sequence := range []uint64{0, 4, 1 << 40} {
		if _, err := s.Get(deadline(t), sequence); !errors.Is(err, engine.ErrNoRecord) {
			t.Errorf("Get(%d): %v, want ErrNoRecord", sequence, err)
		}
	}
}

func testRemove(t *testing.T, f Fixture) {
	s := open(t, f)
	appendAll(t, s, numbered("a", 1, 5)...)
	c := openCursor(t, s, fromFirst)
	for _, sequence := range []uint64{3, 1, 5} {
		if err := s.Remove(deadline(t), sequence); err != nil {
			t.Fatalf("Remove(%d): %v", sequence, err)
		}
		if err := s.Remove(deadline(t), sequence); !errors.Is(err, engine.ErrNoRecord) {
			t.Errorf("Remove(%d) once more: %v, want ErrNoRecord", sequence, err)
		}
		if _, err := s.Get(deadline(t), sequence); !errors.Is(err, engine.ErrNoRecord) {
			t.Errorf("Get(%d) of a removed record: %v, want ErrNoRecord", sequence, err)
		}
	}
	if info := infoOf(t, s); info.Records != 2 || info.First != 2 || info.Last != 5 {
		t.Errorf("Info = %+v, want 2 records, the first 2, the last 5", info)
	}
	expect(t, c, 2, 4)
	appendAll(t, s, numbered("a", 6, 1)...)
	expect(t, c, 6)
}

// testNewest: many records at the end of the stream are removed.
func testNewest(t *testing.T, f Fixture) {
	s := open(t, f)
	newest := func(want uint64) {
		t.Helper()
		if got, err := s.Newest(deadline(t)); err != nil || got != want {
			t.Fatalf("Newest = %d, %v, want %d", got, err, want)
		}
	}
	if n, err := s.Newest(deadline(t)); !errors.Is(err, engine.ErrNoRecord) {
		t.Fatalf("Newest of an empty stream = %d, %v, want ErrNoRecord", n, err)
	}
	appendAll(t, s, numbered("a", 1, 10)...)
	newest(10)
	appendAll(t, s, numbered("a/b", 11, 600)...)
	if n, err := s.Purge(deadline(t), "a/b", 0); err != nil || n != 600 {
		t.Fatalf("Purge = %d, %v", n, err)
	}
	newest(10)
	if err := s.Remove(deadline(t), 10); err != nil {
		t.Fatal(err)
	}
	newest(9)
	appendAll(t, s, numbered("a", 611, 1)...)
	newest(611)
	if _, err := s.Purge(deadline(t), "", 0); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Newest(deadline(t)); !errors.Is(err, engine.ErrNoRecord) {
		t.Errorf("Newest of a purged stream = %d, %v, want ErrNoRecord", n, err)
	}
}

func testPurge(t *testing.T, f Fixture) {
	s := open(t, f)
	for range 5 {
		appendAll(t, s, engine.Record{Tag: "a/1"}, engine.Record{Tag: "a/2"})
	}
	purge := func(filter string, before, want uint64) {
		t.Helper()
		if got, err := s.Purge(deadline(t), filter, before); err != nil || got != want {
			t.Fatalf("Purge(%q, %d) = %d, %v, want %d", filter, before, got, err, want)
		}
	}
	purge("a/3", 0, 0)
	purge("a/1", 4, 2)
	expectStored(t, s, 2, 4, 5, 6, 7, 8, 9, 10)
	purge("", 6, 3)
	expectStored(t, s, 6, 7, 8, 9, 10)
	purge("a/+", 8, 2)
	expectStored(t, s, 8, 9, 10)
	purge("a/2", 0, 2)
	expectStored(t, s, 9)
	purge("", 0, 1)
	if info := infoOf(t, s); info.Records != 0 || info.First != 11 || info.Last != 10 {
		t.Errorf("Info of an empty stream = %+v, want first 11, last 10", info)
	}
	purge("", 0, 0)
	appendAll(t, s, engine.Record{Tag: "a/1"})
	expectStored(t, s, 11)
	if _, err := s.Purge(deadline(t), "a/#/b", 0); err == nil {
		t.Error("Purge accepts the filter a/#/b")
	}
}

func testMaxRecords(t *testing.T, f Fixture) {
	c := config(f.Engine, "records", "a/#")
	c.MaxRecords = 3
	s := openStream(t, f.Engine, c)
	appendAll(t, s, numbered("a", 1, 2)...)
	cursor := openCursor(t, s, fromFirst)
	appendAll(t, s, numbered("a", 3, 8)...)
	expectStored(t, s, 8, 9, 10)
	expect(t, cursor, 8, 9, 10)
}

func testMaxBytes(t *testing.T, f Fixture) {
	c := config(f.Engine, "records", "a/#")
	c.MaxBytes = 64 << 10
	s := openStream(t, f.Engine, c)
	for range 100 {
		appendAll(t, s, engine.Record{Tag: "a", Payload: make([]byte, 2000)})
	}
	info := infoOf(t, s)
	if info.Bytes > 64<<10 || info.Records < 20 || info.Records > 32 || info.Last != 100 || info.First != 101-info.Records {
		t.Errorf("Info = %+v, want the last 20 to 32 records in at most 64 KiB", info)
	}
}

func testMaxPerTag(t *testing.T, f Fixture) {
	c := config(f.Engine, "records", "a/#")
	c.MaxPerTag = 2
	s := openStream(t, f.Engine, c)
	for range 5 {
		appendAll(t, s, engine.Record{Tag: "a/1"}, engine.Record{Tag: "a/2"})
	}
	appendAll(t, s, engine.Record{Tag: "a/3"}, engine.Record{Tag: "a/1"}, engine.Record{Tag: "a/1"})
	expectStored(t, s, 8, 10, 11, 12, 13)
	if err := s.Remove(deadline(t), 8); err != nil {
		t.Fatal(err)
	}
	appendAll(t, s, engine.Record{Tag: "a/2"})
	expectStored(t, s, 10, 11, 12, 13, 14)
}

func testMaxAge(t *testing.T, f Fixture) {
	c := config(f.Engine, "records", "a/#")
	c.MaxAge = time.Second
	s := openStream(t, f.Engine, c)
	start := time.Now()
	appendAll(t, s, numbered("a", 1, 3)...)
	await(t, "the records are removed", func() bool { return infoOf(t, s).Records == 0 })
	if elapsed := time.Since(start); elapsed < c.MaxAge-100*time.Millisecond {
		t.Errorf("the records are removed after %v, before their age", elapsed)
	}
	if info := infoOf(t, s); info.First != 4 || info.Last != 3 {
		t.Errorf("Info = %+v, want first 4, last 3", info)
	}
}

func testReconfigure(t *testing.T, f Fixture) {
	c := config(f.Engine, "records", "a/#")
	s := openStream(t, f.Engine, c)
	for range 4 {
		appendAll(t, s, engine.Record{Tag: "a/1"}, engine.Record{Tag: "a/2"}, engine.Record{Tag: "a/2"})
	}
	c.MaxPerTag = 4
	openStream(t, f.Engine, c)
	await(t, "at most 4 records of each tag are left", func() bool { return infoOf(t, s).Records == 8 })
	expectStored(t, s, 1, 4, 7, 8, 9, 10, 11, 12)
	c.MaxPerTag, c.MaxRecords = 0, 3
	openStream(t, f.Engine, c)
	await(t, "at most 3 records are left", func() bool { return infoOf(t, s).Records == 3 })
	c.MaxRecords, c.Tags = 0, []string{"a/#", "b"}
	openStream(t, f.Engine, c)
	appendAll(t, s, engine.Record{Tag: "b"}, engine.Record{Tag: "a/1"})
	expectStored(t, s, 10, 11, 12, 13, 14)
}
