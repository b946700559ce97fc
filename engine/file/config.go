package file

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"time"

	"example.com/ferry/engine"
	"example.com/ferry/internal/atomicfile"
)

// configVersion is the version of the file with the Config of a stream.
const configVersion = 1

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// writeConfig replaces the file with the Config of a stream.
func writeConfig(path string, c engine.Config) error {
	b := appendConfig([]byte{configVersion}, c)
	return atomicfile.Write(path, binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli)), 0o600)
}

func readConfig(path string) (engine.Config, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return engine.Config{}, err
	}
	n := len(b) - 4
	switch {
	case n < 1 || crc32.Checksum(b[:n], castagnoli) != binary.BigEndian.Uint32(b[n:]):
		return engine.Config{}, fmt.Errorf("%s is damaged: restore it from a backup, or write the file of a stream with the same configuration", path)
	case b[0] != configVersion:
		return engine.Config{}, fmt.Errorf("%s has version %d, this program reads version %d", path, b[0], configVersion)
	}
	d := decoder{b: b[1:n]}
	c := d.config()
	return c, d.err
}

func appendConfig(b []byte, c engine.Config) []byte {
	b = appendText(b, c.Name)
	b = binary.AppendUvarint(b, uint64(len(c.Tags)))
	for _, tag := range c.Tags {
		b = appendText(b, tag)
	}
	flags := uint64(0)
	if c.SharedIDs {
		flags |= 1
	}
	if c.InMemory {
		flags |= 2
	}
	for _, n := range []uint64{uint64(c.MaxAge), uint64(c.MaxBytes), uint64(c.MaxRecords), uint64(c.MaxPerTag), uint64(c.DuplicateWindow), flags} {
		b = binary.AppendUvarint(b, n)
	}
	return b
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// decoder reads what the functions above append.
type decoder struct {
	b   []byte
	err error
}

var errShort = errors.New("the bytes end early")

func (d *decoder) uint() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.b, d.err = nil, errShort
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) bytes() []byte {
	n := d.uint()
	if n > uint64(len(d.b)) {
		d.b, d.err = nil, errShort
		return nil
	}
	v := d.b[:n]
	d.b = d.b[n:]
	return v
}

func (d *decoder) text() string { return string(d.bytes()) }

func (d *decoder) config() engine.Config {
	c := engine.Config{Name: d.text(), Replicas: 1}
	for range min(d.uint(), uint64(len(d.b))) {
		c.Tags = append(c.Tags, d.text())
	}
	c.MaxAge, c.MaxBytes, c.MaxRecords, c.MaxPerTag = time.Duration(d.uint()), int64(d.uint()), int64(d.uint()), int64(d.uint())
	c.DuplicateWindow = time.Duration(d.uint())
	flags := d.uint()
	c.SharedIDs, c.InMemory = flags&1 != 0, flags&2 != 0
	return c
}
