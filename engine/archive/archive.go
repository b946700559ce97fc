package archive

import (
	"context"
	"hash/crc32"

	"example.com/ferry/engine"
)

// version is the version of archives. Open reads no other.
const version = 1

// magic begins the head.
const magic = "ferrystream"

// The kinds of parts. A part is its kind, its content and a sum.
const (
	partHead    = 'H'
	partCursor  = 'C'
	partRecords = 'R'
	partRemoved = 'D'
	partEnd     = 'E'

	partSize = 128 << 10 // of records, at which a part ends
	sumSize  = 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sum returns the sum of a part, which is the number-th of its archive.
func sum(number uint32, part []byte) uint32 {
	position := [4]byte{byte(number >> 24), byte(number >> 16), byte(number >> 8), byte(number)}
	return crc32.Update(crc32.Checksum(position[:], castagnoli), castagnoli, part)
}

// Head is what an archive says of its stream.
type Head struct {
	Config  engine.Config
	First   uint64 // the records have numbers from First to Last, and those that are missing are removed
	Last    uint64 // the next record gets a greater number
	Records uint64 // when the archive was begun; retention may have removed some since
}

// Restorer is an Engine that makes streams from archives.
type Restorer interface {
	// Restore makes the stream that an archive has, with its cursors. It is there completely, or after an error not at all. It
	// returns engine.ErrExists if the stream exists.
	Restore(ctx context.Context, a *Reader) (Restored, error)
}

// Restored says what a copy has not kept.
type Restored struct {
	// Renumbered means that the records have other sequence numbers. The positions of the cursors are translated.
	Renumbered bool
}
