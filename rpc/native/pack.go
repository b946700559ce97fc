package native

import (
	"errors"

	"example.com/ferry/internal/compress"
	"example.com/ferry/rpc/call"
)

// minPacked is the length, in bytes, from which messages are compressed.
const minPacked = 256

// pack returns data as it travels. It compresses data into m, unless that makes it longer. m.compressed says what it did.
func pack(m *message, compression string, data []byte) ([]byte, error) {
	if compression == "" || len(data) < minPacked {
		return data, nil
	}
	var err error
	if m.b, err = compress.Append(m.b, data, compression); err != nil {
		return nil, &call.Status{Code: call.Internal, Message: err.Error()}
	}
	if m.compressed = len(m.b) < len(data); m.compressed {
		return m.b, nil
	}
	return data, nil
}

// unpack returns m decompressed. It frees m if it returns another message or an error, which is a *call.Status.
func unpack(m *message, compression string, limit int) (*message, error) {
	if !m.compressed {
		return m, nil
	}
	defer m.free()
	if compression == "" {
		return nil, &call.Status{Code: call.Internal, Message: "a compressed message in a call without compression"}
	}
	out := newMessage()
	var err error
	if out.b, err = compress.Expand(out.b, m.b, compression, limit); err != nil {
		out.free()
		if errors.Is(err, compress.ErrTooLarge) {
			return nil, tooLong(limit)
		}
		return nil, &call.Status{Code: call.Internal, Message: err.Error()}
	}
	return out, nil
}
