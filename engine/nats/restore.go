package nats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"example.com/ferry/engine"
)

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
	err = e.sendParts(ctx, s, head, read)
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

// restorePatience bounds the attempts of a restore that the server refuses because it cannot make the stream.
const restorePatience = 10 * time.Second

// sendParts sends the parts of a snapshot behind head. It begins again if the server could not make the stream.
//
// When the last stream of an account is deleted, nats-server removes the directories that held it, after it has confirmed the deletion.
// If they vanish while the server makes the directory of this stream, it refuses the restore. It refuses the creation of a stream then,
// too, with an error that transientCode knows. Source: nats-server 2.15, stream.stop and newFileStore.
func (e *Engine) sendParts(ctx context.Context, s *stream, head snapshotHead, read func() ([]byte, error)) error {
	parts := heldParts{source: read}
	end := time.Now().Add(restorePatience)
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, 500*time.Millisecond) {
		err := e.sendChunks(ctx, s, head, &parts)
		if !notMade(err) || time.Now().After(end) || !parts.rewind() {
			return err
		}
		select {
		case <-time.After(wait):
		case <-e.closing:
			return engine.ErrClosed
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		}
	}
}

const (
	codeRestoreFailed = 10062
	codeStoreFailed   = 10077 // the server cannot make the files of a stream
)

// notMade reports whether the server refused a restore because it could not make the stream. The code is in the text of the error.
func notMade(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && api.ErrorCode == codeRestoreFailed && strings.Contains(api.Description, fmt.Sprintf("(%d)", codeStoreFailed))
}

// sendChunks sends the parts to the server once.
func (e *Engine) sendChunks(ctx context.Context, s *stream, head snapshotHead, parts *heldParts) error {
	body, err := json.Marshal(map[string]any{"config": head.Config, "state": head.State})
	if err != nil {
		return err
	}
	to, err := e.restoreRequest(ctx, "$JS.API.STREAM.RESTORE."+s.js(), body)
	if err != nil {
		return err
	}
	finish := func() error {
		_, err := e.restoreRequest(ctx, to, nil)
		return err
	}
	for {
		if parts.full() {
			// The server takes all chunks before it reports that it has no stream.
			if _, err := s.jsInfo(ctx); errors.Is(err, engine.ErrNoStream) {
				return finish()
			}
			parts.release()
		}
		part, err := parts.next()
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF // partEnd is missing
		}
		if err != nil {
			return err
		}
		switch {
		case len(part) == 1 && part[0] == partEnd:
			return finish()
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
