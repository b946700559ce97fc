package spool

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
)

const (
	positionName = "position"
	slotSize     = 20
	slotDistance = 512 // a write of one slot does not touch the sector of the other one
)

// positionFile stores the index of the first message that was not advanced. It has two slots, which are written in turn, so that
// a write that is interrupted damages one of them.
type positionFile struct {
	file    *os.File
	written uint64 // number of writes; the lowest bit selects the slot
	slot    [slotSize]byte
}

// openPosition opens the file, and returns the position that it has. A new file has 0. damaged means that no slot is intact.
func openPosition(dir string) (p *positionFile, position uint64, damaged bool, err error) {
	f, err := os.OpenFile(filepath.Join(dir, positionName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, 0, false, fmt.Errorf("spool: %w", err)
	}
	p = &positionFile{file: f}
	buf := make([]byte, slotDistance+slotSize)
	n, err := f.ReadAt(buf, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		_ = f.Close()
		return nil, 0, false, fmt.Errorf("spool: %w", err)
	}
	for _, slot := range [][]byte{buf[:slotSize], buf[slotDistance:]} {
		written := binary.BigEndian.Uint64(slot)
		if binary.BigEndian.Uint32(slot[16:]) == crc32.Checksum(slot[:16], castagnoli) && written > p.written {
			p.written, position = written, binary.BigEndian.Uint64(slot[8:])
		}
	}
	return p, position, n > 0 && p.written == 0, nil
}

// store writes the position.
func (p *positionFile) store(position uint64) error {
	p.written++
	binary.BigEndian.PutUint64(p.slot[:], p.written)
	binary.BigEndian.PutUint64(p.slot[8:], position)
	binary.BigEndian.PutUint32(p.slot[16:], crc32.Checksum(p.slot[:16], castagnoli))
	if _, err := p.file.WriteAt(p.slot[:], int64(p.written%2)*slotDistance); err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	return nil
}
