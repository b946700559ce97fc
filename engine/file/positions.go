package file

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"sync"
	"time"

	"example.com/ferry/engine"
	"example.com/ferry/engine/internal/named"
	"example.com/ferry/engine/internal/packed"
	"example.com/ferry/internal/atomicfile"
)

const (
	positionsName    = "cursors"
	positionsVersion = 1
	rewriteFrom      = 64 << 10    // bytes from which on the file is written anew when it is mostly old positions
	positionsSync    = time.Second // between a position and its sync
)

// The kinds of entries.
const (
	cursorPosition = 1 + iota
	cursorDeleted
)

// positions is the file with the named cursors of a stream. Each change is appended; the last one of a cursor counts.
type positions struct {
	path     string
	deleted  []string // names to be removed. The lock of the stream guards it
	flushing bool     // a goroutine writes. The lock of the stream guards it
	timer    *time.Timer
	syncing  bool // timer runs. The lock of the stream guards it
	closed   bool

	mu     sync.Mutex // held while the file is written; taken before the lock of the stream
	file   *os.File
	size   int64
	live   int64 // bytes of one position of each cursor
	anew   bool  // the file cannot be continued: it is written anew
	synced bool
	ended  bool // close has stored the last positions
}

// changed has a position written soon. The caller holds the lock of the stream.
func (p *positions) changed(s *stream) {
	if p.flushing || p.closed {
		return
	}
	p.flushing = true
	go p.run(s)
}

// run writes until nothing has changed, and has it synced later.
func (p *positions) run(s *stream) {
	for {
		err := p.flush(s, false)
		s.mu.Lock()
		again := false
		for _, n := range s.named {
			again = again || n.Dirty
		}
		if err == nil && again && !p.closed {
			s.mu.Unlock()
			continue
		}
		p.flushing = false
		p.syncLater(s)
		s.mu.Unlock()
		return
	}
}

// syncLater has later called, unless it will be. The caller holds the lock of the stream.
func (p *positions) syncLater(s *stream) {
	switch {
	case p.closed || p.syncing:
		return
	case p.timer == nil:
		p.timer = time.AfterFunc(positionsSync, func() { p.later(s) })
	default:
		p.timer.Reset(positionsSync)
	}
	p.syncing = true
}

// later syncs what run has written, and writes again what it could not write.
func (p *positions) later(s *stream) {
	s.mu.Lock()
	p.syncing = false
	s.mu.Unlock()
	if err := p.flush(s, true); err != nil {
		s.engine.config.Log.Warn("positions of durables are not stored: after a restart messages may be delivered again", "stream", s.configured().Name, "err", err)
		s.mu.Lock()
		p.syncLater(s)
		s.mu.Unlock()
	}
}

// flush writes what has changed.
func (p *positions) flush(s *stream, sync bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return nil
	}
	s.mu.Lock()
	anew := p.anew || p.file == nil || p.size > rewriteFrom && p.size > 4*p.live
	var b []byte
	if anew {
		b = append(b, positionsVersion)
	} else {
		for _, name := range p.deleted {
			b = appendEntry(b, packed.AppendText([]byte{cursorDeleted}, name))
		}
	}
	p.live = 0
	for _, n := range s.named {
		start := len(b)
		if anew || n.Dirty {
			b = appendEntry(b, packed.AppendCursor([]byte{cursorPosition}, n.CursorInfo))
			n.Dirty = false
			p.live += int64(len(b) - start)
		} else {
			p.live += 32
		}
	}
	p.deleted = nil
	s.mu.Unlock()
	err := p.write(b, anew, sync)
	if p.anew = err != nil; p.anew {
		err = fmt.Errorf("positions: %w", err)
	}
	return err
}

