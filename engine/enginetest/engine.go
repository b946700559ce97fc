package enginetest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.com/ferry/engine"
)

// testUnsupported checks that the engine refuses what it lacks by its Capabilities.
func testUnsupported(t *testing.T, f Fixture) {
	can := f.Engine.Capabilities()
	refuse := func(field string, c engine.Config) {
		t.Helper()
		_, err := f.Engine.Open(deadline(t), c)
		var unsupported *engine.UnsupportedError
		if !errors.As(err, &unsupported) {
			t.Errorf("Open(%+v): %v, want an UnsupportedError", c, err)
			return
		}
		if unsupported.Engine != can.Name || unsupported.Stream != c.Name || unsupported.Field != field || unsupported.Why == "" {
			t.Errorf("Open(%+v): %+v, want engine %q and field %q", c, unsupported, can.Name, field)
		}
		t.Log(err)
	}
	c := config(f.Engine, "records", "a/#")
	if can.MaxReplicas > 0 {
		c.Replicas = can.MaxReplicas + 1
		refuse("replicas", c)
	}
	if !can.Durable {
		refuse("storage", engine.Config{Name: "records", Tags: []string{"a/#"}})
		if f.Restart != nil {
			t.Error("the Fixture has Restart, but the engine is not durable")
		}
	} else if f.Restart == nil {
		t.Error("the engine is durable, but the Fixture has no Restart")
	}
	if all, err := f.Engine.List(deadline(t)); err != nil || len(all) != 0 {
		t.Errorf("List = %+v, %v after refused Opens", all, err)
	}
}

func testInvalid(t *testing.T, f Fixture) {
	open(t, f)
	for _, row := range []struct {
		name, want string
		change     func(*engine.Config)
	}{
		{"empty name", "name", func(c *engine.Config) { c.Name = "" }},
		{"name with a dot", `"x.y"`, func(c *engine.Config) { c.Name = "x.y" }},
		{"long name", "name", func(c *engine.Config) { c.Name = strings.Repeat("x", 65) }},
		{"no tags", "tags", func(c *engine.Config) { c.Tags = nil }},
		{"invalid filter", `"c/#/d"`, func(c *engine.Config) { c.Tags = []string{"c/#/d"} }},
		{"filters that overlap", `"c/+"`, func(c *engine.Config) { c.Tags = []string{"c/+", "+/d"} }},
		{"a tag of another stream", `"records"`, func(c *engine.Config) { c.Tags = []string{"c", "+/d"} }},
		{"negative age", "retention.age", func(c *engine.Config) { c.MaxAge = -1 }},
		{"negative size", "retention.size", func(c *engine.Config) { c.MaxBytes = -1 }},
		{"negative replicas", "replicas", func(c *engine.Config) { c.Replicas = -1 }},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := config(f.Engine, "other", "c/#")
			row.change(&c)
			if _, err := f.Engine.Open(deadline(t), c); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("Open(%+v): %v, want an error with %s", c, err, row.want)
			}
		})
	}
	for _, c := range []engine.CursorConfig{{Name: "x/y"}, {Filter: "a/#/b"}, {Name: "x", Filter: "a+"}} {
		if _, err := open(t, f).Cursor(deadline(t), c); err == nil {
			t.Errorf("Cursor(%+v) succeeds", c)
		}
	}
	openStream(t, f.Engine, config(f.Engine, "other", "c/#"))
}

func testSharedOpen(t *testing.T, f Fixture) {
	first, second := open(t, f), open(t, f)
	appendAll(t, first, numbered("a", 1, 1)...)
	appendAll(t, second, numbered("a", 2, 1)...)
	expectStored(t, first, 1, 2)
	expectStored(t, second, 1, 2)
}

