package log

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"sort"
	"strconv"
	"strings"
)

const (
	version     = 1
	headerSize  = 32 // of a segment
	trailerSize = 16
	markEvery   = 16 << 10
	suffix      = ".log"
	tempSuffix  = ".new"
)

var (
	headMagic = [8]byte{'f', 'e', 'r', 'r', 'y', 'l', 'o', 'g'}
	endMagic  = [8]byte{'f', 'e', 'r', 'r', 'y', 'e', 'n', 'd'}
)

// segment is one file of frames. The lock of the Log guards it.
type segment struct {
	first, last uint64 // the numbers that it has had; last is first-1 if there is none
	serial      uint64 // of two segments with one number, that with the greater serial has it
	salt        uint32
	size        int64 // of the header and the frames, without the summary
	sealed      bool  // it has a summary
	damaged     bool  // a Reader has found bytes that are no frame

	records    uint64 // that are left
	bytes      int64  // of these
	holes      int64  // bytes of removed records between others
	lastStored int64
	ids        uint64 // frames with IDs
	marks      []mark
	tags       counts
	removals   []Range // that its frames name, until it is sealed
	compacting bool    // its records are being copied
}

// mark says where a record begins. There is one about every markEvery bytes.
type mark struct {
	sequence uint64
	stored   int64
	offset   int64
}

// name returns the name of the file.
func (s *segment) name() string {
	return fmt.Sprintf("%020d-%08x-%08x%s", s.first, s.serial, s.salt, suffix)
}

// parseName reads the name of a segment.
func parseName(name string) (*segment, bool) {
	parts := strings.Split(strings.TrimSuffix(name, suffix), "-")
	if len(parts) != 3 {
		return nil, false
	}
	s := new(segment)
	var err [3]error
	var salt uint64
	s.first, err[0] = strconv.ParseUint(parts[0], 10, 64)
	s.serial, err[1] = strconv.ParseUint(parts[1], 16, 64)
	salt, err[2] = strconv.ParseUint(parts[2], 16, 32)
	s.salt = uint32(salt)
	s.last = s.first - 1
	return s, err == [3]error{} && s.first > 0 && s.name() == name
}

// header returns the first bytes of the file.
func (s *segment) header() []byte {
	b := make([]byte, 0, headerSize)
	b = append(b, headMagic[:]...)
	b = binary.BigEndian.AppendUint32(b, version)
	b = binary.BigEndian.AppendUint32(b, s.salt)
	b = binary.BigEndian.AppendUint64(b, s.first)
	return sumHeader(binary.BigEndian.AppendUint64(b, 0))
}

// sumHeader sets the sum of a header, which is its last four bytes.
func sumHeader(b []byte) []byte {
	binary.BigEndian.PutUint32(b[28:], crc32.Checksum(b[:28], castagnoli))
	return b
}

// checkHeader returns an error for a version that this program does not know. A damaged header is no error: the name says what it says.
func (s *segment) checkHeader(f File) error {
	var b [headerSize]byte
	if n, _ := f.ReadAt(b[:], 0); n < headerSize || crc32.Checksum(b[:28], castagnoli) != binary.BigEndian.Uint32(b[28:]) || [8]byte(b[:8]) != headMagic {
		return nil
	}
	if v := binary.BigEndian.Uint32(b[8:]); v != version {
		return fmt.Errorf("log: segment %s has version %d of the format, this program reads version %d: use the program that has written it, or a newer one", s.name(), v, version)
	}
	return nil
}

// place adds the record of an entry at an offset.
func (s *segment) place(e *entry, offset int64) {
	if n := len(s.marks); n == 0 || offset-s.marks[n-1].offset >= markEvery {
		s.marks = append(s.marks, mark{e.sequence, e.stored, offset})
	}
	s.lastStored = e.stored
	s.last = e.sequence
}

// offsetOf returns where to look for the record with a number, or the first one stored at a time.
func (s *segment) offsetOf(is func(mark) bool) int64 {
	i := sort.Search(len(s.marks), func(i int) bool { return !is(s.marks[i]) })
	if i == 0 {
		return headerSize
	}
	return s.marks[i-1].offset
}

