package enginetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"testing"
	"time"

	"example.com/ferry"
	"example.com/ferry/engine"
	"example.com/ferry/engine/archive"
)

// testArchive saves a stream and makes it again. An archive that is damaged anywhere makes nothing.
func testArchive(t *testing.T, f Fixture) {
	FillForCopy(t, f.Engine)
	saved := save(t, f.Engine)
	if err := archive.Save(deadline(t), f.Engine, "other", func([]byte) error { return nil }); !errors.Is(err, engine.ErrNoStream) {
		t.Errorf("Save of no stream: %v, want ErrNoStream", err)
	}
	failure := errors.New("the disk is full")
	if err := archive.Save(context.Background(), f.Engine, "records", func([]byte) error { return failure }); !errors.Is(err, failure) {
		t.Errorf("Save into a failing writer: %v", err)
	}
	to, ok := f.Engine.(archive.Restorer)
	if !ok {
		if f.Engine.Capabilities().Durable {
			t.Error("a durable engine must be a Restorer")
		}
		return
	}
	if err := restore(t, to, saved); !errors.Is(err, engine.ErrExists) {
		t.Errorf("Restore of a stream that exists: %v, want ErrExists", err)
	}
	want := stateOf(t, f.Engine)
	if err := f.Engine.Delete(deadline(t), "records"); err != nil {
		t.Fatal(err)
	}
	middle := len(saved) / 2
	for what, damaged := range map[string][][]byte{
		"a part is missing":   slices.Delete(slices.Clone(saved), middle, middle+1),
		"the end is missing":  saved[:len(saved)-1],
		"a cursor is missing": slices.Delete(slices.Clone(saved), 1, 2),
		"a bit is wrong":      flipped(saved, middle),
		"parts change places": swapped(saved, middle),
	} {
		if err := restore(t, to, damaged); err == nil || errors.Is(err, engine.ErrExists) {
			t.Errorf("%s: Restore: %v, want an error", what, err)
		}
		if _, err := f.Engine.Stream(deadline(t), "records"); !errors.Is(err, engine.ErrNoStream) {
			t.Fatalf("%s: the stream is there: %v", what, err)
		}
	}
	if err := restore(t, to, saved); err != nil {
		t.Fatalf("Restore: %v", err)
	}
	checkCopy(t, f.Engine, want)
	if f.Restart != nil {
		want = stateOf(t, f.Engine)
		f.Engine = f.Restart(t)
		compareStates(t, stateOf(t, f.Engine), want)
	}
	testArchiveOfNothing(t, f.Engine, f.Engine.(archive.Restorer))
}

// testArchiveOfNothing makes a stream again whose records are all removed. The next one gets the number behind them.
func testArchiveOfNothing(t *testing.T, e engine.Engine, to archive.Restorer) {
	s := openStream(t, e, copyConfig(e))
	last := infoOf(t, s).Last
	if _, err := s.Purge(deadline(t), "", 0); err != nil {
		t.Fatalf("Purge: %v", err)
	}
	saved := save(t, e)
	if err := e.Delete(deadline(t), "records"); err != nil {
		t.Fatal(err)
	}
	if err := restore(t, to, saved); err != nil {
		t.Fatalf("Restore of a stream without records: %v", err)
	}
	s = openStream(t, e, copyConfig(e))
	appendAll(t, s, engine.Record{Tag: "b"})
	if info := infoOf(t, s); info.Records != 1 || info.Last != last+1 {
		t.Errorf("the copy has %d records up to %d, want 1, %d", info.Records, info.Last, last+1)
	}
}

// copyConfig is the Config of the stream that FillForCopy fills.
func copyConfig(e engine.Engine) engine.Config {
	c := config(e, "records", "a/#", "b")
	c.MaxPerTag = 30
	c.MaxBytes = 1 << 20
	return c
}

// FillForCopy fills a stream with holes, by retention and by removal also at both ends, and three named cursors.
func FillForCopy(t *testing.T, e engine.Engine) {
	t.Helper()
	s := openStream(t, e, copyConfig(e))
	appendAll(t, s, numbered("a/first", 1, 40)...)
	for i := range 100 {
		appendAll(t, s, engine.Record{
			Tag: "a/" + string(rune('a'+i%5)), Type: ferry.JSON, Validated: i%2 == 0, Time: int64(i) + 1, ID: fmt.Sprintf("id %d", i),
			Extension: bytes.Repeat([]byte{byte(i)}, i%3), Payload: bytes.Repeat([]byte{'x'}, i*30),
		})
	}
	appendAll(t, s, numbered("b", 1, 4)...)
	for _, n := range []uint64{11, 12, 50, 77, 144} { // the first ones that are left, two amid others, and the last one
		if err := s.Remove(deadline(t), n); err != nil {
			t.Fatalf("Remove(%d): %v", n, err)
		}
	}
	for _, c := range []struct {
		config   engine.CursorConfig
		position engine.Position
	}{
		{engine.CursorConfig{Name: "all", Start: engine.Start{At: engine.AtFirst}}, engine.Position{Floor: 20}},
		{
			engine.CursorConfig{Name: "some", Filter: "a/+", Where: "x > 1", Owner: "me", Start: engine.Start{At: engine.AtFirst}},
			engine.Position{
				Floor: 49, Done: []engine.Range{{First: 52, Count: 2}, {First: 70, Count: 10}}, Deliveries: []engine.Deliveries{{Sequence: 51, Count: 2}, {Sequence: 90, Count: 3}},
			},
		},
		{engine.CursorConfig{Name: "new"}, engine.Position{Floor: 144}},
	} {
		cursor := openCursor(t, s, c.config)
		cursor.Commit(c.position)
		closeCursor(t, cursor)
	}
}

