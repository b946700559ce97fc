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
			again = again || n.dirty
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
		if anew || n.dirty {
			b = appendEntry(b, packed.AppendCursor([]byte{cursorPosition}, n.info()))
			n.dirty = false
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

// loadCursors reads the named cursors. An entry that a process has not written completely is the last one, and does not count.
func (s *stream) loadCursors() error {
	b, err := os.ReadFile(s.positions.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("positions: %w", err)
	}
	s.positions.anew = true
	if len(b) == 0 {
		return nil
	}
	if b[0] != positionsVersion {
		return fmt.Errorf("%s has version %d, this program reads version %d", s.positions.path, b[0], positionsVersion)
	}
	for b = b[1:]; len(b) >= 8; {
		n := uint64(binary.BigEndian.Uint32(b))
		if n > uint64(len(b)-8) || crc32.Checksum(b[8:8+n], castagnoli) != binary.BigEndian.Uint32(b[4:]) || n == 0 {
			s.engine.config.Log.Warn("the positions of durables end with bytes that are none: the positions before count", "stream", s.dir, "bytes", len(b))
			break
		}
		d := packed.Decoder{B: b[9 : 8+n]}
		switch b[8] {
		case cursorPosition:
			if c := d.Cursor(); d.Err == nil {
				s.named[c.Name] = newNamedCursor(c)
			}
		case cursorDeleted:
			delete(s.named, d.Text())
		}
		b = b[8+n:]
	}
	return nil
}
