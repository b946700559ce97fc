package nats

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"strconv"

	"github.com/minio/highwayhash"
)

// The form of a record in a block file of nats-server (filestore.go, writeMsgRecordLocked). Numbers are little endian.
//
//	length (4, its highest bit says that there are headers), sequence number (8), Unix nanoseconds (8), length of the subject (2),
//	subject, [length of the headers (4), headers,] payload, HighwayHash-64 of all but the lengths (8)
//
// A tombstone says that another record was removed.
const (
	blockHead      = 22
	blockHash      = 8
	blockHeaders   = 1 << 31  // of the length
	blockErased    = 1 << 63  // of the sequence number
	blockTombstone = 1 << 62  // of the sequence number
	maxBlockRecord = 32 << 20 // the server takes a longer record for damage
)

// blockRecord is one record of a block file. Its slices are parts of the buffer.
type blockRecord struct {
	sequence                 uint64 // 0: a tombstone, or a record that was erased
	stored                   int64
	subject, header, payload []byte
}

var (
	errBlock = errors.New("the block has bytes that are no record")
	errHash  = errors.New("a record of the block does not match its hash")
)

// blockParser cuts the bytes of one block file into records.
type blockParser struct {
	hash *highwayhash.Digest64
	sum  [blockHash]byte
}

// newBlockParser returns the parser for a block of a JetStream stream. The server derives the key of the hashes from both.
func newBlockParser(name string, block uint64) (*blockParser, error) {
	key := sha256.Sum256([]byte(name + "-" + strconv.FormatUint(block, 10)))
	hash, err := highwayhash.NewDigest64(key[:])
	return &blockParser{hash: hash}, err
}

// next returns the record at the begin of b and its length. If b ends within the record, it returns io.ErrUnexpectedEOF and how
// many bytes it needs at least. It returns errBlock if the bytes cannot be a record, and errHash and the length if they do not match
// their hash.
func (p *blockParser) next(b []byte) (r blockRecord, n int, err error) {
	if len(b) < blockHead {
		return r, blockHead, io.ErrUnexpectedEOF
	}
	length := binary.LittleEndian.Uint32(b)
	n = int(length &^ blockHeaders)
	sequence := binary.LittleEndian.Uint64(b[4:])
	if n < blockHead+blockHash || n > maxBlockRecord {
		return r, 0, errBlock
	}
	if len(b) < n {
		return r, n, io.ErrUnexpectedEOF
	}
	end := n - blockHash
	subject := int(binary.LittleEndian.Uint16(b[20:]))
	at := blockHead + subject
	hasHeaders := length&blockHeaders != 0
	if hasHeaders {
		at += 4
	}
	if at > end {
		return r, 0, errBlock
	}
	p.hash.Reset()
	_, _ = p.hash.Write(b[4:20]) // a hash returns no error
	_, _ = p.hash.Write(b[blockHead : blockHead+subject])
	_, _ = p.hash.Write(b[at:end])
	if string(p.hash.Sum(p.sum[:0])) != string(b[end:n]) {
		return r, n, errHash
	}
	if sequence&(blockErased|blockTombstone) != 0 {
		return r, n, nil
	}
	r.sequence, r.stored = sequence, int64(binary.LittleEndian.Uint64(b[12:]))
	r.subject = b[blockHead : blockHead+subject]
	if hasHeaders {
		header := uint64(binary.LittleEndian.Uint32(b[at-4:]))
		if header > uint64(end-at) {
			return blockRecord{}, 0, errBlock
		}
		r.header = b[at : at+int(header)]
		at += int(header)
	}
	r.payload = b[at:end:end]
	return r, n, nil
}

// firstInBlock returns the number of the first record that is not a tombstone, at the begin of a block. It returns 0 if there is none in b.
func firstInBlock(b []byte) uint64 {
	for len(b) >= blockHead {
		sequence := binary.LittleEndian.Uint64(b[4:])
		if sequence&blockTombstone == 0 && sequence&^blockErased != 0 {
			return sequence &^ blockErased
		}
		n := int(binary.LittleEndian.Uint32(b) &^ blockHeaders)
		if n < blockHead+blockHash || n > len(b) {
			return 0
		}
		b = b[n:]
	}
	return 0
}
