package spool

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"math"
	"time"

	"example.com/ferry"
)

const (
	headerSize = 20
	fieldsSize = 16 // of the body: what comes before the tag
)

// Limits of a message, in bytes.
const (
	maxText = math.MaxUint16 // of the tag, the ID and the key, each
	maxBody = 1 << 30
)

// birth is the random number of the Open that has created a file.
type birth uint64

// salt is the value that the sums of a file's records begin with. A payload that contains the bytes of a record cannot be mistaken
// for one after a damage, because its publisher does not know the salt.
func (b birth) salt() uint32 { return uint32(b>>32) ^ uint32(b) }

// prefix begins the IDs of a file's messages. It does not disclose the salt.
func (b birth) prefix() string {
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(nil, uint64(b)))
	return hex.EncodeToString(sum[:8]) + "-"
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// header is the header of a record.
type header struct {
	size  uint32 // of the body
	index uint64
	sum   uint32 // of the body
}

// length returns the length of the record.
func (h header) length() int { return headerSize + int(h.size) }

// checkSize returns an error if m does not fit in a record.
func checkSize(m *ferry.Message) error {
	if len(m.Tag) > maxText || len(m.ID) > maxText || len(m.Key) > maxText {
		return fmt.Errorf("spool: a tag of %d bytes, an ID of %d and a key of %d: each may have %d", len(m.Tag), len(m.ID), len(m.Key), maxText)
	}
	if n := bodySize(m); n > maxBody {
		return fmt.Errorf("spool: a message of %d bytes: a spool takes at most %d", n, maxBody)
	}
	return nil
}

func bodySize(m *ferry.Message) int {
	return fieldsSize + len(m.Tag) + len(m.ID) + len(m.Key) + len(m.Payload)
}

// appendRecord appends the record of m to dst, which has no other content.
func appendRecord(dst []byte, salt uint32, index uint64, m *ferry.Message) []byte {
	dst = append(dst[:0], make([]byte, headerSize)...)
	dst = binary.BigEndian.AppendUint64(dst, uint64(m.Time))
	dst = append(dst, byte(m.Type), 0)
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(m.Tag)))
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(m.ID)))
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(m.Key)))
	dst = append(dst, m.Tag...)
	dst = append(dst, m.ID...)
	dst = append(dst, m.Key...)
	dst = append(dst, m.Payload...)
	binary.BigEndian.PutUint32(dst, uint32(len(dst)-headerSize))
	binary.BigEndian.PutUint64(dst[4:], index)
	binary.BigEndian.PutUint32(dst[12:], crc32.Update(salt, castagnoli, dst[headerSize:]))
	binary.BigEndian.PutUint32(dst[16:], crc32.Update(salt, castagnoli, dst[:16]))
	return dst
}

// state says whether the bytes at an offset are a record.
type state uint8

const (
	intact     state = iota
	incomplete       // the bytes end before the record does
	damaged          // a sum is wrong
)

// parseHeader reads the header at the start of b. The state is that of the header alone.
func parseHeader(b []byte, salt uint32) (h header, s state) {
	if len(b) < headerSize {
		return h, incomplete
	}
	if binary.BigEndian.Uint32(b[16:]) != crc32.Update(salt, castagnoli, b[:16]) {
		return h, damaged
	}
	return header{binary.BigEndian.Uint32(b), binary.BigEndian.Uint64(b[4:]), binary.BigEndian.Uint32(b[12:])}, intact
}

// parseRecord reads the record at the start of b. h is valid if its own state is intact; then h.size is not 0.
func parseRecord(b []byte, salt uint32) (h header, s state) {
	h, s = parseHeader(b, salt)
	switch {
	case s != intact:
	case uint64(h.size) > uint64(len(b)-headerSize):
		s = incomplete
	case crc32.Update(salt, castagnoli, b[headerSize:h.length()]) != h.sum || !fieldsFit(b[headerSize:h.length()]):
		s = damaged
	}
	return h, s
}

// fieldsFit reports whether a body is as long as its fields say.
func fieldsFit(body []byte) bool {
	if len(body) < fieldsSize {
		return false
	}
	tag, id, key := lengths(body)
	return tag+id+key <= len(body)-fieldsSize
}

func lengths(body []byte) (tag, id, key int) {
	return int(binary.BigEndian.Uint16(body[10:])), int(binary.BigEndian.Uint16(body[12:])), int(binary.BigEndian.Uint16(body[14:]))
}

// message returns the message in the body of an intact record. Key and Payload are parts of body. tag is used if it is the
// message's, so that it is not allocated again.
func message(body []byte, tag string) ferry.Message {
	t, i, k := lengths(body)
	m := ferry.Message{Time: int64(binary.BigEndian.Uint64(body)), Type: ferry.Type(body[8])}
	body = body[fieldsSize:]
	if m.Tag = tag; string(body[:t]) != tag {
		m.Tag = string(body[:t])
	}
	m.ID = string(body[t : t+i])
	if k > 0 {
		m.Key = body[t+i : t+i+k : t+i+k]
	}
	m.Payload = body[t+i+k : len(body) : len(body)]
	return m
}

// recordTime returns the time of the message whose record begins with b.
func recordTime(b []byte) time.Time {
	return time.Unix(0, int64(binary.BigEndian.Uint64(b[headerSize:])))
}

// nextIntact returns the offset in b, from at on, of the first intact record whose index lies in low to high-1. It returns len(b)
// and high if there is none.
func nextIntact(b []byte, at int, salt uint32, low, high uint64) (offset int, index uint64) {
	for at+headerSize+fieldsSize <= len(b) {
		h, s := parseHeader(b[at:], salt)
		if s != intact || h.index < low || h.index >= high {
			at++
			continue
		}
		if _, s := parseRecord(b[at:], salt); s == intact {
			return at, h.index
		}
		at += h.length() // the header is intact, so its length can be trusted
	}
	return len(b), high
}
