package log

import (
	"context"
	"errors"
	"testing"
	"time"

	"example.com/ferry/engine"
)

// gated is a disk whose next sync waits until it is let go.
type gated struct {
	*disk
	syncs chan chan struct{} // gets the channel that lets a sync go; nil lets all go
}

func (g *gated) Create(name string) (File, error) {
	f, err := g.disk.Create(name)
	return gatedFile{f, g}, err
}

type gatedFile struct {
	File
	disk *gated
}

func (f gatedFile) Sync() error {
	if f.disk.syncs != nil {
		pass := make(chan struct{})
		f.disk.syncs <- pass
		<-pass
	}
	return f.File.Sync()
}

// TestCommitWhileClosing: what is committed while the last segment is sealed is refused, and what is removed from then on stays.
func TestCommitWhileClosing(t *testing.T) {
	d := &gated{disk: newDisk()}
	l, err := Open(Config{Store: d, SegmentSize: 64 << 10})
	if err != nil {
		t.Fatal(err)
	}
	fill(t, l, 1)
	d.syncs = make(chan chan struct{}, 1)
	closed := make(chan error, 1)
	go func() { closed <- l.Close(context.Background()) }()
	pass := <-d.syncs // of seal
	done := make(chan error, 1)
	l.Commit(func(err error) { done <- err })
	close(pass)
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-done:
		if !errors.Is(err, engine.ErrClosed) {
			t.Errorf("Commit: got %v, want ErrClosed", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("Commit did not end")
	}
	r := engine.Record{Tag: "a", Payload: make([]byte, 100)}
	if l.Remove(Stored{Sequence: 1, Tag: "a", Cost: Cost(&r)}) {
		t.Error("a Log that is closed has removed a record")
	}
}
