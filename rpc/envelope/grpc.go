package envelope

import (
	"encoding/binary"
	"fmt"
	"math"
)

// GRPC is gRPC's length-prefixed message: a flag byte, which is 1 if the message is compressed, and a big-endian length of four
// bytes. gRPC over HTTP/2 specification, section "Requests": Length-Prefixed-Message. A method, an id or a status is not in it.
type GRPC struct{}

var _ Envelope = GRPC{}

// grpcPrefix is the number of bytes before the value.
const grpcPrefix = 5

// Name returns grpc.
func (GRPC) Name() string { return "grpc" }

// AppendRequest appends the prefix and r.Body.
func (GRPC) AppendRequest(dst []byte, r Request) ([]byte, error) { return appendPrefixed(dst, r.Body) }

// ParseRequest returns a Request that has a Body only. A compressed message is an error: calls are compressed by their protocol.
func (GRPC) ParseRequest(data []byte) (Request, error) {
	body, err := parsePrefixed(request("grpc"), data)
	return Request{Body: body}, err
}

// AppendResponse appends the prefix and r.Body. If the call has failed, the body is empty.
func (GRPC) AppendResponse(dst []byte, r Response) ([]byte, error) {
	if r.Status != nil {
		r.Body = nil
	}
	return appendPrefixed(dst, r.Body)
}

// ParseResponse returns a Response that has a Body only.
func (GRPC) ParseResponse(data []byte) (Response, error) {
	body, err := parsePrefixed(response("grpc"), data)
	return Response{Body: body}, err
}

func appendPrefixed(dst, body []byte) ([]byte, error) {
	if uint64(len(body)) > math.MaxUint32 {
		return dst, fmt.Errorf("grpc: a body of %d bytes: the prefix has room for 4 GiB", len(body))
	}
	dst = binary.BigEndian.AppendUint32(append(dst, 0), uint32(len(body)))
	return append(dst, body...), nil
}

func parsePrefixed(k kind, data []byte) ([]byte, error) {
	switch {
	case len(data) < grpcPrefix:
		return nil, k.errorf(len(data), "a message of %d bytes: the prefix has 5", len(data))
	case data[0] > 1:
		return nil, k.errorf(0, "the first byte is %#x: 0 and 1 are defined", data[0])
	case data[0] == 1:
		return nil, k.errorf(0, "the message is compressed: let the call's protocol compress it")
	}
	body := data[grpcPrefix:]
	if n := binary.BigEndian.Uint32(data[1:]); uint64(n) != uint64(len(body)) {
		return nil, k.errorf(1, "a length of %d where %d bytes follow", n, len(body))
	}
	return body, nil
}
