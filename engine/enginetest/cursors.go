package enginetest

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"example.com/ferry/engine"
)

var durable = engine.CursorConfig{Name: "durable", Start: engine.Start{At: engine.AtFirst}, Holder: "first"}

func testPositions(t *testing.T, f Fixture) {
	s := open(t, f)
	appendAll(t, s, numbered("a", 1, 12)...)
	c := openCursor(t, s, durable)
	sequences(t, c, 10)
	p := engine.Position{
		Floor: 3, Done: []engine.Range{{First: 5, Count: 1}, {First: 8, Count: 3}},
		Deliveries: []engine.Deliveries{{Sequence: 4, Count: 1}, {Sequence: 11, Count: 1 << 31}},
	}
	want := p.Clone()
	c.Commit(p)
	p.Done[0] = engine.Range{First: 100, Count: 100} // Commit has copied it
	p.Deliveries[0].Count = 100
	if began := c.Position(); began.Floor != 0 || len(began.Done) != 0 || len(began.Deliveries) != 0 {
		t.Errorf("Position of a new cursor = %+v, want the zero one", began)
	}
	await(t, "the position is stored", func() bool { return reflect.DeepEqual(cursorInfo(t, s, "durable").Position, want) })
	info := cursorInfo(t, s, "durable")
	if info.Lag != 5 || info.Holder == "" || info.Filter != "" {
		t.Errorf("Cursors = %+v, want lag 5, a holder and no filter", info)
	}
	closeCursor(t, c)
	if info := cursorInfo(t, s, "durable"); info.Holder != "" {
		t.Errorf("the holder of a closed cursor is %q", info.Holder)
	}

	c = openCursor(t, s, engine.CursorConfig{Name: "durable", Start: engine.Start{At: engine.AtNew}, Holder: "second"})
	expect(t, c, 4, 6, 7, 11, 12)
	appendAll(t, s, numbered("a", 13, 1)...)
	expect(t, c, 13)
	closeCursor(t, c)

	c = openCursor(t, s, durable) // the second opener has committed nothing
	if began := c.Position(); !reflect.DeepEqual(began, want) {
		t.Errorf("Position = %+v, want %+v", began, want)
	}
	expect(t, c, 4, 6, 7, 11, 12, 13)
	c.Commit(engine.Position{Floor: 13})
	closeCursor(t, c)
	if info := cursorInfo(t, s, "durable"); info.Lag != 0 || info.Position.Floor != 13 || len(info.Position.Done) != 0 {
		t.Errorf("Cursors = %+v, want lag 0 at 13", info)
	}
	c = openCursor(t, s, durable)
	expectNone(t, c)
	closeCursor(t, c)
}

func testLastCommit(t *testing.T, f Fixture) {
	s := open(t, f)
	appendAll(t, s, numbered("a", 1, 300)...)
	c := openCursor(t, s, durable)
	for floor := range uint64(300) {
		c.Commit(engine.Position{Floor: floor})
	}
	closeCursor(t, c)
	if got := cursorInfo(t, s, "durable").Position.Floor; got != 299 {
		t.Errorf("the position is %d, want 299", got)
	}
	c.Commit(engine.Position{Floor: 7}) // too late
	c = openCursor(t, s, durable)
	expect(t, c, 300)
	closeCursor(t, c)
}

// testLongPosition commits a Position with as many ranges as there may be.
func testLongPosition(t *testing.T, f Fixture) {
	s := open(t, f)
	const records = engine.MaxDone + engine.MaxDeliveries // as many as can be delivered and not done
	appendAll(t, s, numbered("a", 1, records)...)
	var p engine.Position
	var want []uint64
	for i := range engine.MaxDone {
		p.Done = append(p.Done, engine.Range{First: uint64(2*i + 2), Count: 1})
		p.Deliveries = append(p.Deliveries, engine.Deliveries{Sequence: uint64(2*i + 1), Count: 7})
		want = append(want, uint64(2*i+1))
	}
	for sequence := uint64(2*engine.MaxDone + 1); sequence <= records; sequence++ {
		p.Deliveries = append(p.Deliveries, engine.Deliveries{Sequence: sequence, Count: 1})
		want = append(want, sequence)
	}
	c := openCursor(t, s, durable)
	c.Commit(p)
	closeCursor(t, c)
	if info := cursorInfo(t, s, "durable"); info.Lag != uint64(len(want)) {
		t.Errorf("lag is %d, want %d", info.Lag, len(want))
	}
	c = openCursor(t, s, durable)
	if began := c.Position(); !reflect.DeepEqual(began, p) {
		t.Errorf("the position has %d ranges and %d deliveries, want %d and %d", len(began.Done), len(began.Deliveries), len(p.Done), len(p.Deliveries))
	}
	expect(t, c, want...)
	closeCursor(t, c)
}

