// Package packed is how files and archives write what the contract of engines has: records, configurations and cursors.
//
// Integers are those of encoding/binary, uvarint or varint. A text is its length and its bytes.
package packed

import (
	"encoding/binary"
	"errors"
	"time"

	"example.com/ferry"
	"example.com/ferry/engine"
)

// AppendText appends a text.
func AppendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// The flags of a configuration.
const (
	flagSharedIDs = 1 << iota
	flagInMemory
)

// AppendConfig appends the configuration of a stream.
func AppendConfig(b []byte, c engine.Config) []byte {
	b = AppendText(b, c.Name)
	b = binary.AppendUvarint(b, uint64(len(c.Tags)))
	for _, tag := range c.Tags {
		b = AppendText(b, tag)
	}
	flags := uint64(0)
	if c.SharedIDs {
		flags |= flagSharedIDs
	}
	if c.InMemory {
		flags |= flagInMemory
	}
	for _, n := range []uint64{
		uint64(c.Replicas), uint64(c.MaxAge), uint64(c.MaxBytes), uint64(c.MaxRecords), uint64(c.MaxPerTag), uint64(c.DuplicateWindow), flags,
	} {
		b = binary.AppendUvarint(b, n)
	}
	return b
}

// AppendCursor appends what outlives the holder of a named cursor.
func AppendCursor(b []byte, c engine.CursorInfo) []byte {
	b = AppendText(AppendText(AppendText(AppendText(b, c.Name), c.Filter), c.Where), c.Owner)
	b = binary.AppendUvarint(b, c.Position.Floor)
	b = binary.AppendUvarint(b, uint64(len(c.Position.Done)))
	for _, r := range c.Position.Done {
		b = binary.AppendUvarint(binary.AppendUvarint(b, r.First), r.Count)
	}
	b = binary.AppendUvarint(b, uint64(len(c.Position.Deliveries)))
	for _, d := range c.Position.Deliveries {
		b = binary.AppendUvarint(binary.AppendUvarint(b, d.Sequence), uint64(d.Count))
	}
	return b
}

// AppendRecord appends a record.
func AppendRecord(b []byte, r *engine.Record) []byte {
	b = binary.AppendUvarint(b, r.Sequence)
	b = binary.AppendVarint(b, r.Stored)
	b = binary.AppendVarint(b, r.Time)
	validated := byte(0)
	if r.Validated {
		validated = 1
	}
	b = append(b, byte(r.Type), validated)
	b = AppendText(AppendText(b, r.Tag), r.ID)
	b = append(binary.AppendUvarint(b, uint64(len(r.Extension))), r.Extension...)
	return append(binary.AppendUvarint(b, uint64(len(r.Payload))), r.Payload...)
}

var errShort = errors.New("the bytes end early")

// Decoder reads what the functions above append. After an error its methods return zero values.
type Decoder struct {
	B   []byte // that are left
	Err error
}

// Uint returns an unsigned integer.
func (d *Decoder) Uint() uint64 {
	v, n := binary.Uvarint(d.B)
	return advance(d, v, n)
}

// Int returns a signed integer.
func (d *Decoder) Int() int64 {
	v, n := binary.Varint(d.B)
	return advance(d, v, n)
}

func advance[T int64 | uint64](d *Decoder, v T, n int) T {
	if n <= 0 {
		d.B, d.Err = nil, errShort
		return 0
	}
	d.B = d.B[n:]
	return v
}

func (d *Decoder) byte() byte {
	if len(d.B) == 0 {
		d.Err = errShort
		return 0
	}
	v := d.B[0]
	d.B = d.B[1:]
	return v
}

func (d *Decoder) bytes() []byte {
	n := d.Uint()
	if n > uint64(len(d.B)) {
		d.B, d.Err = nil, errShort
		return nil
	}
	v := d.B[:n:n]
	d.B = d.B[n:]
	return v
}

// Text returns a text.
func (d *Decoder) Text() string { return string(d.bytes()) }

// Config returns the configuration of a stream.
func (d *Decoder) Config() engine.Config {
	c := engine.Config{Name: d.Text()}
	for range min(d.Uint(), uint64(len(d.B))) {
		c.Tags = append(c.Tags, d.Text())
	}
	c.Replicas = int(d.Uint())
	c.MaxAge, c.MaxBytes, c.MaxRecords, c.MaxPerTag = time.Duration(d.Uint()), int64(d.Uint()), int64(d.Uint()), int64(d.Uint())
	c.DuplicateWindow = time.Duration(d.Uint())
	flags := d.Uint()
	c.SharedIDs, c.InMemory = flags&flagSharedIDs != 0, flags&flagInMemory != 0
	return c
}

// Cursor returns a named cursor.
func (d *Decoder) Cursor() engine.CursorInfo {
	c := engine.CursorInfo{Name: d.Text(), Filter: d.Text(), Where: d.Text(), Owner: d.Text()}
	c.Position.Floor = d.Uint()
	for range min(d.Uint(), uint64(len(d.B))) {
		c.Position.Done = append(c.Position.Done, engine.Range{First: d.Uint(), Count: d.Uint()})
	}
	for range min(d.Uint(), uint64(len(d.B))) {
		c.Position.Deliveries = append(c.Position.Deliveries, engine.Deliveries{Sequence: d.Uint(), Count: uint32(d.Uint())})
	}
	return c
}

// Record returns a record. Its Extension and Payload are parts of B.
func (d *Decoder) Record() engine.Record {
	return engine.Record{
		Sequence: d.Uint(), Stored: d.Int(), Time: d.Int(), Type: ferry.Type(d.byte()), Validated: d.byte() != 0,
		Tag: d.Text(), ID: d.Text(), Extension: d.bytes(), Payload: d.bytes(),
	}
}
