package boltload

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// This file encodes and decodes frames of Bolt version 1. It does not use ferry's package bolt, so that the load generator
// also detects errors of that package. The layout is that of RpcCommandEncoder and RpcCommandDecoder in com.alipay.sofa:bolt.
const (
	requestFixed  = 22
	responseFixed = 20

	typeResponse = 0
	typeRequest  = 1

	commandHeartbeat = 0
	commandRequest   = 1
	commandResponse  = 2

	requestClass  = "com.alipay.sofa.rpc.core.request.SofaRequest"
	responseClass = "com.alipay.sofa.rpc.core.response.SofaResponse"
)

// Service is the value of the header "service" in each request.
const Service = "com.example.Echo:1.0"

// request holds the bytes of a request before its content.
var request = func() []byte {
	b := make([]byte, requestFixed)
	b[0], b[1], b[3], b[4], b[9] = 1, typeRequest, commandRequest, 1, 1
	binary.BigEndian.PutUint32(b[10:], 3000) // timeout in ms
	binary.BigEndian.PutUint16(b[14:], uint16(len(requestClass)))
	b = append(b, requestClass...)
	headers := len(b)
	for _, s := range []string{"service", Service, "sofa_head_method_name", "echo"} {
		b = binary.BigEndian.AppendUint32(b, uint32(len(s)))
		b = append(b, s...)
	}
	binary.BigEndian.PutUint16(b[16:], uint16(len(b)-headers))
	return b
}()

// appendRequest appends the start of a request whose content is size bytes long; the caller appends the content.
func appendRequest(dst []byte, id uint32, size int) []byte {
	at := len(dst)
	dst = append(dst, request...)
	binary.BigEndian.PutUint32(dst[at+5:], id)
	binary.BigEndian.PutUint32(dst[at+18:], uint32(size))
	return dst
}

// received is a decoded frame.
type received struct {
	kind    byte
	command uint16
	id      uint32
	status  uint16 // status of a response; unused for a request
	class   []byte
	content []byte
	size    int // length of the whole frame in bytes
}

// next decodes the first frame of p. The returned size is 0 if the frame is incomplete.
func next(p []byte) (f received, err error) {
	if len(p) < responseFixed {
		return f, nil
	}
	if p[0] != 1 || p[1] > typeRequest {
		return f, fmt.Errorf("a frame begins with % x: want version 1, and a response or a request", p[:responseFixed])
	}
	fixed := responseFixed
	if p[1] == typeRequest {
		fixed = requestFixed
	}
	if len(p) < fixed {
		return f, nil
	}
	lengths := p[fixed-8 : fixed]
	class := int(binary.BigEndian.Uint16(lengths))
	header := int(binary.BigEndian.Uint16(lengths[2:]))
	size := fixed + class + header + int(binary.BigEndian.Uint32(lengths[4:]))
	if len(p) < size {
		return f, nil
	}
	f = received{
		kind: p[1], command: binary.BigEndian.Uint16(p[2:]), id: binary.BigEndian.Uint32(p[5:]),
		class: p[fixed : fixed+class], content: p[fixed+class+header : size], size: size,
	}
	if f.kind == typeResponse {
		f.status = binary.BigEndian.Uint16(p[10:])
	}
	return f, nil
}

// responseError returns an error if f is not a valid response.
func (f *received) responseError() error {
	switch {
	case f.kind != typeResponse || f.command != commandResponse:
		return fmt.Errorf("a frame of type %d, command %d: want a response", f.kind, f.command)
	case f.status != 0:
		return fmt.Errorf("request %d was answered with status %d", f.id, f.status)
	case !bytes.Equal(f.class, []byte(responseClass)):
		return fmt.Errorf("request %d was answered with class %q", f.id, f.class)
	}
	return nil
}
