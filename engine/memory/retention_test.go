package memory

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ferry/engine"
)

// TestAgeFreesMemory checks that old records go without a call of the stream.
func TestAgeFreesMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := New()
		opened, err := e.Open(t.Context(), engine.Config{Name: "records", Tags: []string{"a/#"}, InMemory: true, MaxAge: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		s := opened.(*stream)
		records := func() uint64 {
			synctest.Wait()
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.log.records
		}
		for range 10 {
			s.Append([]engine.Record{{Tag: "a"}, {Tag: "a"}}, func(error) {})
			time.Sleep(10 * time.Second)
		}
		// The records are 10, 20, ... seconds old, and those of a minute are gone.
		if got := records(); got != 10 {
			t.Errorf("%d records are left, want 10", got)
		}
		time.Sleep(30 * time.Second)
		if got := records(); got != 4 {
			t.Errorf("%d records are left after 30 s, want 4", got)
		}
		time.Sleep(30 * time.Second)
		if got := records(); got != 0 {
			t.Errorf("%d records are left after a minute, want 0", got)
		}
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestRememberedIDsAreBounded stores more IDs than may be remembered.
func TestRememberedIDsAreBounded(t *testing.T) {
	d := duplicates{window: time.Hour, limit: 100 * (idOverhead + 4)}
	for i := range 1000 {
		id := fmt.Sprintf("%04d", i)
		if d.seen(id, int64(i)) {
			t.Fatalf("ID %s was never stored", id)
		}
		d.add(id, int64(i))
	}
	if len(d.known) > 101 {
		t.Errorf("%d IDs are remembered, want at most 101", len(d.known))
	}
	if !d.seen("0999", 1000) || d.seen("0000", 1000) {
		t.Error("the newest IDs must be remembered, and the oldest forgotten")
	}
	if d.seen("0999", 1000+int64(time.Hour)) || d.bytes != 0 || d.known != nil {
		t.Errorf("after the window %d IDs of %d bytes are remembered", len(d.known), d.bytes)
	}
}
