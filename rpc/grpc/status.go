package grpc

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"

	"example.com/ferry/format/protobuf"
	"example.com/ferry/internal/grpcwire"
	"example.com/ferry/protocol/http2"
	"example.com/ferry/rpc/call"
)

func statusf(code call.Code, format string, args ...any) *call.Status {
	return &call.Status{Code: code, Message: fmt.Sprintf(format, args...)}
}

// codeOfReset returns the code for a stream that the peer has reset. doc/PROTOCOL-HTTP2.md of gRPC, section "Errors".
func codeOfReset(code http2.Code) call.Code {
	switch code {
	case http2.RefusedStream:
		return call.Unavailable
	case http2.Cancel:
		return call.Canceled
	case http2.EnhanceYourCalm:
		return call.ResourceExhausted
	case http2.InadequateSecurity:
		return call.PermissionDenied
	case http2.NoError, http2.ProtocolError, http2.InternalError, http2.FlowControlError, http2.SettingsTimeout, http2.FrameSizeError, http2.CompressionError, http2.ConnectError:
		return call.Internal
	}
	return call.Unknown
}

// statusOfReset returns the status of a call whose stream has ended early.
func statusOfReset(why http2.StreamError) *call.Status {
	switch {
	case why.Refused:
		return statusf(call.Unavailable, "grpc: the server has not begun the call: %v", why)
	case why.Remote:
		return statusf(codeOfReset(why.Code), "grpc: %v", why)
	case why.Code == http2.Cancel: // the end of the connection
		return statusf(call.Unavailable, "grpc: %s", why.Reason)
	}
	return statusf(call.Internal, "grpc: %v", why)
}

// writeStatus writes grpc-status, grpc-message and grpc-status-details-bin, as far as there is room: a client would refuse a larger head, and
// the call would lose its code. nil is OK.
func writeStatus(e *http2.Encoder, s *call.Status, room int) {
	if s == nil || s.Code == call.OK {
		grpcwire.WriteStatus(e, 0, "")
		return
	}
	s = fitStatus(s, room)
	grpcwire.WriteStatus(e, uint32(s.Code), s.Message)
	if len(s.Details) > 0 {
		e.FieldString("grpc-status-details-bin", base64.RawStdEncoding.EncodeToString(appendRPCStatus(nil, s)))
	}
}

// detailOverhead is the length of the keys and lengths of a detail, in bytes.
const detailOverhead = 20

// fitStatus returns s as far as its fields fit into room bytes.
func fitStatus(s *call.Status, room int) *call.Status {
	inDetails := 0 // bytes of a byte of the message in grpc-status-details-bin, which repeats it
	if len(s.Details) > 0 {
		inDetails = 2
	}
	fit := s.Fit(call.Room{
		Bytes:  room,
		Byte:   func(c byte) int { return grpcwire.PercentSize(c) + inDetails },
		Detail: func(d *call.Detail) int { return (len(d.Type)+len(d.Value)+detailOverhead)*4/3 + 1 },
	})
	if len(s.Details) > 0 && len(fit.Details) == 0 { // the message has the room of the details
		return (&call.Status{Code: s.Code, Message: s.Message}).Fit(call.Room{Bytes: room, Byte: grpcwire.PercentSize})
	}
	return fit
}

// fitTrailer returns the trailer if a head with it leaves room for a status. Otherwise the trailer is left out, and a call that was to
// end with OK fails, because its client would take what is missing for complete.
func fitTrailer(maxHeader int, status *call.Status, trailer call.Metadata) (*call.Status, call.Metadata) {
	switch {
	case len(trailer) == 0 || statusRoom(maxHeader, trailer) >= 0:
		return status, trailer
	case status == nil || status.Code == call.OK:
		status = statusf(call.Internal, "grpc: the trailer of the response is larger than the heads that the client accepts, which have %d bytes", cmp.Or(maxHeader, usualMaxHeader))
	}
	return status, nil
}

