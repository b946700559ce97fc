package memory

import (
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
