package nats

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"example.com/ferry/engine"
)

// cursorBucket returns the bucket of the stream's cursors. Without create it returns nil if there is none: the stream never had a
// named cursor.
func (s *stream) cursorBucket(ctx context.Context, create bool) (jetstream.KeyValue, error) {
	s.mu.Lock()
	kv := s.bucket
	s.mu.Unlock()
	if kv != nil {
		return kv, nil
	}
	kv, err := request(ctx, s.e, func(ctx context.Context) (jetstream.KeyValue, error) {
		kv, err := s.e.js.KeyValue(ctx, s.js())
		if !create || !errors.Is(err, jetstream.ErrBucketNotFound) {
			return kv, err
		}
		config := s.config.Load()
		c := jetstream.KeyValueConfig{Bucket: s.js(), Description: "cursors of a stream of ferry", History: 1, Replicas: max(config.Replicas, 1)}
		if config.InMemory {
			c.Storage = jetstream.MemoryStorage
		}
		return s.e.js.CreateKeyValue(ctx, c)
	})
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.bucket = kv
	s.mu.Unlock()
	return kv, nil
}

// CreateCursor implements engine.Stream.
func (s *stream) CreateCursor(ctx context.Context, c engine.CursorConfig) error {
	if err := c.CheckNamed(); err != nil {
		return err
	}
	if err := s.endError(); err != nil {
		return err
	}
	kv, err := s.cursorBucket(ctx, true)
	if err != nil {
		return err
	}
	kept, revision, err := readCursor(ctx, s.e, kv, c.Name)
	if err != nil {
		return err
	}
	if revision > 0 {
		return kept.checkKept(c)
	}
	from, err := s.from(ctx, c.Start)
	if err != nil {
		return err
	}
	value, err := json.Marshal(newEntry(c, from))
	if err != nil {
		return err
	}
	_, err = request(ctx, s.e, func(ctx context.Context) (uint64, error) { return kv.Create(ctx, c.Name, value) })
	if isConflict(err) { // another process has made it, or an earlier attempt whose response was lost
		return s.CreateCursor(ctx, c)
	}
	return err
}

// Cursors implements engine.Stream.
func (s *stream) Cursors(ctx context.Context) ([]engine.CursorInfo, error) {
	kv, err := s.cursorBucket(ctx, false)
	if kv == nil {
		return nil, err
	}
	names, err := s.cursorNames(ctx, kv)
	if err != nil {
		return nil, err
	}
	var list []engine.CursorInfo
	for _, name := range names {
		entry, revision, err := readCursor(ctx, s.e, kv, name)
		if err != nil {
			return nil, err
		}
		if revision == 0 {
			continue
		}
		i := engine.CursorInfo{Name: name, Filter: entry.Filter, Owner: entry.Owner, Position: entry.position()}
		if entry.Where != nil {
			i.Where = *entry.Where
		}
		i.Holder = entry.Holder
		if i.Lag, err = s.lag(ctx, entry); err != nil {
			return nil, err
		}
		list = append(list, i)
	}
	slices.SortFunc(list, func(a, b engine.CursorInfo) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

func (s *stream) cursorNames(ctx context.Context, kv jetstream.KeyValue) ([]string, error) {
	names, err := request(ctx, s.e, func(ctx context.Context) ([]string, error) { return kv.Keys(ctx) })
	if errors.Is(err, jetstream.ErrNoKeysFound) {
		return nil, nil
	}
	return names, err
}

// lag counts the records above the floor that match. It takes all numbers of the ranges above the floor for records that match.
func (s *stream) lag(ctx context.Context, entry cursorEntry) (uint64, error) {
	subjects := []string{""}
	if entry.Filter != "" {
		subjects = filterSubjects(entry.Filter)
	}
	var lag uint64
	for _, subject := range subjects {
		n, err := request(ctx, s.e, func(ctx context.Context) (uint64, error) {
			m, err := s.direct(ctx, directRequest{Sequence: entry.Floor + 1, Next: subject, Batch: 1})
			if err != nil {
				return 0, err
			}
			behind, err := strconv.ParseUint(m.Header.Get(hdrPending), 10, 64)
			return behind + 1, err
		})
		if errors.Is(err, engine.ErrNoRecord) {
			continue
		}
		if err != nil {
			return 0, err
		}
		lag += n
	}
	for _, r := range entry.Done {
		lag -= min(lag, r[1])
	}
	return lag, nil
}

// DeleteCursor implements engine.Stream.
func (s *stream) DeleteCursor(ctx context.Context, name string) error {
	kv, err := s.cursorBucket(ctx, false)
	if err != nil {
		return err
	}
	if kv == nil {
		return engine.ErrNoCursor
	}
	_, revision, err := readCursor(ctx, s.e, kv, name)
	if err != nil {
		return err
	}
	if revision == 0 {
		return engine.ErrNoCursor
	}
	if _, err = request(ctx, s.e, func(ctx context.Context) (struct{}, error) { return struct{}{}, kv.Purge(ctx, name) }); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.cursors {
		if c.lease != nil && c.lease.name == name {
			c.end(engine.ErrLost)
		}
	}
	return nil
}