const (
	fieldOverhead = 32  // of a field in the length of a head. RFC 9113, section 6.5.2
	statusFields  = 512 // of the fields that each last head has, without the values of the status

	// usualMaxHeader is the length of heads that clients accept which do not tell theirs.
	usualMaxHeader = 8 << 10
)

// statusRoom returns how many bytes message and details may have in a head that also has others, to a peer that accepts heads of maxHeader
// bytes; 0 means that the peer has not said so.
func statusRoom(maxHeader int, others call.Metadata) int {
	if maxHeader == 0 {
		maxHeader = usualMaxHeader
	}
	room := maxHeader - statusFields
	for _, f := range others {
		room -= len(f.Name) + len(f.Value) + fieldOverhead
		if strings.HasSuffix(f.Name, call.BinarySuffix) {
			room -= len(f.Value)/3 + 1 // base64
		}
	}
	return room
}

// readStatus returns the status that a head has, or nil if it is OK. has is false if the head has none.
func readStatus(h *http2.Head) (s *call.Status, has bool) {
	r := grpcwire.ReadStatus(h)
	switch {
	case r.Count == 0:
		return nil, false
	case r.Count > 1:
		return statusf(call.Internal, "grpc: the response has %d fields grpc-status", r.Count), true
	case !r.Valid:
		return statusf(call.Unknown, "grpc: the response has grpc-status %.100q, which is not a number", r.Text), true
	case r.Code == 0:
		return nil, true
	}
	s = &call.Status{Code: call.Code(r.Code), Message: r.Message}
	if len(r.Details) > 0 {
		s.Details = readDetails(r.Details)
	}
	return s, true
}

// The numbers of the fields of google.rpc.Status and google.protobuf.Any.
const (
	statusCode    = 1
	statusMessage = 2
	statusDetails = 3
	anyType       = 1
	anyValue      = 2
)

// appendRPCStatus appends s as a google.rpc.Status.
func appendRPCStatus(dst []byte, s *call.Status) []byte {
	dst = binary.AppendUvarint(append(dst, statusCode<<3), uint64(s.Code))
	if s.Message != "" {
		dst = appendBytes(dst, statusMessage, s.Message)
	}
	for _, d := range s.Details {
		detail := appendBytes(nil, anyType, d.Type)
		detail = appendBytes(detail, anyValue, d.Value)
		dst = appendBytes(dst, statusDetails, detail)
	}
	return dst
}

func appendBytes[T string | []byte](dst []byte, number byte, p T) []byte {
	return append(binary.AppendUvarint(append(dst, number<<3|2), uint64(len(p))), p...)
}

// readDetails returns the details of a google.rpc.Status in base64. Code and message are those of the other fields. What cannot be
// read is left out: it must not hide the status itself.
func readDetails(field []byte) (details []call.Detail) {
	for len(field) > 0 && field[len(field)-1] == '=' {
		field = field[:len(field)-1]
	}
	raw := make([]byte, base64.RawStdEncoding.DecodedLen(len(field)))
	if _, err := base64.RawStdEncoding.Decode(raw, field); err != nil {
		return nil
	}
	eachField(raw, func(number int, value []byte) {
		if number == statusDetails {
			details = append(details, readDetail(value))
		}
	})
	return details
}

// readDetail reads a google.protobuf.Any.
func readDetail(p []byte) (d call.Detail) {
	eachField(p, func(number int, value []byte) {
		switch number {
		case anyType:
			d.Type = string(value)
		case anyValue:
			d.Value = value
		}
	})
	return d
}

// eachField calls f for each field of a protobuf message whose value is bytes, and skips the others. It ends at what is malformed.
func eachField(p []byte, f func(number int, value []byte)) {
	for pos := 0; pos < len(p); {
		r, err := protobuf.Next(p, pos)
		if err != nil {
			return
		}
		if r.Wire == 2 {
			f(r.Number, p[r.Off:r.End])
		}
		pos = r.End
	}
}
