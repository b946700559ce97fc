package live

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"

	"example.com/ferry"
	"example.com/ferry/cpu"
	"example.com/ferry/field"
	"example.com/ferry/format"
)

// MaxChecksum bounds what one message can make Checksum compute, in bytes: seconds of work.
const MaxChecksum = 64 << 30

// block is the number of bytes summed between two checkpoints: 10 us of work, up to 100 us on a small machine.
var block [256 << 10]byte

var (
	bytesPath      = field.MustParse("bytes")
	checkpointPath = field.MustParse("checkpoint")
)

// Checksum is a handler that keeps a core busy, for tests and demonstrations. For {"bytes": N} on checksum/... it computes the CRC-32 of N
// zero bytes and publishes {"bytes":N,"crc32":"hex"} on checksums/..., in the same format. With "checkpoint": false it neither
// yields nor checks its context, like a function that does not use package cpu.
type Checksum struct {
	Formats []format.Format // formats of requests; results are JSON or CBOR
}

// sum is the result that Checksum publishes.
type sum struct {
	Bytes int64  `json:"bytes"`
	CRC32 string `json:"crc32"`
}

// Handle handles one request.
func (c Checksum) Handle(ctx context.Context, in *ferry.Message, out ferry.Sender) error {
	rest, ok := strings.CutPrefix(in.Tag, "checksum")
	if !ok || rest != "" && rest[0] != '/' {
		return fmt.Errorf("live: checksum got tag %q: want one below checksum/", in.Tag)
	}
	answer, err := codecOf(in.Type)
	if err != nil {
		return err
	}
	n, polite, err := c.request(in)
	if err != nil {
		return fmt.Errorf("live: checksum: request on %s: %w", in.Tag, err)
	}
	crc := uint32(0)
	for left := n; left > 0; left -= int64(len(block)) {
		crc = crc32.Update(crc, crc32.IEEETable, block[:min(left, int64(len(block)))])
		if !polite {
			continue
		}
		if err := cpu.Checkpoint(ctx); err != nil {
			return err
		}
	}
	payload, err := answer.Marshal(sum{n, fmt.Sprintf("%08x", crc)})
	if err != nil {
		return err
	}
	return out.Send(ctx, ferry.Message{Tag: "checksums" + rest, Type: in.Type, Time: in.Time, Payload: payload})
}

// request reads the two fields of the encoded message.
func (c Checksum) request(in *ferry.Message) (bytes int64, checkpoint bool, err error) {
	f, err := c.format(in.Type)
	if err != nil {
		return 0, false, err
	}
	v, err := lookup(f, in.Payload, bytesPath)
	switch {
	case err != nil:
		return 0, false, fmt.Errorf("bytes: %w", err)
	case v.Kind != field.Int || v.Unsigned || v.Int < 0 || v.Int > MaxChecksum:
		return 0, false, fmt.Errorf("bytes: want an integer from 0 to %d", int64(MaxChecksum))
	}
	bytes = v.Int
	switch v, err = lookup(f, in.Payload, checkpointPath); {
	case errors.Is(err, field.ErrNotFound):
		return bytes, true, nil
	case err != nil:
		return 0, false, fmt.Errorf("checkpoint: %w", err)
	case v.Kind != field.Bool:
		return 0, false, errors.New("checkpoint: want true or false")
	}
	return bytes, v.Bool, nil
}

func (c Checksum) format(t ferry.Type) (format.Format, error) {
	for _, f := range c.Formats {
		if f.Descriptor().Type == t {
			return f, nil
		}
	}
	return nil, fmt.Errorf("this program does not read %v", t)
}

func lookup(f format.Format, data []byte, p field.Path) (field.Value, error) {
	at, err := f.Lookup(data, p)
	if err != nil {
		return field.Value{}, err
	}
	return f.Value(data, at, field.AnyType)
}
