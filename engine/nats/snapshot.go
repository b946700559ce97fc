package nats

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"example.com/ferry/engine"
)

var _ engine.Snapshotter = (*Engine)(nil)

// The parts of a snapshot: one partHead, then the server's chunks. The first byte of a part is its kind.
const (
	partHead  = 'H' // a snapshotHead in JSON
	partChunk = 'D' // bytes of the server's own format
	partEnd   = 'E' // the snapshot is complete

	snapshotFormat = 1
	chunkSize      = 128 << 10
	snapshotWindow = 4 << 20
	snapshotStall  = 30 * time.Second // without a chunk or a response
)

// snapshotHead begins a snapshot.
type snapshotHead struct {
	Format  int                    `json:"format"`
	Config  jetstream.StreamConfig `json:"config"`
	State   json.RawMessage        `json:"state"` // of the server: not ours to interpret
	Cursors map[string]cursorEntry `json:"cursors,omitempty"`
}

// Snapshot implements engine.Snapshotter. The server checks each record. A damaged one makes the snapshot fail.
func (e *Engine) Snapshot(ctx context.Context, name string, write func(part []byte) error) error {
	s := e.view(name)
	if _, err := s.jsInfo(ctx); err != nil {
		return err
	}
	// The cursors come first: a position must not lie behind records that the snapshot lacks.
	head := snapshotHead{Format: snapshotFormat}
	var err error
	if head.Cursors, err = s.allCursors(ctx); err != nil {
		return err
	}
	inbox := e.read.NewInbox()
	chunks := make(chan *natsgo.Msg, 2*snapshotWindow/chunkSize)
	sub, err := e.read.ChanSubscribe(inbox, chunks)
	if err != nil {
		return err
	}
	defer sub.Unsubscribe() //nolint:errcheck // the connection may be closed
	in := map[string]any{
		"deliver_subject": inbox, "no_consumers": true, "jsck": true, "chunk_size": chunkSize, "window_size": snapshotWindow,
	}
	if err := e.api(ctx, "$JS.API.STREAM.SNAPSHOT."+s.js(), in, &head); err != nil {
		return fmt.Errorf("engine: snapshot of stream %q: %w", name, err)
	}
	text, err := json.Marshal(head)
	if err != nil {
		return err
	}
	if err := write(append([]byte{partHead}, text...)); err != nil {
		return err
	}
	if err := e.copyChunks(ctx, chunks, write); err != nil {
		return fmt.Errorf("engine: snapshot of stream %q: %w", name, err)
	}
	return write([]byte{partEnd})
}

func (e *Engine) copyChunks(ctx context.Context, chunks <-chan *natsgo.Msg, write func([]byte) error) error {
	var part []byte
	stall := time.NewTimer(snapshotStall)
	defer stall.Stop()
	for {
		stall.Reset(snapshotStall)
		select {
		case m := <-chunks:
			if status := m.Header.Get(hdrStatus); len(m.Data) == 0 {
				if status == "" || status == "204" {
					return nil
				}
				return fmt.Errorf("status %s %s", status, m.Header.Get("Description"))
			}
			part = append(append(part[:0], partChunk), m.Data...)
			if err := write(part); err != nil {
				return err
			}
			if m.Reply != "" {
				if err := e.read.Publish(m.Reply, nil); err != nil {
					return err
				}
			}
		case <-stall.C:
			return fmt.Errorf("the server has sent nothing for %s", snapshotStall)
		case <-ctx.Done():
			return ctx.Err()
		case <-e.closing:
			return engine.ErrClosed
		}
	}
}

// allCursors returns the entries of the named cursors, free of their holders.
func (s *stream) allCursors(ctx context.Context) (map[string]cursorEntry, error) {
	kv, err := s.cursorBucket(ctx, false)
	if kv == nil {
		return nil, err
	}
	names, err := s.cursorNames(ctx, kv)
	if err != nil {
		return nil, err
	}
	all := make(map[string]cursorEntry)
	for _, name := range names {
		entry, revision, err := readCursor(ctx, s.e, kv, name)
		if err != nil {
			return nil, err
		}
		if revision > 0 {
			entry.Holder, entry.Session = "", ""
			all[name] = entry
		}
	}
	return all, nil
}
