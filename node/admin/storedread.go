package admin

import (
	"context"
	"errors"
	"slices"

	"example.com/ferry/engine"
	"example.com/ferry/internal/topic"
)

// recordsQuery asks for records of a stream. Without from and before, it asks for the newest.
type recordsQuery struct {
	from   uint64 // first sequence number
	before uint64 // if it is not 0: the newest records below it
	limit  int    // most records
	filter string // of tags; "" matches all
}

// records is what readRecords has found: all records with sequence numbers in [from, to] that match the filter.
type records struct {
	first, last uint64 // of the stream
	from, to    uint64 // to < from if nothing was examined
	list        []storedRecord
}

// storedRecord is a record, without a payload that is longer than maxShown.
type storedRecord struct {
	engine.Record
	size    int   // of the payload
	damaged error // why there is only a sequence number
}

// The bounds of a read.
const (
	maxExamined      = 50_000   // records, about
	maxExaminedBytes = 64 << 20 // of their payloads, about
	maxReadBytes     = 4 << 20  // of the payloads in the result
	readBatch        = 256      // records
	readBytes        = 1 << 20  // of the payloads of a batch
)

// readRecords reads records with cursors that end with it. A cursor waits at the end of the stream, so readRecords looks for the
// newest record first and stops there.
func readRecords(ctx context.Context, s engine.Stream, q recordsQuery) (records, error) {
	info, err := s.Info(ctx)
	if err != nil {
		return records{}, err
	}
	out := records{first: info.First, last: info.Last, from: 1}
	newest, err := newestRecord(ctx, s, info)
	if err != nil || newest == 0 {
		return out, err
	}
	if q.from > 0 {
		out.from = max(q.from, info.First)
		return out, out.readOn(ctx, s, q, newest)
	}
	return out, out.readBack(ctx, s, q, info.First, newest)
}

// newestRecord returns the sequence number of the newest record that is left, or a damaged one at the end of the stream; 0 if there
// is none.
func newestRecord(ctx context.Context, s engine.Stream, info engine.Info) (uint64, error) {
	if info.Records == 0 {
		return 0, nil
	}
	var damaged *engine.CorruptError
	switch _, err := s.Get(ctx, info.Last); {
	case err == nil || errors.As(err, &damaged):
		return info.Last, nil
	case !errors.Is(err, engine.ErrNoRecord):
		return 0, err
	}
	newest, err := s.Newest(ctx)
	if errors.Is(err, engine.ErrNoRecord) {
		return 0, nil
	}
	return newest, err
}

// readOn reads from out.from on.
func (out *records) readOn(ctx context.Context, s engine.Stream, q recordsQuery, newest uint64) (err error) {
	var read effort
	bytes := 0
	out.to, err = examine(ctx, s, out.from, newest, func(r storedRecord) bool {
		read.add(r)
		if matches(q.filter, r) {
			out.list = append(out.list, r)
			bytes += len(r.Payload)
		}
		return len(out.list) < q.limit && bytes < maxReadBytes && !read.exceeds(1)
	})
	if out.to == newest {
		out.to = out.last // there is nothing in between
	}
	return err
}

// readBack reads the newest records below q.before. Cursors read forward only, so it reads a short part of the stream first, and
// then longer ones before it, until it has enough.
func (out *records) readBack(ctx context.Context, s engine.Stream, q recordsQuery, oldest, newest uint64) error {
	end := newest
	if q.before > 0 {
		end = min(end, q.before-1)
	}
	out.from, out.to = end+1, end
	if end == newest {
		out.to = max(newest, min(out.last, q.before-1)) // there is nothing in between; q.before-1 is the greatest number without before
	}
	var read effort
	for span := uint64(q.limit); out.from > oldest && len(out.list) < q.limit && !read.exceeds(4); span *= 4 {
		begin := max(oldest, out.from-min(span, out.from))
		part := tail{limit: q.limit - len(out.list), maxBytes: maxReadBytes - bytesOf(out.list)}
		_, err := examine(ctx, s, begin, out.from-1, func(r storedRecord) bool {
			read.add(r)
			if matches(q.filter, r) {
				part.add(r)
			}
			return true
		})
		if err != nil {
			return err
		}
		out.list = slices.Concat(part.list, out.list)
		if part.cut {
			out.from = out.list[0].Sequence
			break
		}
		out.from = begin
	}
	return nil
}

// effort is what a read has cost.
type effort struct{ records, bytes int }

func (e *effort) add(r storedRecord) {
	e.records++
	e.bytes += r.size
}

// exceeds reports whether a read that costs times as much exceeds the bounds.
func (e *effort) exceeds(times int) bool {
	return e.records*times > maxExamined || e.bytes*times > maxExaminedBytes
}

// tail keeps the last records that were added, within its bounds.
type tail struct {
	limit, maxBytes int
	list            []storedRecord
	bytes           int
	cut             bool // records were dropped
}

func (l *tail) add(r storedRecord) {
	l.list = append(l.list, r)
	l.bytes += len(r.Payload)
	for len(l.list) > l.limit || l.bytes > l.maxBytes {
		l.bytes -= len(l.list[0].Payload)
		l.list = l.list[1:]
		l.cut = true
	}
}

func bytesOf(list []storedRecord) (n int) {
	for _, r := range list {
		n += len(r.Payload)
	}
	return n
}

func matches(filter string, r storedRecord) bool {
	return filter == "" || topic.Match(filter, r.Tag)
}

// examine visits the records from the sequence number from up to to, until visit returns false. A record with the number to or a
// greater one exists, so the cursor does not wait. It returns the number up to which all records were visited.
func examine(ctx context.Context, s engine.Stream, from, to uint64, visit func(storedRecord) bool) (uint64, error) {
	if from > to {
		return to, nil
	}
	c, err := s.Cursor(ctx, engine.CursorConfig{Start: engine.Start{At: engine.AtSequence, Sequence: from}})
	if err != nil {
		return 0, err
	}
	defer func() { _ = c.Close(ctx) }() // it has no position to store
	for {
		batch, err := c.Next(ctx, int(min(readBatch, to-from+1)), readBytes)
		var damaged *engine.CorruptError
		switch {
		case errors.As(err, &damaged):
			batch = []engine.Record{{Sequence: damaged.Sequence}}
		case err != nil:
			return 0, err
		}
		for _, r := range batch {
			if r.Sequence > to {
				return to, nil
			}
			if !visit(keep(r, err)) || r.Sequence == to {
				return r.Sequence, nil
			}
		}
	}
}

// keep copies what a storedRecord needs of a record that is valid until the next call of Next.
func keep(r engine.Record, damaged error) storedRecord {
	kept := storedRecord{Record: r, size: len(r.Payload), damaged: damaged}
	kept.Payload, kept.Extension = nil, slices.Clone(r.Extension)
	if len(r.Payload) <= maxShown {
		kept.Payload = slices.Clone(r.Payload)
	}
	return kept
}