// testKeptConfig: a named cursor keeps its filter, its predicate and its owner. Other ones are refused, also while it is held.
func testKeptConfig(t *testing.T, f Fixture) {
	s := open(t, f)
	appendAll(t, s, engine.Record{Tag: "a/1"}, engine.Record{Tag: "a/2"}, engine.Record{Tag: "a/1"})
	made := engine.CursorConfig{Name: "durable", Filter: "a/1", Where: "n > 2", Owner: "first", Start: engine.Start{At: engine.AtFirst}}
	others := []engine.CursorConfig{{Name: "durable"}, {Name: "durable", Filter: "a/1"}, {Name: "durable", Filter: "a/2", Where: "n > 2"}, {Name: "durable", Filter: "a/1", Where: "n > 3"}}
	refused := func() {
		t.Helper()
		for _, other := range others {
			var conflict *engine.ConflictError
			if _, err := s.Cursor(deadline(t), other); !errors.As(err, &conflict) || conflict.Filter != "a/1" || conflict.Where != "n > 2" {
				t.Errorf("Cursor with filter %q and predicate %q: %v, want a ConflictError with those of the cursor", other.Filter, other.Where, err)
			}
			if err := s.CreateCursor(deadline(t), other); !errors.As(err, &conflict) {
				t.Errorf("CreateCursor with filter %q and predicate %q: %v, want a ConflictError", other.Filter, other.Where, err)
			}
		}
	}
	c := openCursor(t, s, made)
	refused()
	closeCursor(t, c)
	refused()
	made.Owner = "second"
	c = openCursor(t, s, made)
	expect(t, c, 1, 3)
	closeCursor(t, c)
	if i := cursorInfo(t, s, "durable"); i.Filter != "a/1" || i.Where != "n > 2" || i.Owner != "first" {
		t.Errorf("Cursors = %+v, want filter a/1, predicate n > 2, owner first", i)
	}
}

func testSecondOpener(t *testing.T, f Fixture) {
	s := open(t, f)
	testHandover(t, s, s)
}

func testSecondProcess(t *testing.T, f Fixture) {
	if f.Second == nil {
		t.Logf("engine %s serves one process", f.Engine.Capabilities().Name)
		return
	}
	s := open(t, f)
	e := f.Second(t)
	testHandover(t, s, openStream(t, e, config(e, "records", "a/#")))
	if err := e.Close(deadline(t)); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// testHandover opens one cursor in two views of a stream.
func testHandover(t *testing.T, first, second engine.Stream) {
	appendAll(t, first, numbered("a", 1, 10)...)
	held := openCursor(t, first, durable)
	sequences(t, held, 5)

	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := second.Cursor(ctx, durable); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Cursor of a held cursor: %v, want to wait", err)
	}
	type result struct {
		cursor engine.Cursor
		err    error
	}
	opened := make(chan result, 1)
	go func() {
		c, err := second.Cursor(deadline(t), durable)
		opened <- result{c, err}
	}()
	sequences(t, held, 2) // the holder goes on while another one waits
	select {
	case r := <-opened:
		t.Fatalf("Cursor returned %v while the cursor was held", r.err)
	case <-time.After(100 * time.Millisecond):
	}
	held.Commit(engine.Position{Floor: 6, Done: []engine.Range{{First: 8, Count: 1}}})
	closeCursor(t, held)
	r := <-opened
	if r.err != nil {
		t.Fatalf("Cursor after the holder has closed it: %v", r.err)
	}
	expect(t, r.cursor, 7, 9, 10)
	closeCursor(t, r.cursor)
}

func testDeletedCursor(t *testing.T, f Fixture) {
	s := open(t, f)
	appendAll(t, s, numbered("a", 1, 3)...)
	if err := s.DeleteCursor(deadline(t), "durable"); !errors.Is(err, engine.ErrNoCursor) {
		t.Errorf("DeleteCursor without a cursor: %v, want ErrNoCursor", err)
	}
	c := openCursor(t, s, durable)
	sequences(t, c, 3)
	c.Commit(engine.Position{Floor: 3})
	if err := s.DeleteCursor(deadline(t), "durable"); err != nil {
		t.Fatalf("DeleteCursor: %v", err)
	}
	if _, err := c.Next(deadline(t), 1, 1); !errors.Is(err, engine.ErrLost) {
		t.Errorf("Next of a deleted cursor: %v, want ErrLost", err)
	}
	c.Commit(engine.Position{Floor: 2})
	_ = c.Close(deadline(t)) // may say that the cursor is lost
	if all, err := s.Cursors(deadline(t)); err != nil || len(all) != 0 {
		t.Errorf("Cursors after DeleteCursor = %+v, %v, want none", all, err)
	}
	c = openCursor(t, s, durable)
	expect(t, c, 1, 2, 3)
	closeCursor(t, c)
}

// testCreatedCursor: the first opener of a cursor that CreateCursor has made begins where that was, not where it asks to begin.
func testCreatedCursor(t *testing.T, f Fixture) {
	s := open(t, f)
	appendAll(t, s, numbered("a", 1, 3)...)
	created := engine.CursorConfig{Name: "durable", Filter: "a/#", Start: engine.Start{At: engine.AtNew}}
	for range 2 { // the second time it exists
		if err := s.CreateCursor(deadline(t), created); err != nil {
			t.Fatalf("CreateCursor: %v", err)
		}
		appendAll(t, s, numbered("a", 4, 2)...)
	}
	if info := cursorInfo(t, s, "durable"); info.Position.Floor != 3 || info.Holder != "" || info.Filter != "a/#" {
		t.Errorf("Cursors = %+v, want one at 3 without a holder", info)
	}
	c := openCursor(t, s, created)
	expect(t, c, 4, 5, 6, 7)
	c.Commit(engine.Position{Floor: 5})
	if err := s.CreateCursor(deadline(t), created); err != nil { // while it is held
		t.Fatalf("CreateCursor: %v", err)
	}
	closeCursor(t, c)
	c = openCursor(t, s, created)
	expect(t, c, 6, 7)
	closeCursor(t, c)

	ahead := engine.CursorConfig{Name: "ahead", Start: engine.Start{At: engine.AtSequence, Sequence: 10}}
	if err := s.CreateCursor(deadline(t), ahead); err != nil {
		t.Fatalf("CreateCursor: %v", err)
	}
	c = openCursor(t, s, ahead)
	appendAll(t, s, numbered("a", 8, 3)...)
	expect(t, c, 10)
	closeCursor(t, c)
	if err := s.CreateCursor(deadline(t), engine.CursorConfig{}); err == nil {
		t.Error("CreateCursor without a name succeeds")
	}
}
