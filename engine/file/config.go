package file

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"

	"example.com/ferry/engine"
	"example.com/ferry/engine/internal/packed"
	"example.com/ferry/internal/atomicfile"
)

// configVersion is the version of the file with the Config of a stream.
const configVersion = 1

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// writeConfig replaces the file with the Config of a stream.
func writeConfig(path string, c engine.Config) error {
	b := packed.AppendConfig([]byte{configVersion}, c)
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
	d := packed.Decoder{B: b[1:n]}
	c := d.Config()
	return c, d.Err
}
