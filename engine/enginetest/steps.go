package enginetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"example.com/ferry/engine"
)

// config returns the Config of a stream that e supports.
func config(e engine.Engine, name string, tags ...string) engine.Config {
	return engine.Config{Name: name, Tags: tags, InMemory: !e.Capabilities().Durable}
}

func openStream(t *testing.T, e engine.Engine, c engine.Config) engine.Stream {
	t.Helper()
	s, err := e.Open(deadline(t), c)
	if err != nil {
		t.Fatalf("Open(%+v): %v", c, err)
	}
	return s
}

// open opens a stream with the tags a/#.
func open(t *testing.T, f Fixture) engine.Stream {
	t.Helper()
	return openStream(t, f.Engine, config(f.Engine, "records", "a/#"))
}

// tryAppend appends records and returns the error that done gets.
func tryAppend(t *testing.T, s engine.Stream, records ...engine.Record) error {
	t.Helper()
	done := make(chan error, 1)
	s.Append(records, func(err error) { done <- err })
	select {
	case err := <-done:
		return err
	case <-time.After(timeout):
		t.Fatalf("Append of %d records: done was not called within %v", len(records), timeout)
		return nil
	}
}

func appendAll(t *testing.T, s engine.Stream, records ...engine.Record) {
	t.Helper()
	if err := tryAppend(t, s, records...); err != nil {
		t.Fatalf("Append: %v", err)
	}
}

// numbered returns n records with that tag. The payloads are the numbers from first on.
func numbered(tag string, first, n int) []engine.Record {
	var all []engine.Record
	for i := range n {
		all = append(all, engine.Record{Tag: tag, Payload: fmt.Append(nil, first+i)})
	}
	return all
}

func openCursor(t *testing.T, s engine.Stream, c engine.CursorConfig) engine.Cursor {
	t.Helper()
	cursor, err := s.Cursor(deadline(t), c)
	if err != nil {
		t.Fatalf("Cursor(%+v): %v", c, err)
	}
	return cursor
}

func closeCursor(t *testing.T, c engine.Cursor) {
	t.Helper()
	if err := c.Close(deadline(t)); err != nil {
		t.Fatalf("Close of a cursor: %v", err)
	}
}

// fromFirst reads all records.
var fromFirst = engine.CursorConfig{Start: engine.Start{At: engine.AtFirst}}

// read returns copies of the next n records.
func read(t *testing.T, c engine.Cursor, n int) []engine.Record {
	t.Helper()
	var all []engine.Record
	for len(all) < n {
		records, err := c.Next(deadline(t), n-len(all), 1<<20)
		if err != nil {
			t.Fatalf("Next after %d of %d records: %v", len(all), n, err)
		}
		if len(records) == 0 || len(records) > n-len(all) {
			t.Fatalf("Next returned %d records, want 1 to %d", len(records), n-len(all))
		}
		for _, r := range records {
			r.Payload, r.Extension = bytes.Clone(r.Payload), bytes.Clone(r.Extension)
			all = append(all, r)
		}
	}
	return all
}

// sequences returns the sequence numbers of the next n records.
func sequences(t *testing.T, c engine.Cursor, n int) []uint64 {
	t.Helper()
	var all []uint64
	for _, r := range read(t, c, n) {
		all = append(all, r.Sequence)
	}
	return all
}

// expect reads as many records as want has, and compares their sequence numbers. Then the cursor has no more.
func expect(t *testing.T, c engine.Cursor, want ...uint64) {
	t.Helper()
	if got := sequences(t, c, len(want)); !slices.Equal(got, want) {
		t.Fatalf("the cursor reads records %d, want %d", got, want)
	}
	expectNone(t, c)
}

// expectNone checks that Next waits.
func expectNone(t *testing.T, c engine.Cursor) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if records, err := c.Next(ctx, 10, 1<<20); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Next at the end of the stream = %d records, %v, want to wait", len(records), err)
	}
}

// stored returns the sequence numbers of the records of a stream.
func stored(t *testing.T, s engine.Stream) []uint64 {
	t.Helper()
	info := infoOf(t, s)
	c := openCursor(t, s, fromFirst)
	defer closeCursor(t, c)
	return sequences(t, c, int(info.Records))
}

func expectStored(t *testing.T, s engine.Stream, want ...uint64) {
	t.Helper()
	if got := stored(t, s); !slices.Equal(got, want) {
		t.Fatalf("the stream has records %d, want %d", got, want)
	}
}

func infoOf(t *testing.T, s engine.Stream) engine.Info {
	t.Helper()
	info, err := s.Info(deadline(t))
	if err != nil {
		t.Fatalf("Info: %v", err)
	}
	return info
}

// cursorInfo returns the state of a named cursor.
func cursorInfo(t *testing.T, s engine.Stream, name string) engine.CursorInfo {
	t.Helper()
	all, err := s.Cursors(deadline(t))
	if err != nil {
		t.Fatalf("Cursors: %v", err)
	}
	i := slices.IndexFunc(all, func(c engine.CursorInfo) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("Cursors has no %q: %+v", name, all)
	}
	return all[i]
}

// await calls ok until it returns true.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(timeout); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %v", what, timeout)
		}
	}
}
