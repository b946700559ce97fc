package archive

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"example.com/ferry/engine"
	"example.com/ferry/engine/internal/packed"
	"example.com/ferry/internal/topic"
)

// Reader reads an archive.
type Reader struct {
	Head    Head
	Cursors []engine.CursorInfo

	read    func() ([]byte, error)
	number  uint32
	kind    byte
	part    packed.Decoder // what is left of the part
	next    uint64
	records uint64
	err     error
}

// Open reads the head and the cursors of an archive. read returns its parts, and io.EOF behind the last one. A part is used until the
// next call.
func Open(read func() ([]byte, error)) (*Reader, error) {
	r := &Reader{read: read}
	if err := r.begin(); err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	return r, nil
}

func (r *Reader) begin() error {
	err := r.nextPart()
	rest, ours := bytes.CutPrefix(r.part.B, []byte(magic))
	switch {
	case errors.Is(err, errSum) || err == nil && (r.kind != partHead || !ours || len(rest) == 0):
		return errors.New("this is no archive of a stream, or an earlier version of ferry has written it: save the stream again with this one")
	case err != nil:
		return err
	case rest[0] != version:
		return fmt.Errorf("it has version %d, this program reads version %d", rest[0], version)
	}
	d := packed.Decoder{B: rest[1:]}
	r.Head = Head{Config: d.Config(), First: d.Uint(), Last: d.Uint(), Records: d.Uint()}
	if d.Err != nil || r.Head.First == 0 || r.Head.First > r.Head.Last+1 || r.Head.Records > r.Head.Last+1-r.Head.First {
		return errors.New("its head is damaged")
	}
	if err := r.Head.Config.Check(); err != nil {
		return err
	}
	r.next = r.Head.First
	for {
		if err := r.nextPart(); err != nil {
			return err
		}
		if r.kind != partCursor {
			return nil
		}
		c := r.part.Cursor()
		if r.part.Err != nil {
			return fmt.Errorf("a cursor: %w", r.part.Err)
		}
		if err := engine.CheckName("cursor", c.Name); err != nil {
			return err
		}
		r.Cursors = append(r.Cursors, c)
	}
}

var errSum = errors.New("the sum of a part is wrong, or parts are missing before it")

// nextPart reads a part.
func (r *Reader) nextPart() error {
	part, err := r.read()
	if errors.Is(err, io.EOF) {
		return errors.New("its end is missing")
	}
	if err != nil {
		return err
	}
	n := len(part) - sumSize
	if n < 1 || binary.BigEndian.Uint32(part[n:]) != sum(r.number, part[:n]) {
		return fmt.Errorf("part %d: %w", r.number, errSum)
	}
	r.number++
	r.kind, r.part = part[0], packed.Decoder{B: part[1:n]}
	return nil
}

// Next returns the next record, and io.EOF behind the last one of a complete archive. Numbers that it passes over are removed. The bytes of
// a record are valid until the next call.
func (r *Reader) Next() (engine.Record, error) {
	if r.err != nil {
		return engine.Record{}, r.err
	}
	record, err := r.record()
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("archive of stream %q: %w", r.Head.Config.Name, err)
	}
	r.err = err
	return record, err
}

func (r *Reader) record() (engine.Record, error) {
	for {
		switch r.kind {
		case partRecords:
			if len(r.part.B) == 0 {
				break
			}
			record := r.part.Record()
			if r.part.Err != nil {
				return record, fmt.Errorf("a record behind %d: %w", r.next-1, r.part.Err)
			}
			if record.Sequence != r.next || record.Sequence > r.Head.Last {
				return record, fmt.Errorf("record %d is where %d, or that it is removed, is due", record.Sequence, r.next)
			}
			if err := topic.CheckTag(record.Tag); err != nil {
				return record, fmt.Errorf("record %d: %w", record.Sequence, err)
			}
			r.next++
			r.records++
			return record, nil
		case partRemoved:
			first, count := r.part.Uint(), r.part.Uint()
			if r.part.Err != nil || first != r.next || count == 0 || count > r.Head.Last+1-first {
				return engine.Record{}, fmt.Errorf("the removed numbers behind %d are damaged", r.next-1)
			}
			r.next += count
		case partEnd:
			if records := r.part.Uint(); r.part.Err != nil || r.next != r.Head.Last+1 || records != r.records {
				return engine.Record{}, fmt.Errorf("it ends with %d records up to %d, and should have %d up to %d", r.records, r.next-1, records, r.Head.Last)
			}
			return engine.Record{}, io.EOF
		default:
			return engine.Record{}, fmt.Errorf("it has a part of kind %q, which this program does not know", r.kind)
		}
		if err := r.nextPart(); err != nil {
			return engine.Record{}, err
		}
	}
}