// write appends to the file, or replaces it.
func (p *positions) write(b []byte, anew, sync bool) error {
	if anew {
		if p.file != nil {
			_ = p.file.Close() // it is replaced
			p.file = nil
		}
		if err := atomicfile.Write(p.path, b, 0o600); err != nil {
			return err
		}
		f, err := os.OpenFile(p.path, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		p.file, p.size, p.synced = f, int64(len(b)), true
		return nil
	}
	if len(b) > 0 {
		p.synced = false
		if _, err := p.file.WriteAt(b, p.size); err != nil {
			return err
		}
		p.size += int64(len(b))
	}
	if sync && !p.synced {
		if err := p.file.Sync(); err != nil {
			return err
		}
		p.synced = true
	}
	return nil
}

// close stores the last positions and closes the file.
func (p *positions) close(s *stream) error {
	s.mu.Lock()
	p.closed = true
	if p.timer != nil {
		p.timer.Stop()
	}
	none := len(s.named) == 0
	s.mu.Unlock()
	p.mu.Lock()
	none = none && p.file == nil
	p.ended = none // a goroutine that comes late writes nothing: the directory may be another process's
	p.mu.Unlock()
	if none {
		return nil
	}
	err := p.flush(s, true)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	if p.file != nil {
		err = errors.Join(err, p.file.Close())
		p.file = nil
	}
	return err
}

// appendEntry appends a length, a sum and a body.
func appendEntry(b, body []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(body)))
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(body, castagnoli))
	return append(b, body...)
}

// entry is one change of a named cursor.
type entry struct {
	kind   byte
	cursor engine.CursorInfo // of a cursorDeleted only the name
	size   int               // bytes in the file
}

// parseEntry reads the entry that b begins with, and returns false if it begins with none.
func parseEntry(b []byte) (e entry, ok bool) {
	if len(b) < 9 {
		return e, false
	}
	n := uint64(binary.BigEndian.Uint32(b))
	e.kind = b[8]
	if n == 0 || n > uint64(len(b)-8) || e.kind != cursorPosition && e.kind != cursorDeleted {
		return e, false
	}
	body := b[8 : 8+n]
	if crc32.Checksum(body, castagnoli) != binary.BigEndian.Uint32(b[4:]) {
		return e, false
	}
	d := packed.Decoder{B: body[1:]}
	if e.kind == cursorPosition {
		e.cursor = d.Cursor()
	} else {
		e.cursor.Name = d.Text()
	}
	e.size = 8 + len(body)
	return e, d.Err == nil
}

// parsePositions returns the named cursors that a file has. Bytes that are no entry are passed over. At the end of the file they are an entry
// that a process has not written completely; elsewhere they are damage.
func parsePositions(path string, b []byte) (all named.Cursors, damaged, tail int, err error) {
	all = named.Cursors{}
	if len(b) == 0 {
		return all, 0, 0, nil
	}
	if b[0] != positionsVersion {
		return nil, 0, 0, fmt.Errorf("%s has version %d, this program reads version %d", path, b[0], positionsVersion)
	}
	end := 1 // of the last entry
	for at := 1; at < len(b); {
		e, ok := parseEntry(b[at:])
		if !ok {
			at++
			continue
		}
		if e.kind == cursorPosition {
			all[e.cursor.Name] = &named.Cursor{CursorInfo: e.cursor}
		} else {
			delete(all, e.cursor.Name)
		}
		damaged += at - end
		at += e.size
		end = at
	}
	if end == 1 { // a file is made with its first entries, complete
		return all, len(b) - end, 0, nil
	}
	return all, damaged, len(b) - end, nil
}

// loadCursors reads the named cursors. A file with damage is kept beside the one that replaces it.
func (s *stream) loadCursors() error {
	path := s.positions.path
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("positions: %w", err)
	}
	s.positions.anew = true
	all, damaged, tail, err := parsePositions(path, b)
	if err != nil {
		return err
	}
	s.named = all
	if tail > 0 {
		s.engine.config.Log.Warn("the positions of durables end with an entry that was not written completely: it does not count", "file", path, "bytes", tail)
	}
	if damaged == 0 {
		return nil
	}
	kept := fmt.Sprintf("%s.damaged-%08x", path, crc32.Checksum(b, castagnoli))
	s.engine.config.Log.Error("the file with the positions of durables is damaged: a durable may be lost, have an older position, or be back though it was deleted",
		"file", path, "bytes", damaged, "durables_left", len(s.named), "kept_as", kept)
	if err := atomicfile.Write(kept, b, 0o600); err != nil {
		return fmt.Errorf("positions: the damaged file cannot be kept: %w", err)
	}
	return nil
}
