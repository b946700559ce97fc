package log

import (
	"testing"
	"time"

	"example.com/ferry/engine"
)

// TestStoredAgain: the sync of an interval fails, so records that were readable are written again. Those who wait for records are told.
func TestStoredAgain(t *testing.T) {
	d := newDisk()
	told := make(chan struct{}, 10)
	l, err := Open(Config{
		Store: d, SegmentSize: 64 << 10, Interval: 20 * time.Millisecond,
		Stored: func([]Stored) { told <- struct{}{} },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close(t.Context()) }()
	fill(t, l, 1) // is synced: its segment is new
	<-told
	d.mu.Lock()
	d.failSyncs = 1
	d.mu.Unlock()
	l.Append(&engine.Record{Tag: "a"}, time.Now().UnixNano())
	wait(t, l)
	<-told
	select {
	case <-told:
	case <-time.After(10 * time.Second):
		t.Error("Stored was not called again for the record that is readable again")
	}
	if read, _ := readAll(t, l); len(read) != 2 {
		t.Errorf("read %d", read)
	}
}
