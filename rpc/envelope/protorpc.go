package envelope

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"example.com/ferry/format/protobuf"
)

// ProtoRPC is go-micro's proto-rpc: two byte strings, each behind a big-endian length of four bytes. The first is a message of
// Protocol Buffers with the fields service_method = 1 (string), seq = 2 (fixed64) and, in a response, error = 3 (string); the second
// is the value. The error begins with the code's name, such as "NOT_FOUND: no user 5".
type ProtoRPC struct{}

var _ Envelope = ProtoRPC{}

// Name returns proto-rpc.
func (ProtoRPC) Name() string { return "proto-rpc" }

// AppendRequest appends a request.
func (ProtoRPC) AppendRequest(dst []byte, r Request) ([]byte, error) {
	return appendProtoRPC(dst, r.Method, r.ID, "", r.Body)
}

// ParseRequest parses a request. A field that occurs twice is an error.
func (e ProtoRPC) ParseRequest(data []byte) (Request, error) {
	h, err := parseProtoRPC(request(e.Name()), data)
	return Request{Method: string(h.method), ID: h.id, Body: h.body}, err
}

// AppendResponse appends a response.
func (ProtoRPC) AppendResponse(dst []byte, r Response) ([]byte, error) {
	if r.Status != nil {
		return appendProtoRPC(dst, r.Method, r.ID, r.Status.Error(), nil)
	}
	return appendProtoRPC(dst, r.Method, r.ID, "", r.Body)
}

// ParseResponse parses a response. If its error is not empty, the value is ignored.
func (e ProtoRPC) ParseResponse(data []byte) (Response, error) {
	h, err := parseProtoRPC(response(e.Name()), data)
	r := Response{Method: string(h.method), ID: h.id, Body: h.body}
	if err == nil && len(h.failure) > 0 {
		r.Body, r.Status = nil, statusOf(strings.ToValidUTF8(string(h.failure), "\uFFFD"))
	}
	return r, err
}

// Tags of the fields: number << 3 | wire type.
const (
	methodTag  = 1<<3 | 2
	seqTag     = 2<<3 | 1
	failureTag = 3<<3 | 2
)

func appendProtoRPC(dst []byte, method string, id uint64, failure string, body []byte) ([]byte, error) {
	if uint64(len(method))+uint64(len(failure)) > math.MaxInt32 || uint64(len(body)) > math.MaxUint32 {
		return dst, fmt.Errorf("proto-rpc: a body of %d bytes: its length has room for 4 GiB", len(body))
	}
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	if method != "" {
		dst = append(binary.AppendUvarint(append(dst, methodTag), uint64(len(method))), method...)
	}
	if id != 0 {
		dst = binary.LittleEndian.AppendUint64(append(dst, seqTag), id)
	}
	if failure != "" {
		dst = append(binary.AppendUvarint(append(dst, failureTag), uint64(len(failure))), failure...)
	}
	binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-start-4))
	return append(binary.BigEndian.AppendUint32(dst, uint32(len(body))), body...), nil
}

// protoHeader is a parsed message.
type protoHeader struct {
	method, failure, body []byte
	id                    uint64
}

func parseProtoRPC(k kind, data []byte) (protoHeader, error) {
	header, rest, err := netstring(k, data, 0)
	if err != nil {
		return protoHeader{}, err
	}
	at := len(data) - len(rest)
	body, rest, err := netstring(k, rest, at)
	switch {
	case err != nil:
		return protoHeader{}, err
	case len(rest) > 0:
		return protoHeader{}, k.errorf(len(data)-len(rest), "%d bytes behind the value", len(rest))
	}
	h, err := parseProtoFields(k, header, 4)
	if err != nil {
		return protoHeader{}, err
	}
	h.body = body
	return h, nil
}

// netstring returns the bytes behind a length of four bytes, and the bytes after them. at is the offset of data in the message.
func netstring(k kind, data []byte, at int) (content, rest []byte, err error) {
	if len(data) < 4 {
		return nil, nil, k.errorf(at+len(data), "the message ends in a length")
	}
	n := binary.BigEndian.Uint32(data)
	if data = data[4:]; uint64(n) > uint64(len(data)) {
		return nil, nil, k.errorf(at, "a length of %d where %d bytes follow", n, len(data))
	}
	return data[:n:n], data[n:], nil
}

// parseProtoFields parses the first byte string. at is its offset in the message.
func parseProtoFields(k kind, data []byte, at int) (h protoHeader, err error) {
	seen := 0
	for pos := 0; pos < len(data); {
		r, err := protobuf.Next(data, pos)
		if err != nil {
			return h, k.errorf(at+pos, "a malformed field of the header: %v", err)
		}
		if r.Number <= 3 {
			if seen>>r.Number&1 != 0 {
				return h, k.errorf(at+pos, "field %d of the header occurs twice", r.Number)
			}
			seen |= 1 << r.Number
		}
		value := data[r.Off:r.End]
		switch r.Number<<3 | int(r.Wire) {
		case methodTag:
			h.method = value
		case failureTag:
			h.failure = value
		case seqTag:
			h.id = binary.LittleEndian.Uint64(value)
		default:
			if r.Number <= 3 {
				return h, k.errorf(at+pos, "field %d of the header has wire type %d", r.Number, r.Wire)
			}
		}
		pos = r.End
	}
	return h, nil
}
