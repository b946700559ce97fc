package enginetest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"example.com/ferry/engine"
	"example.com/ferry/internal/topic"
)

func testNextBounds(t *testing.T, f Fixture) {
	s := open(t, f)
	for range 20 {
		appendAll(t, s, engine.Record{Tag: "a", Payload: make([]byte, 1000)})
	}
	c := openCursor(t, s, fromFirst)
	next := uint64(1)
	for _, row := range []struct{ limit, bytes, most int }{
		{1, 1 << 20, 1},
		{3, 1 << 20, 3},
		{10, 2500, 2},
		{10, 10, 1}, // the first record comes even if it is larger
		{10, 3000, 3},
	} {
		records, err := c.Next(deadline(t), row.limit, row.bytes)
		if err != nil {
			t.Fatalf("Next(%d, %d): %v", row.limit, row.bytes, err)
		}
		if len(records) == 0 || len(records) > row.most {
			t.Fatalf("Next(%d, %d) returned %d records of 1000 bytes, want 1 to %d", row.limit, row.bytes, len(records), row.most)
		}
		for _, r := range records {
			if r.Sequence != next {
				t.Fatalf("Next(%d, %d) returned record %d, want %d", row.limit, row.bytes, r.Sequence, next)
			}
			next++
		}
	}
}

func testNextWaits(t *testing.T, f Fixture) {
	s := open(t, f)
	c := openCursor(t, s, fromFirst)
	expectNone(t, c)
	type result struct {
		sequence uint64
		err      error
	}
	got := make(chan result, 1)
	go func() {
		records, err := c.Next(deadline(t), 10, 1<<20)
		if err != nil {
			got <- result{err: err}
			return
		}
		got <- result{sequence: records[0].Sequence}
	}()
	appendAll(t, s, engine.Record{Tag: "a"})
	if r := <-got; r.err != nil || r.sequence != 1 {
		t.Fatalf("Next = record %d, %v, want record 1", r.sequence, r.err)
	}
	expectNone(t, c)

	go func() {
		_, err := c.Next(deadline(t), 10, 1<<20)
		got <- result{err: err}
	}()
	closeCursor(t, c)
	if r := <-got; !errors.Is(r.err, engine.ErrClosed) {
		t.Fatalf("Next of a closed cursor: %v, want ErrClosed", r.err)
	}
	if _, err := c.Next(deadline(t), 1, 1); !errors.Is(err, engine.ErrClosed) {
		t.Fatalf("Next after Close: %v, want ErrClosed", err)
	}
}

// testStartKinds opens a cursor of each kind when the stream has five records, and then appends the sixth.
func testStartKinds(t *testing.T, f Fixture) {
	s := open(t, f)
	appendAll(t, s, numbered("a", 1, 3)...)
	time.Sleep(20 * time.Millisecond) // so that the times of records 3 and 4 differ
	appendAll(t, s, numbered("a", 4, 2)...)
	fourth, err := s.Get(deadline(t), 4)
	if err != nil {
		t.Fatal(err)
	}
	rows := []struct {
		name  string
		start engine.Start
		want  []uint64
	}{
		{"zero", engine.Start{}, []uint64{6}},
		{"new", engine.Start{At: engine.AtNew}, []uint64{6}},
		{"first", engine.Start{At: engine.AtFirst}, []uint64{1, 2, 3, 4, 5, 6}},
		{"sequence 0", engine.Start{At: engine.AtSequence}, []uint64{1, 2, 3, 4, 5, 6}},
		{"sequence 3", engine.Start{At: engine.AtSequence, Sequence: 3}, []uint64{3, 4, 5, 6}},
		{"sequence of the next record", engine.Start{At: engine.AtSequence, Sequence: 6}, []uint64{6}},
		{"sequence far ahead", engine.Start{At: engine.AtSequence, Sequence: 100}, nil},
		{"time of a record", engine.Start{At: engine.AtTime, Time: fourth.Stored}, []uint64{4, 5, 6}},
		{"time between records", engine.Start{At: engine.AtTime, Time: fourth.Stored - int64(time.Millisecond)}, []uint64{4, 5, 6}},
		{"time before all", engine.Start{At: engine.AtTime, Time: 1}, []uint64{1, 2, 3, 4, 5, 6}},
	}
	cursors := map[string]engine.Cursor{} // opened before record 6 is stored
	for i, row := range rows {
		cursors[row.name] = openCursor(t, s, engine.CursorConfig{Start: row.start})
		cursors[row.name+", named"] = openCursor(t, s, engine.CursorConfig{Name: fmt.Sprint("named-", i), Start: row.start})
	}
	appendAll(t, s, numbered("a", 6, 1)...)
	for _, row := range rows {
		for _, name := range []string{row.name, row.name + ", named"} {
			if got := sequences(t, cursors[name], len(row.want)); !slices.Equal(got, row.want) {
				t.Errorf("%s: records %d, want %d", name, got, row.want)
			}
			if len(row.want) == 0 {
				expectNone(t, cursors[name])
			}
			closeCursor(t, cursors[name])
		}
	}
}