// streamState is what a copy keeps.
type streamState struct {
	first, last uint64
	records     []engine.Record
	cursors     []engine.CursorInfo
}

func stateOf(t *testing.T, e engine.Engine) streamState {
	t.Helper()
	s, err := e.Stream(deadline(t), "records")
	if err != nil {
		t.Fatalf("Stream: %v", err)
	}
	info := infoOf(t, s)
	c := openCursor(t, s, fromFirst)
	defer closeCursor(t, c)
	state := streamState{first: info.First, last: info.Last, records: read(t, c, int(info.Records))}
	for i := range state.records {
		r := &state.records[i]
		r.Extension, r.Payload = append([]byte{}, r.Extension...), append([]byte{}, r.Payload...)
	}
	if state.cursors, err = s.Cursors(deadline(t)); err != nil {
		t.Fatalf("Cursors: %v", err)
	}
	for i := range state.cursors {
		state.cursors[i].Lag = 0 // engines count it more or less exactly
	}
	return state
}

// Copy copies the stream that FillForCopy has filled, and compares the copy.
func Copy(t *testing.T, from engine.Engine, to interface {
	engine.Engine
	archive.Restorer
},
) {
	t.Helper()
	want := stateOf(t, from)
	if err := restore(t, to, save(t, from)); err != nil {
		t.Fatalf("Restore: %v", err)
	}
	checkCopy(t, to, want)
}

// checkCopy compares a copy, and appends to it: IDs that are remembered, and new records.
func checkCopy(t *testing.T, e engine.Engine, want streamState) {
	t.Helper()
	compareStates(t, stateOf(t, e), want)
	s := openStream(t, e, copyConfig(e))
	known := want.records[len(want.records)-1]
	for i := len(want.records) - 2; known.ID == ""; i-- {
		known = want.records[i]
	}
	appendAll(t, s, engine.Record{Tag: known.Tag, ID: known.ID})
	if info := infoOf(t, s); info.Last != want.last {
		t.Errorf("a record whose ID the stream has is stored as %d", info.Last)
	}
	next := fmt.Sprint("behind ", want.last)
	appendAll(t, s, engine.Record{Tag: "b", ID: next})
	if r, err := s.Get(deadline(t), want.last+1); err != nil || r.ID != next {
		t.Errorf("behind the copy is %+v, %v", r, err)
	}
	stored := want.records[50]
	c := openCursor(t, s, engine.CursorConfig{Start: engine.Start{At: engine.AtTime, Time: stored.Stored}})
	if got := read(t, c, 1)[0]; got.Stored < stored.Stored || got.Sequence > stored.Sequence {
		t.Errorf("the first record from the time of record %d on is %d", stored.Sequence, got.Sequence)
	}
	closeCursor(t, c)
}

func compareStates(t *testing.T, got, want streamState) {
	t.Helper()
	if got.first != want.first || got.last != want.last || len(got.records) != len(want.records) {
		t.Errorf("the copy has %d records from %d to %d, want %d from %d to %d", len(got.records), got.first, got.last, len(want.records), want.first, want.last)
	}
	for i := range min(len(got.records), len(want.records)) {
		if !reflect.DeepEqual(got.records[i], want.records[i]) {
			t.Fatalf("the copy has %+v, want %+v", got.records[i], want.records[i])
		}
	}
	if !reflect.DeepEqual(got.cursors, want.cursors) {
		t.Errorf("the copy has cursors\n%+v\nwant\n%+v", got.cursors, want.cursors)
	}
}

func save(t *testing.T, e engine.Engine) (parts [][]byte) {
	t.Helper()
	start := time.Now()
	err := archive.Save(deadline(t), e, "records", func(part []byte) error {
		parts = append(parts, bytes.Clone(part))
		return nil
	})
	if err != nil {
		t.Fatalf("Save: %v", err)
	}
	t.Logf("saved in %v", time.Since(start))
	return parts
}

func restore(t *testing.T, e archive.Restorer, parts [][]byte) error {
	t.Helper()
	a, err := archive.Open(func() ([]byte, error) {
		if len(parts) == 0 {
			return nil, io.EOF
		}
		part := parts[0]
		parts = parts[1:]
		return part, nil
	})
	if err != nil {
		return err
	}
	_, err = e.Restore(deadline(t), a)
	return err
}

func flipped(parts [][]byte, i int) [][]byte {
	parts = slices.Clone(parts)
	parts[i] = bytes.Clone(parts[i])
	parts[i][len(parts[i])/2] ^= 4
	return parts
}

func swapped(parts [][]byte, i int) [][]byte {
	parts = slices.Clone(parts)
	parts[i], parts[i-1] = parts[i-1], parts[i]
	return parts
}
