package nats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"example.com/ferry/stream/engine"
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

// Restore implements engine.Snapshotter. A stream that had more copies than the engine has servers gets as many as there are.
func (e *Engine) Restore(ctx context.Context, name string, read func() ([]byte, error)) error {
	part, err := read()
	if err != nil {
		return fmt.Errorf("engine: restore of stream %q: %w", name, err)
	}
	var head snapshotHead
	if len(part) == 0 || part[0] != partHead {
		return fmt.Errorf("engine: restore of stream %q: this is no snapshot of the engine nats", name)
	}
	if err := json.Unmarshal(part[1:], &head); err != nil {
		return fmt.Errorf("engine: restore of stream %q: %w", name, err)
	}
	if head.Format != snapshotFormat {
		return fmt.Errorf("engine: restore of stream %q: the snapshot has format %d, this version reads %d", name, head.Format, snapshotFormat)
	}
	s := e.view(name)
	switch _, err := s.jsInfo(ctx); {
	case err == nil:
		return engine.ErrExists
	case !errors.Is(err, engine.ErrNoStream):
		return err
	}
	head.Config.Name = s.js()
	head.Config.Replicas = min(head.Config.Replicas, e.caps.MaxReplicas)
	config, ours := configOf(head.Config)
	if !ours {
		return fmt.Errorf("engine: restore of stream %q: the snapshot is not of a stream of ferry", name)
	}
	s.config.Store(&config)
	err = e.sendChunks(ctx, s.js(), head, read)
	if err == nil {
		err = e.host.syncMeta()
	}
	if err == nil {
		err = s.restoreCursors(ctx, head.Cursors)
	}
	if err != nil {
		e.removeRestored(ctx, s.js())
		return fmt.Errorf("engine: restore of stream %q: %w", name, err)
	}
	return nil
}

// removeRestored removes what a failed Restore has made: a stream without its positions would be used as if it were complete. ctx may
// have ended. The error of Restore counts.
func (e *Engine) removeRestored(ctx context.Context, js string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), apiTimeout)
	defer cancel()
	_ = e.js.DeleteStream(ctx, js) // mostly there is none
	_ = e.js.DeleteKeyValue(ctx, js)
}

func (e *Engine) sendChunks(ctx context.Context, js string, head snapshotHead, read func() ([]byte, error)) error {
	body, err := json.Marshal(map[string]any{"config": head.Config, "state": head.State})
	if err != nil {
		return err
	}
	to, err := e.restoreRequest(ctx, "$JS.API.STREAM.RESTORE."+js, body)
	if err != nil {
		return err
	}
	for {
		part, err := read()
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF // partEnd is missing
		}
		if err != nil {
			return err
		}
		switch {
		case len(part) == 1 && part[0] == partEnd:
			_, err := e.restoreRequest(ctx, to, nil)
			return err
		case len(part) < 2 || part[0] != partChunk:
			return errors.New("unknown part of a snapshot")
		}
		if _, err := e.restoreRequest(ctx, to, part[1:]); err != nil {
			return err
		}
	}
}

// restoreRequest returns the subject for the chunks from the first response of the server.
func (e *Engine) restoreRequest(ctx context.Context, subject string, body []byte) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, snapshotStall)
	defer cancel()
	m, err := e.read.RequestWithContext(ctx, subject, body)
	if err != nil || len(m.Data) == 0 {
		return "", err
	}
	var response struct {
		Deliver string              `json:"deliver_subject"`
		Error   *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(m.Data, &response); err != nil {
		return "", err
	}
	if response.Error != nil {
		return "", response.Error
	}
	return response.Deliver, nil
}

func (s *stream) restoreCursors(ctx context.Context, cursors map[string]cursorEntry) error {
	if len(cursors) == 0 {
		return nil
	}
	kv, err := s.cursorBucket(ctx, true)
	if err != nil {
		return err
	}
	for name, entry := range cursors {
		value, err := json.Marshal(entry)
		if err != nil {
			return err
		}
		if _, err := request(ctx, s.e, func(ctx context.Context) (uint64, error) { return kv.Put(ctx, name, value) }); err != nil {
			return err
		}
	}
	return nil
}