func testListAndDelete(t *testing.T, f Fixture) {
	var streams []engine.Stream
	for i, name := range []string{"b-2", "a_1", "c3"} {
		c := config(f.Engine, name, name+"/#")
		c.MaxRecords = int64(i + 10)
		streams = append(streams, openStream(t, f.Engine, c))
		appendAll(t, streams[i], numbered(name, 1, i+1)...)
	}
	list := func() (text string) {
		t.Helper()
		all, err := f.Engine.List(deadline(t))
		if err != nil {
			t.Fatalf("List: %v", err)
		}
		for _, info := range all {
			text += fmt.Sprintf("%s %v %d %d; ", info.Config.Name, info.Config.Tags, info.Config.MaxRecords, info.Records)
		}
		return text
	}
	if got, want := list(), "a_1 [a_1/#] 11 2; b-2 [b-2/#] 10 1; c3 [c3/#] 12 3; "; got != want {
		t.Errorf("List = %s, want %s", got, want)
	}
	c := openCursor(t, streams[1], fromFirst)
	sequences(t, c, 2)
	waiting := make(chan error, 1)
	go func() {
		_, err := c.Next(deadline(t), 1, 1)
		waiting <- err
	}()
	if err := f.Engine.Delete(deadline(t), "a_1"); err != nil {
		t.Fatalf("Delete: %v", err)
	}
	if err := <-waiting; !errors.Is(err, engine.ErrNoStream) {
		t.Errorf("Next of a deleted stream: %v, want ErrNoStream", err)
	}
	if err := f.Engine.Delete(deadline(t), "a_1"); !errors.Is(err, engine.ErrNoStream) {
		t.Errorf("Delete once more: %v, want ErrNoStream", err)
	}
	if _, err := streams[1].Info(deadline(t)); !errors.Is(err, engine.ErrNoStream) {
		t.Errorf("Info of a deleted stream: %v, want ErrNoStream", err)
	}
	if err := tryAppend(t, streams[1], numbered("a_1", 1, 1)...); !errors.Is(err, engine.ErrNoStream) {
		t.Errorf("Append to a deleted stream: %v, want ErrNoStream", err)
	}
	if got, want := list(), "b-2 [b-2/#] 10 1; c3 [c3/#] 12 3; "; got != want {
		t.Errorf("List = %s, want %s", got, want)
	}
	again := openStream(t, f.Engine, config(f.Engine, "a_1", "a_1/#"))
	if info := infoOf(t, again); info.Records != 0 || info.Last != 0 {
		t.Errorf("a stream with a deleted one's name has %+v", info)
	}
}

func testClose(t *testing.T, f Fixture) {
	s := open(t, f)
	c := openCursor(t, s, engine.CursorConfig{})
	waiting := make(chan error, 1)
	go func() {
		for {
			if _, err := c.Next(deadline(t), 100, 1<<20); err != nil {
				waiting <- err
				return
			}
		}
	}()
	const calls = 200
	done := make(chan error, calls)
	for i := range calls {
		s.Append(numbered("a", i, 1), func(err error) { done <- err })
	}
	if err := f.Engine.Close(deadline(t)); err != nil {
		t.Fatalf("Close: %v", err)
	}
	if len(done) != calls {
		t.Fatalf("Close returned after %d of %d calls of done", len(done), calls)
	}
	for range calls {
		if err := <-done; err != nil {
			t.Fatalf("a record that was appended before Close: %v", err)
		}
	}
	if err := <-waiting; !errors.Is(err, engine.ErrClosed) {
		t.Errorf("Next after Close: %v, want ErrClosed", err)
	}
	if err := tryAppend(t, s, numbered("a", 1, 1)...); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("Append after Close: %v, want ErrClosed", err)
	}
	if _, err := s.Cursor(deadline(t), fromFirst); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("Cursor after Close: %v, want ErrClosed", err)
	}
	if _, err := f.Engine.Open(deadline(t), config(f.Engine, "records", "a/#")); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("Open after Close: %v, want ErrClosed", err)
	}
}

func testRestart(t *testing.T, f Fixture) {
	if f.Restart == nil {
		t.Logf("engine %s is not durable", f.Engine.Capabilities().Name)
		return
	}
	s := open(t, f)
	appendAll(t, s, numbered("a", 1, 10)...)
	appendAll(t, s, engine.Record{Tag: "a/id", ID: "x", Type: 4, Time: 7, Extension: []byte{1}})
	c := openCursor(t, s, durable)
	p := engine.Position{Floor: 3, Done: []engine.Range{{First: 6, Count: 2}}, Deliveries: []engine.Deliveries{{Sequence: 5, Count: 2}}}
	c.Commit(p)
	closeCursor(t, c)

	e := f.Restart(t)
	all, err := e.List(deadline(t))
	if err != nil || len(all) != 1 || all[0].Config.Name != "records" || all[0].Records != 11 || !slices.Equal(all[0].Config.Tags, []string{"a/#"}) {
		t.Errorf("List after a restart = %+v, %v, want stream records with 11 records", all, err)
	}
	s = openStream(t, e, config(e, "records", "a/#"))
	if got := cursorInfo(t, s, "durable"); !reflect.DeepEqual(got.Position, p) || got.Holder != "" {
		t.Errorf("the cursor after a restart is %+v, want %+v and no holder", got, p)
	}
	c = openCursor(t, s, durable)
	expect(t, c, 4, 5, 8, 9, 10, 11)
	closeCursor(t, c)
	appendAll(t, s, engine.Record{Tag: "a/id", ID: "x"}, engine.Record{Tag: "a", ID: "y"})
	r, err := s.Get(deadline(t), 11)
	if err != nil || r.Type != 4 || r.Time != 7 || string(r.Extension) != "\x01" || r.ID != "x" {
		t.Errorf("Get(11) after a restart = %+v, %v", r, err)
	}
	if info := infoOf(t, s); info.Last != 12 {
		t.Errorf("the last record after a restart is %d, want 12: an ID is remembered", info.Last)
	}
	if err := e.Close(deadline(t)); err != nil {
		t.Errorf("Close: %v", err)
	}
}
