package archive

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"example.com/ferry/engine"
	"example.com/ferry/engine/internal/packed"
)

const (
	readRecords = 1000
	readBytes   = 1 << 20
	lookAgain   = time.Second // without a record, whether those that are waited for were removed
)

// Save passes the parts of the archive of a stream to write. A part is valid during the call. The stream may be in use: what is stored
// after Save has begun is not in the archive. A damaged record makes it fail. Of a stream in the memory of an engine that has files, only
// the configuration is saved, as its records end with the process.
func Save(ctx context.Context, e engine.Engine, name string, write func(part []byte) error) error {
	s, err := e.Stream(ctx, name)
	if err != nil {
		return err
	}
	w := writer{write: write}
	if err := w.stream(ctx, s, e.Capabilities().Durable); err != nil {
		return fmt.Errorf("archive of stream %q: %w", name, err)
	}
	return nil
}

// writer writes the parts of an archive.
type writer struct {
	write   func([]byte) error
	number  uint32
	part    []byte // of records that gather
	next    uint64 // the number behind those that were written
	records uint64
}

// put writes a part.
func (w *writer) put(part []byte) error {
	part = binary.BigEndian.AppendUint32(part, sum(w.number, part))
	w.number++
	return w.write(part)
}

func (w *writer) stream(ctx context.Context, s engine.Stream, durable bool) error {
	// The cursors come first: a position must not lie behind records that the archive lacks.
	cursors, err := s.Cursors(ctx)
	if err != nil {
		return err
	}
	info, err := s.Info(ctx)
	if err != nil {
		return err
	}
	head := Head{info.Config, info.First, info.Last, info.Records}
	switch {
	case !durable:
		head.Config.InMemory = false // the engine has no files; the next one may have
	case head.Config.InMemory:
		head.First, head.Last, head.Records, cursors = 1, 0, 0, nil
	}
	if err := w.put(appendHead(head)); err != nil {
		return err
	}
	for _, c := range cursors {
		if err := w.put(packed.AppendCursor([]byte{partCursor}, c)); err != nil {
			return err
		}
	}
	w.next = head.First
	if head.Last >= head.First {
		if err := w.copy(ctx, s, head.Last); err != nil {
			return err
		}
	}
	if err := w.pass(head.Last + 1); err != nil {
		return err
	}
	if err := w.flush(); err != nil {
		return err
	}
	return w.put(binary.AppendUvarint([]byte{partEnd}, w.records))
}

func appendHead(h Head) []byte {
	b := append([]byte{partHead}, magic...)
	b = packed.AppendConfig(append(b, version), h.Config)
	for _, n := range []uint64{h.First, h.Last, h.Records} {
		b = binary.AppendUvarint(b, n)
	}
	return b
}

// copy writes the records up to last.
func (w *writer) copy(ctx context.Context, s engine.Stream, last uint64) (err error) {
	c, err := s.Cursor(ctx, engine.CursorConfig{Start: engine.Start{At: engine.AtSequence, Sequence: w.next}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close(ctx)) }()
	for {
		newest, err := s.Newest(ctx)
		if errors.Is(err, engine.ErrNoRecord) || err == nil && newest < w.next {
			return nil
		}
		if err != nil {
			return err
		}
		if done, err := w.copyUntil(ctx, c, min(newest, last)); done || err != nil {
			return err
		}
	}
}

// copyUntil writes records up to last. It returns false if none has come for a while: retention may have removed the last one.
func (w *writer) copyUntil(ctx context.Context, c engine.Cursor, last uint64) (done bool, err error) {
	for w.next <= last {
		waiting, cancel := context.WithTimeout(ctx, lookAgain)
		records, err := c.Next(waiting, readRecords, readBytes)
		cancel()
		if err != nil {
			if waiting.Err() != nil && ctx.Err() == nil {
				return false, nil
			}
			return false, err
		}
		for i := range records {
			if records[i].Sequence > last {
				return true, nil
			}
			if err := w.record(&records[i]); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// record adds a record to the part that gathers.
func (w *writer) record(r *engine.Record) error {
	if err := w.pass(r.Sequence); err != nil {
		return err
	}
	if len(w.part) == 0 {
		w.part = append(slices.Grow(w.part, partSize), partRecords)
	}
	w.part = packed.AppendRecord(w.part, r)
	w.next = r.Sequence + 1
	w.records++
	if len(w.part) >= partSize {
		return w.flush()
	}
	return nil
}

// pass writes that the numbers before next are removed, those excepted that were written.
func (w *writer) pass(next uint64) error {
	if next <= w.next {
		return nil
	}
	if err := w.flush(); err != nil {
		return err
	}
	first := w.next
	w.next = next
	return w.put(binary.AppendUvarint(binary.AppendUvarint([]byte{partRemoved}, first), next-first))
}

// flush writes the records that have gathered.
func (w *writer) flush() error {
	if len(w.part) == 0 {
		return nil
	}
	err := w.put(w.part)
	w.part = w.part[:0]
	return err
}
