package spool

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const suffix = ".spool"

// segment is one file of messages.
type segment struct {
	path  string
	first uint64 // index of its first message
	born  birth
	size  int64    // bytes; what may lie behind is not part of it
	file  *os.File // nil while it is not needed
	syncs int      // calls of Sync that use file
	gone  bool     // the file is to be closed after these calls
}

func segmentName(first uint64, born birth) string {
	return fmt.Sprintf("%020d-%016x%s", first, uint64(born), suffix)
}

func parseSegmentName(name string) (first uint64, born birth, ok bool) {
	index, number, ok := strings.Cut(strings.TrimSuffix(name, suffix), "-")
	if !ok {
		return 0, 0, false
	}
	first, err := strconv.ParseUint(index, 10, 64)
	if err != nil {
		return 0, 0, false
	}
	random, err := strconv.ParseUint(number, 16, 64)
	return first, birth(random), err == nil && segmentName(first, birth(random)) == name
}

// listSegments returns the segments of a directory, oldest first.
func listSegments(dir string) ([]*segment, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("spool: %w", err)
	}
	var all []*segment
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), suffix) {
			continue
		}
		first, born, ok := parseSegmentName(e.Name())
		if !ok || !e.Type().IsRegular() {
			return nil, fmt.Errorf("spool: %s is no file of a spool: remove it from the directory", filepath.Join(dir, e.Name()))
		}
		info, err := e.Info()
		if err != nil {
			return nil, fmt.Errorf("spool: %w", err)
		}
		all = append(all, &segment{path: filepath.Join(dir, e.Name()), first: first, born: born, size: info.Size()})
	}
	slices.SortStableFunc(all, func(a, b *segment) int { // by index; equal ones, which have no message but in the last, as they are named
		switch {
		case a.first < b.first:
			return -1
		case a.first > b.first:
			return 1
		}
		return 0
	})
	return all, nil
}

// end returns the index behind the last message that the segment has had, which is the last one of a spool. A record that is
// damaged counts, an incomplete one does not.
func (s *segment) end() (uint64, error) {
	b, err := os.ReadFile(s.path)
	if err != nil {
		return 0, fmt.Errorf("spool: %w", err)
	}
	salt, end := s.born.salt(), s.first
	for len(b) > 0 {
		h, state := parseRecord(b, salt)
		switch {
		case state == intact || state == damaged && h.size > 0:
			end, b = max(end, h.index+1), b[h.length():]
			continue
		case state == incomplete && h.size > 0: // the process died while it wrote this record
			return end, nil
		}
		at, index := nextIntact(b, 1, salt, end, ^uint64(0))
		switch {
		case at < len(b):
			end, b = index, b[at:]
		case state == damaged:
			return end + 1, nil // one message or more
		default:
			return end, nil
		}
	}
	return end, nil
}

// open opens the file for reading, if it is not open.
func (s *segment) open() error {
	if s.file != nil {
		return nil
	}
	f, err := os.Open(s.path)
	if err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	s.file = f
	return nil
}

// close closes the file, at once or after the calls of Sync that use it.
func (s *segment) close() {
	if s.syncs > 0 {
		s.gone = true
		return
	}
	if s.file != nil {
		_ = s.file.Close() // what was written is written; Sync reports errors of the disk
		s.file = nil
	}
}