// filterTags are tags that the filters of testFilters tell apart.
var filterTags = []string{"a", "a/b", "a/b/c", "a/c", "a/b/c/d", "a/", "a//c", "a/B", "a/b.c", "a/bc"}

func testFilters(t *testing.T, f Fixture) {
	s := open(t, f)
	for _, tag := range filterTags {
		appendAll(t, s, engine.Record{Tag: tag})
	}
	for i, filter := range []string{"", "#", "a/#", "a", "a/b", "a/+", "a/+/c", "a/b/#", "+", "+/b", "+/+", "+/+/+", "+/b/#", "a//c", "a/b.c", "b/#", "a/+/c/#"} {
		for _, name := range []string{"", fmt.Sprint("filter-", i)} {
			var want []uint64
			for j, tag := range filterTags {
				if filter == "" || topic.Match(filter, tag) {
					want = append(want, uint64(j+1))
				}
			}
			c := openCursor(t, s, engine.CursorConfig{Name: name, Filter: filter, Start: engine.Start{At: engine.AtFirst}})
			if got := sequences(t, c, len(want)); !slices.Equal(got, want) {
				t.Errorf("filter %q reads records %d, want %d", filter, got, want)
			}
			if name != "" {
				if lag := cursorInfo(t, s, name).Lag; lag != uint64(len(want)) {
					t.Errorf("filter %q: lag %d, want %d", filter, lag, len(want))
				}
			}
			if len(want) < 3 {
				expectNone(t, c)
			}
			closeCursor(t, c)
		}
	}
}

// testUnusualTags appends tags that have a meaning elsewhere. An engine stores such a tag as it is, or refuses it.
func testUnusualTags(t *testing.T, f Fixture) {
	s := openStream(t, f.Engine, config(f.Engine, "records", "#"))
	for _, tag := range []string{
		"a b", " ", "a.b", ".", "..", "a..b", "a/.b", "*", "a/*", ">", "a/>", "$SYS/x", "$JS/API/INFO", "/", "//", "/a", "a/", "a//b", "a///b", "a/./b",
		"\u00e4/\u6f22\u5b57", "%20", "\\", "_INBOX/x", "a/b//", "x*y/z>w",
	} {
		last := infoOf(t, s).Last
		err := tryAppend(t, s, engine.Record{Tag: tag})
		var refused *engine.AppendError
		switch {
		case errors.As(err, &refused):
			t.Logf("tag %q is refused: %v", tag, err)
			continue
		case err != nil:
			t.Errorf("tag %q: %v", tag, err)
			continue
		}
		r, err := s.Get(deadline(t), last+1)
		if err != nil || r.Tag != tag {
			t.Errorf("tag %q comes back as %q, %v", tag, r.Tag, err)
			continue
		}
		for _, filter := range []string{tag, "#", "+", "+/+", "+/+/+", "+/#"} {
			if topic.CheckFilter(filter) != nil || !topic.Match(filter, tag) {
				continue
			}
			c := openCursor(t, s, engine.CursorConfig{Filter: filter, Start: engine.Start{At: engine.AtSequence, Sequence: last + 1}})
			if got := read(t, c, 1)[0]; got.Tag != tag {
				t.Errorf("filter %q reads tag %q, want %q", filter, got.Tag, tag)
			}
			closeCursor(t, c)
		}
	}
}

// testManyTags replays records that have a tag each. A cursor must have no state for a tag.
func testManyTags(t *testing.T, f Fixture) {
	c := config(f.Engine, "records", "a/#")
	c.MaxBytes = 1 << 30
	s := openStream(t, f.Engine, c)
	const step = 1000
	slots := make(chan struct{}, 16)
	for first := 0; first < manyTags; first += step {
		records := make([]engine.Record, step)
		for i := range records {
			records[i].Tag = fmt.Sprintf("a/order-%d", first+i)
		}
		slots <- struct{}{}
		s.Append(records, func(err error) {
			if err != nil {
				t.Errorf("Append: %v", err)
			}
			<-slots
		})
	}
	for range cap(slots) {
		slots <- struct{}{}
	}
	cursor := openCursor(t, s, fromFirst)
	before := heap()
	start := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for read := 0; read < manyTags; {
		records, err := cursor.Next(ctx, 1000, 1<<20)
		if err != nil {
			t.Fatalf("Next after %d records: %v", read, err)
		}
		if want := fmt.Sprintf("a/order-%d", read); records[0].Tag != want || records[0].Sequence != uint64(read+1) {
			t.Fatalf("record %d has tag %s and sequence number %d, want %s", read+1, records[0].Tag, records[0].Sequence, want)
		}
		read += len(records)
	}
	t.Logf("%d records with a tag each are read in %v", manyTags, time.Since(start))
	if grown, limit := heap()-before, int64(8<<20+manyTags*16); grown > limit {
		t.Errorf("the heap has grown by %d bytes while a cursor read %d tags, want at most %d", grown, manyTags, limit)
	}
	closeCursor(t, cursor)
}

// heap returns the bytes of live objects.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
