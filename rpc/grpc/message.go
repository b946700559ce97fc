package grpc

import (
	"errors"
	"math"

	"example.com/ferry/internal/bufpool"
	"example.com/ferry/internal/compress"
	"example.com/ferry/internal/grpcwire"
	"example.com/ferry/rpc/call"
)

// prefixSize is the length of the prefix of a message on the wire.
const prefixSize = grpcwire.PrefixSize

// worthCompressing is the least size of a message that is compressed, in bytes.
const worthCompressing = 256

// checkLength returns a status if a message is longer than its prefix can say.
func checkLength(message []byte) *call.Status {
	if uint64(len(message)) > math.MaxUint32 {
		return statusf(call.ResourceExhausted, "grpc: a message of %d bytes cannot be sent: gRPC has at most 4 GiB", len(message))
	}
	return nil
}

// messageSize returns the size of the first message of p with its prefix. Its prefix alone may still be incomplete: the size is then
// prefixSize.
func messageSize(p []byte, limit int) (int, *call.Status) {
	if len(p) < prefixSize {
		return prefixSize, nil
	}
	flag, n := grpcwire.Prefix(p)
	switch {
	case flag > 1:
		return 0, statusf(call.Internal, "grpc: a message begins with flag %d: only 0 and 1 are known", flag)
	case uint64(n) > uint64(limit):
		return 0, statusf(call.ResourceExhausted, "grpc: a message of %d bytes exceeds max_message %d: send less, or raise the receiver's limit", n, limit)
	}
	return prefixSize + int(n), nil
}

// expand decompresses a message into a buffer of the pool.
func expand(message []byte, encoding string, limit int) (*bufpool.Buf, *call.Status) {
	if encoding == "" {
		return nil, statusf(call.Internal, "grpc: a message is compressed, but grpc-encoding does not say how")
	}
	b := bufpool.Get(min(4*len(message), limit))
	out, err := compress.Expand(b.B, message, encoding, limit)
	if err != nil {
		b.Release()
		if errors.Is(err, compress.ErrTooLarge) {
			return nil, statusf(call.ResourceExhausted, "grpc: a compressed message exceeds max_message %d: send less, or raise the receiver's limit", limit)
		}
		return nil, statusf(call.Internal, "grpc: %v", err)
	}
	b.B = out
	return b, nil
}

// shrink compresses a message, if that makes it smaller. Otherwise it returns nil.
func shrink(message []byte, encoding string) *bufpool.Buf {
	if encoding == "" || len(message) < worthCompressing {
		return nil
	}
	b := bufpool.Get(len(message))
	out, err := compress.Append(b.B, message, encoding)
	if err != nil || len(out) >= len(message) {
		b.Release()
		return nil
	}
	b.B = out
	return b
}
