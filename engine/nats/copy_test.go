package nats

import (
	"errors"
	"log/slog"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	natsgo "github.com/nats-io/nats.go"

	"example.com/ferry/engine"
	"example.com/ferry/engine/archive"
	"example.com/ferry/engine/enginetest"
	"example.com/ferry/engine/file"
	"example.com/ferry/engine/memory"
)

func openFiles(t *testing.T) *file.Engine {
	t.Helper()
	e, err := file.Open(file.Config{Dir: t.TempDir(), Sync: engine.SyncInterval, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(t.Context()); err != nil && !errors.Is(err, t.Context().Err()) {
			t.Errorf("Close: %v", err)
		}
	})
	return e
}

// TestCopyBetweenEngines: records, holes and durables come from files to servers and back.
func TestCopyBetweenEngines(t *testing.T) {
	first, servers, second := openFiles(t), connectTo(t, startAlone(t)), openFiles(t)
	enginetest.FillForCopy(t, first)
	enginetest.Copy(t, first, servers)
	enginetest.Copy(t, servers, second)
}

func TestCopyFromMemory(t *testing.T) {
	e := memory.New()
	enginetest.FillForCopy(t, e)
	enginetest.Copy(t, e, openFiles(t))
	enginetest.Copy(t, e, connectTo(t, startAlone(t)))
}

// TestCopyBegunBefore: a copy that was not completed is no stream. The next copy replaces it, and the first one does not remove that.
func TestCopyBegunBefore(t *testing.T) {
	from, e := openFiles(t), connectTo(t, startAlone(t))
	enginetest.FillForCopy(t, from)
	s, err := from.Stream(t.Context(), "records")
	if err != nil {
		t.Fatal(err)
	}
	info, err := s.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f := &filler{e: e, s: e.view("records"), archive: &archive.Reader{Head: archive.Head{Config: info.Config, First: 1}}, config: info.Config, id: "killed"}
	if err := f.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Open(t.Context(), info.Config); err == nil {
		t.Error("a copy that is not complete was opened")
	}
	if _, err := e.Stream(t.Context(), "records"); !errors.Is(err, engine.ErrNoStream) {
		t.Errorf("Stream of a copy that is not complete: %v", err)
	}
	if all, err := e.List(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("List has %+v, %v", all, err)
	}
	enginetest.Copy(t, from, e)
	f.remove(t.Context())
	if _, err := e.Stream(t.Context(), "records"); err != nil {
		t.Error(err)
	}
}

// TestCopyKeepsAge: what is left of the age of a record is the time that the server keeps its copy. A record that is too old is not copied.
func TestCopyKeepsAge(t *testing.T) {
	from, to := openFiles(t), connectTo(t, startAlone(t))
	c := engine.Config{Name: "orders", Tags: []string{"orders/#"}}
	s, err := from.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, s: s}
	r.await(r.append(0, 2, 1))
	var parts [][]byte
	if err := archive.Save(t.Context(), from, "orders", func(part []byte) error { parts = append(parts, slices.Clone(part)); return nil }); err != nil {
		t.Fatal(err)
	}
	a, err := archive.Open(func() ([]byte, error) { p := parts[0]; parts = parts[1:]; return p, nil })
	if err != nil {
		t.Fatal(err)
	}
	f := &filler{e: to, s: to.view("orders"), archive: a, config: a.Head.Config, id: "1"}
	f.config.MaxAge = time.Hour
	if err := f.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.inbox, f.acks = to.write.NewInbox()+".", make(chan *natsgo.Msg, 10)
	now := time.Now()
	old, young := engine.Record{Sequence: 1, Stored: now.Add(-time.Hour).UnixNano()}, engine.Record{Sequence: 2, Tag: "orders/a", Stored: now.Add(-59 * time.Minute).UnixNano()}
	if !f.expired(&old, now) || f.expired(&young, now) {
		t.Error("the record that is an hour old must not be copied, and the other one must")
	}
	if err := f.record(t.Context(), newHeaders(), &young); err != nil {
		t.Fatal(err)
	}
	var m *natsgo.Msg
	until(t, "the record is stored", func() bool {
		m, err = f.s.direct(t.Context(), directRequest{Sequence: 1})
		return err == nil
	})
	if ttl, err := strconv.Atoi(m.Header.Get(hdrTTL)); err != nil || ttl < 50 || ttl > 60 {
		t.Errorf("the server keeps the record for %d s, %v, want 60", ttl, err)
	}
}

// TestRenumberedCopy: removed numbers that are too many to be filled are left out. The cursors continue at their records.
func TestRenumberedCopy(t *testing.T) {
	from, to := openFiles(t), connectTo(t, startAlone(t))
	s, err := from.Open(t.Context(), engine.Config{Name: "orders", Tags: []string{"orders/#"}, MaxPerTag: 1})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, e: nil, s: s}
	r.await(r.append(0, 1, 1))
	many := slices.Repeat([]engine.Record{{Tag: "orders/often"}}, mostHoles+1)
	records := slices.Concat([]engine.Record{{Tag: "orders/b"}}, many, []engine.Record{{Tag: "orders/c"}, {Tag: "orders/often"}, {Tag: "orders/d"}})
	done := make(chan error, 1)
	s.Append(records, func(err error) { done <- err })
	r.await(done)
	const before = mostHoles + 3 // the number before that of orders/c
	c, err := s.Cursor(t.Context(), engine.CursorConfig{Name: "work", Start: engine.Start{At: engine.AtFirst}})
	if err != nil {
		t.Fatal(err)
	}
	c.Commit(engine.Position{
		Floor: 1, Done: []engine.Range{{First: 3, Count: before - 1}}, Deliveries: []engine.Deliveries{{Sequence: 2, Count: 1}, {Sequence: before + 2, Count: 4}},
	})
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	restored, err := archive.Copy(t.Context(), from, to, "orders")
	if err != nil || !restored.Renumbered {
		t.Fatalf("Restore: %+v, %v", restored, err)
	}
	copied, err := to.Stream(t.Context(), "orders")
	if err != nil {
		t.Fatal(err)
	}
	info, err := copied.Info(t.Context())
	if err != nil || info.Records != 5 || info.Last != before+3 {
		t.Errorf("the copy is %+v, %v, want 5 records up to %d", info, err, before+3)
	}
	first := info.First
	c, err = copied.Cursor(t.Context(), engine.CursorConfig{Name: "work"})
	if err != nil {
		t.Fatal(err)
	}
	want := engine.Position{
		Floor: first, Done: []engine.Range{{First: first + 2, Count: 1}}, Deliveries: []engine.Deliveries{{Sequence: first + 1, Count: 1}, {Sequence: first + 3, Count: 4}},
	}
	if got := c.Position(); !reflect.DeepEqual(got, want) {
		t.Errorf("the position is %+v, want %+v", got, want)
	}
	var tags []string
	for len(tags) < 3 {
		got, err := c.Next(t.Context(), 10, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range got {
			tags = append(tags, r.Tag)
		}
	}
	if want := []string{"orders/b", "orders/often", "orders/d"}; !slices.Equal(tags, want) {
		t.Errorf("the cursor reads %q, want %q", tags, want)
	}
}