// appendSummary appends the summary, which begins at offset end, and the trailer.
func (s *segment) appendSummary(dst []byte, end int64) []byte {
	var b []byte
	for _, n := range []uint64{s.last, s.records, uint64(s.bytes), uint64(s.holes), uint64(s.lastStored), s.ids, uint64(len(s.marks))} {
		b = binary.AppendUvarint(b, n)
	}
	var before mark
	for _, m := range s.marks {
		b = binary.AppendUvarint(b, m.sequence-before.sequence)
		b = binary.AppendVarint(b, m.stored-before.stored)
		b = binary.AppendUvarint(b, uint64(m.offset-before.offset))
		before = m
	}
	b = binary.AppendUvarint(b, uint64(len(s.tags.sealed)))
	for _, c := range s.tags.sealed {
		b = binary.AppendUvarint(b, uint64(len(c.tag.name)))
		b = append(b, c.tag.name...)
		b = binary.AppendUvarint(b, uint64(c.n))
	}
	b = appendRanges(b, s.removals)
	dst = appendFrame(dst, s.salt, frame{kind: summary, sequence: s.last, body: b})
	dst = binary.BigEndian.AppendUint64(dst, uint64(end))
	return append(dst, endMagic[:]...)
}

// loadSummary reads what appendSummary has written, and returns false if the file has none that is intact.
func (s *segment) loadSummary(f File, tagOf func([]byte) *tag) bool {
	size, err := f.Size()
	if err != nil || size < headerSize+frameHeader+trailerSize {
		return false
	}
	var trailer [trailerSize]byte
	if _, err := f.ReadAt(trailer[:], size-trailerSize); err != nil || [8]byte(trailer[8:]) != endMagic {
		return false
	}
	at := int64(binary.BigEndian.Uint64(trailer[:]))
	if at < headerSize || at > size-trailerSize-frameHeader {
		return false
	}
	b := make([]byte, size-trailerSize-at)
	if _, err := f.ReadAt(b, at); err != nil {
		return false
	}
	sum, state := parse(b, s.salt)
	if state != intact || sum.kind != summary {
		return false
	}
	d := decoder{b: sum.body}
	s.size, s.sealed = at, true
	s.last, s.records, s.bytes, s.holes, s.lastStored, s.ids = d.uint(), d.uint(), int64(d.uint()), int64(d.uint()), int64(d.uint()), d.uint()
	var m mark
	s.marks = make([]mark, 0, min(d.uint(), uint64(len(d.b))))
	for range cap(s.marks) {
		m.sequence += d.uint()
		m.stored += d.int()
		m.offset += int64(d.uint())
		s.marks = append(s.marks, m)
	}
	n := d.uint()
	s.tags.sealed = make([]tagCount, 0, min(n, uint64(len(d.b))))
	for range cap(s.tags.sealed) {
		t := tagOf(d.bytes())
		s.tags.sealed = append(s.tags.sealed, tagCount{t, uint32(d.uint())})
	}
	s.removals = parseRanges(nil, d.b)
	return !d.failed
}

// decoder reads the fields of a body whose sum was right.
type decoder struct {
	b      []byte
	failed bool
}

func (d *decoder) uint() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.failed, d.b = true, nil
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) int() int64 {
	v, n := binary.Varint(d.b)
	if n <= 0 {
		d.failed, d.b = true, nil
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) bytes() []byte {
	n := d.uint()
	if n > uint64(len(d.b)) {
		d.failed, d.b = true, nil
		return nil
	}
	v := d.b[:n]
	d.b = d.b[n:]
	return v
}

// find returns the index of the first segment whose last number is at least n.
func find(segments []*segment, n uint64) int {
	return sort.Search(len(segments), func(i int) bool { return segments[i].last >= n })
}

// without returns the segments except those of gone.
func without(segments, gone []*segment) []*segment {
	return slices.DeleteFunc(segments, func(s *segment) bool { return slices.Contains(gone, s) })
}
