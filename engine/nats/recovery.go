package nats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/nats-io/nats-server/v2/server"

	"example.com/ferry/engine"
)

// recover checks what the server has recovered, and mends what a power failure has left.
func (e *Engine) recover(ctx context.Context) error {
	if err := e.recovered(ctx); err != nil {
		return err
	}
	if err := e.host.syncMeta(); err != nil {
		return err
	}
	list, err := e.List(ctx)
	if err != nil {
		return err
	}
	for _, info := range list {
		if err := e.clampCursors(ctx, info.Config.Name, info.Last); err != nil {
			return err
		}
		if err := e.findLost(ctx, info.Config); err != nil {
			return err
		}
	}
	e.host.saveLedger()
	return nil
}

// removeHalfMade removes the directories of streams and buckets whose making was interrupted, because the server would not recover
// them. The server writes the configuration, then its sum, and responds after that: a directory without a sum and without records has
// nothing that was acknowledged. Engine.Open makes a stream, and the next durable a bucket.
func (h *host) removeHalfMade() error {
	dir := h.streamsDir()
	found, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("engine: %w", err)
	}
	for _, d := range found {
		path := filepath.Join(dir, d.Name())
		half, err := halfMade(path)
		if err == nil && half {
			h.config.Log.Warn("engine: the process ended while it made a stream or the bucket of its cursors: it is made again", "dir", path)
			err = os.RemoveAll(path)
		}
		if err != nil {
			return fmt.Errorf("engine: %w", err)
		}
	}
	return nil
}

// halfMade reports whether the directory of a stream has a configuration, no sum of it, and no bytes of records.
func halfMade(path string) (bool, error) {
	if _, err := os.Stat(filepath.Join(path, server.JetStreamMetaFile)); err != nil {
		return false, ignoreMissing(err)
	}
	if info, err := os.Stat(filepath.Join(path, server.JetStreamMetaFileSum)); err == nil && info.Size() > 0 || ignoreMissing(err) != nil {
		return false, ignoreMissing(err)
	}
	blocks, err := os.ReadDir(filepath.Join(path, "msgs"))
	for _, b := range blocks {
		info, err := b.Info()
		if err != nil || info.Size() > 0 {
			return false, err
		}
	}
	return ignoreMissing(err) == nil, ignoreMissing(err)
}

func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// findLost reports the records of a stream that the server has lost since it was stopped.
func (e *Engine) findLost(ctx context.Context, c engine.Config) error {
	if c.InMemory {
		e.host.ledger.forget(c.Name)
		return nil
	}
	state, err := e.view(c.Name).state(ctx)
	if err != nil {
		return err
	}
	var inner ranges
	var tail engine.Range
	e.host.ledger.update(c.Name, func(l *ledgerEntry) { inner, tail = l.compare(state, c.MaxPerTag > 0) })
	for _, r := range inner {
		e.log.Error("engine: stored records are lost: the store is damaged", "stream", c.Name, "first", r.First, "last", r.First+r.Count-1)
	}
	if tail.Count > 0 {
		why := "the store is damaged"
		if e.caps.Sync == engine.SyncInterval {
			why = "the machine has lost power before they were synced, or the store is damaged"
		}
		e.log.Error("engine: the last records are lost: "+why, "stream", c.Name, "first", tail.First, "last", tail.First+tail.Count-1)
	}
	return nil
}

// recovered returns an error if the server did not recover a stream of the directory. The server itself skips it with a warning.
func (e *Engine) recovered(ctx context.Context) error {
	dir := e.host.streamsDir()
	found, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("engine: %w", err)
	}
	names, err := e.streamNames(ctx)
	if err != nil {
		return err
	}
	for _, d := range found {
		_, err := os.Stat(filepath.Join(dir, d.Name(), server.JetStreamMetaFile))
		if err == nil && !slices.Contains(names, d.Name()) {
			return fmt.Errorf("engine: directory %s: the stream in it could not be recovered (the log says why): restore it from a backup, or move the directory away", filepath.Join(dir, d.Name()))
		}
	}
	return nil
}

// clampCursors does to all cursors of a stream what clamp does, before new records get the numbers of those that are lost.
func (e *Engine) clampCursors(ctx context.Context, name string, last uint64) error {
	s := e.view(name)
	kv, err := s.cursorBucket(ctx, false)
	if kv == nil {
		return err
	}
	names, err := s.cursorNames(ctx, kv)
	if err != nil {
		return err
	}
	for _, cursor := range names {
		entry, revision, err := readCursor(ctx, e, kv, cursor)
		if err != nil {
			return err
		}
		if revision == 0 || !entry.clamp(last) {
			continue
		}
		value, err := json.Marshal(entry)
		if err != nil {
			return err
		}
		_, err = request(ctx, e, func(ctx context.Context) (uint64, error) { return kv.Update(ctx, cursor, value, revision) })
		if err != nil {
			return errors.Join(fmt.Errorf("engine: cursor %q of stream %q", cursor, name), err)
		}
		e.log.Warn("engine: a cursor was ahead of its stream, whose last records are lost", "stream", name, "cursor", cursor, "last", last)
	}
	return nil
}
