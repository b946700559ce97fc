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

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// openPosition opens the file that has the index of the first message that was not advanced, and returns the index; 0 if the file is new
// or damaged. It is never synced: with an older position, messages are delivered again.
func openPosition(dir string) (index uint64, f *os.File, err error) {
	if f, err = os.OpenFile(filepath.Join(dir, "position"), os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return 0, nil, err
	}
	var b [12]byte
	if _, err := f.ReadAt(b[:], 0); err != nil && !errors.Is(err, io.EOF) {
		_ = f.Close()
		return 0, nil, err
	}
	if crc32.Checksum(b[:8], castagnoli) == binary.BigEndian.Uint32(b[8:]) {
		index = binary.BigEndian.Uint64(b[:])
	}
	return index, f, nil
}

func (s *Spool) storePosition(index uint64) error {
	b := binary.BigEndian.AppendUint64(nil, index)
	if _, err := s.position.WriteAt(binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli)), 0); err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	return nil
}
