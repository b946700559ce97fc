package file

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"example.com/ferry"
	"example.com/ferry/engine"
	"example.com/ferry/internal/atomicfile"
)

// The parts of a snapshot. The first byte of a part is its kind.
const (
	partHead    = 'F' // the Config, and the number of the last record
	partCursor  = 'C' // a named cursor
	partRecords = 'R' // records
	partEnd     = 'E' // the snapshot is complete

	snapshotVersion = 1
	partSize        = 128 << 10
)

// Snapshot implements engine.Snapshotter. The records of a stream in memory are not saved. A damaged record makes the snapshot fail.
func (e *Engine) Snapshot(ctx context.Context, name string, write func(part []byte) error) error {
	e.mu.Lock()
	s, closed := e.streams[name], e.closed
	c, volatile := e.volatile[name]
	e.mu.Unlock()
	switch {
	case closed:
		return engine.ErrClosed
	case volatile:
		if err := write(binary.AppendUvarint(appendConfig([]byte{partHead, snapshotVersion}, c), 0)); err != nil {
			return err
		}
		return write([]byte{partEnd})
	case s == nil:
		return engine.ErrNoStream
	}
	// The cursors come first: a position must not lie behind records that the snapshot lacks.
	s.mu.Lock()
	var cursors [][]byte
	for _, n := range s.named {
		cursors = append(cursors, n.append([]byte{partCursor}))
	}
	s.mu.Unlock()
	last := s.log.State().Last
	if err := write(binary.AppendUvarint(appendConfig([]byte{partHead, snapshotVersion}, s.configured()), last)); err != nil {
		return err
	}
	for _, part := range cursors {
		if err := write(part); err != nil {
			return err
		}
	}
	if err := s.snapshotRecords(ctx, last, write); err != nil {
		return err
	}
	return write([]byte{partEnd})
}

func (s *stream) snapshotRecords(ctx context.Context, last uint64, write func([]byte) error) error {
	r := s.log.Reader(1, nil)
	defer r.Close()
	part := []byte{partRecords}
	for {
		v, err := r.Read(true)
		if errors.Is(err, errEnd) || err == nil && v.Sequence() > last {
			break
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("engine: snapshot of stream %q: %w", s.configured().Name, err)
		}
		record := v.Record(string(v.Tag()))
		part = appendRecord(part, &record)
		if len(part) >= partSize {
			if err := write(part); err != nil {
				return err
			}
			part = part[:1]
		}
	}
	if len(part) == 1 {
		return nil
	}
	return write(part)
}

func appendRecord(b []byte, r *engine.Record) []byte {
	b = binary.AppendUvarint(b, r.Sequence)
	b = binary.AppendVarint(b, r.Stored)
	b = binary.AppendVarint(b, r.Time)
	validated := byte(0)
	if r.Validated {
		validated = 1
	}
	b = append(b, byte(r.Type), validated)
	b = appendText(appendText(b, r.Tag), r.ID)
	b = append(binary.AppendUvarint(b, uint64(len(r.Extension))), r.Extension...)
	return append(binary.AppendUvarint(b, uint64(len(r.Payload))), r.Payload...)
}

func (d *decoder) int() int64 {
	v, n := binary.Varint(d.b)
	if n <= 0 {
		d.b, d.err = nil, errShort
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) byte() byte {
	if len(d.b) == 0 {
		d.err = errShort
		return 0
	}
	v := d.b[0]
	d.b = d.b[1:]
	return v
}

func (d *decoder) record() engine.Record {
	return engine.Record{
		Sequence: d.uint(), Stored: d.int(), Time: d.int(), Type: ferry.Type(d.byte()), Validated: d.byte() != 0,
		Tag: d.text(), ID: d.text(), Extension: d.bytes(), Payload: d.bytes(),
	}
}

// Restore implements engine.Snapshotter. The stream exists when it is complete.
func (e *Engine) Restore(ctx context.Context, name string, read func() ([]byte, error)) error {
	head, err := read()
	if err != nil {
		return fmt.Errorf("engine: stream %q: the snapshot has no head: %w", name, err)
	}
	if len(head) < 2 || head[0] != partHead || head[1] != snapshotVersion {
		return fmt.Errorf("engine: stream %q: the snapshot is none of engine %s, version %d: it is of another engine or a newer program", name, engineName, snapshotVersion)
	}
	d := decoder{b: head[2:]}
	c, last := d.config(), d.uint()
	if d.err != nil || c.Name != name {
		return fmt.Errorf("engine: the snapshot of stream %q is not that of %q", c.Name, name)
	}
	if c, err = effective(c); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	_, volatile := e.volatile[name]
	if e.streams[name] != nil || volatile {
		return engine.ErrExists
	}
	if err := e.admit(c); err != nil {
		return err
	}
	if c.InMemory {
		return nil // the node makes it when it opens it
	}
	temp := filepath.Join(e.config.Dir, newPrefix+name)
	if err := e.restore(ctx, temp, c, last, read); err != nil {
		return errors.Join(fmt.Errorf("engine: stream %q: %w", name, err), os.RemoveAll(temp))
	}
	dir := filepath.Join(e.config.Dir, name)
	if err := errors.Join(os.Rename(temp, dir), atomicfile.SyncDir(e.config.Dir)); err != nil {
		return fmt.Errorf("engine: stream %q: %w", name, err)
	}
	s, err := openStream(e, dir, c)
	if err == nil {
		e.streams[name] = s
	}
	return err
}

// restore writes the stream to a directory.
func (e *Engine) restore(ctx context.Context, dir string, c engine.Config, last uint64, read func() ([]byte, error)) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	if err := writeConfig(filepath.Join(dir, configName), c); err != nil {
		return err
	}
	bare := engine.Config{Name: c.Name, Tags: c.Tags, DuplicateWindow: c.DuplicateWindow, SharedIDs: c.SharedIDs} // nothing is removed yet
	s, err := openStream(e, dir, bare)
	if err != nil {
		return err
	}
	err = s.restoreParts(ctx, read)
	if err == nil {
		s.log.Pass(last + 1)
		err = s.settle(ctx)
	}
	return errors.Join(err, s.close(ctx))
}

func (s *stream) restoreParts(ctx context.Context, read func() ([]byte, error)) error {
	for {
		part, err := read()
		if errors.Is(err, io.EOF) {
			err = errors.New("the snapshot ends early: its end is missing")
		}
		if err != nil {
			return err
		}
		if len(part) == 0 {
			return errors.New("the snapshot has an empty part")
		}
		d := decoder{b: part[1:]}
		switch part[0] {
		case partCursor:
			n := d.cursor()
			n.dirty = true
			s.mu.Lock()
			s.named[n.name] = n
			s.mu.Unlock()
		case partRecords:
			for len(d.b) > 0 && d.err == nil {
				if r := d.record(); d.err == nil {
					s.log.Insert(&r)
				}
			}
			if d.err == nil {
				d.err = s.settle(ctx)
			}
		case partEnd:
			return nil
		default:
			return fmt.Errorf("the snapshot has a part of kind %q, which this program does not know", part[0])
		}
		if d.err != nil {
			return d.err
		}
	}
}
