package exchange

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"time"

	"example.com/ferry/proxy/traffic"
	"example.com/ferry/proxy/upstream"
)

// IsGRPC reports whether a request with these fields is a gRPC request: its content type is application/grpc, with or
// without a format such as +proto. gRPC-Web has its trailers in the body, so it is not a gRPC request here.
func IsGRPC(f Fields) bool {
	rest, found := bytes.CutPrefix(f.Get("content-type"), grpcType)
	return found && (len(rest) == 0 || rest[0] == '+' || rest[0] == ';')
}

var grpcType = []byte("application/grpc")

// GRPCStatus returns the gRPC status of the proxy's response to a gRPC request, and the message that explains it.
func (r Rejection) GRPCStatus() (status int, message string) {
	if status = rejections[r].grpc; status == 0 {
		status = GRPCStatusOf(rejections[r].http)
	}
	return status, rejections[r].message
}

// GRPCStatusOf returns the gRPC status for an HTTP status of the proxy's own. It follows gRPC's document
// http-grpc-status-mapping.md, except for timeouts of the proxy: 408 and 504 are DEADLINE_EXCEEDED, because a client
// may send a request again that is UNAVAILABLE, and the server may have processed this one.
func GRPCStatusOf(httpStatus int) int {
	switch httpStatus {
	case 400:
		return grpcInternal
	case 401:
		return 16 // UNAUTHENTICATED
	case 403:
		return 7 // PERMISSION_DENIED
	case 404:
		return 12 // UNIMPLEMENTED
	case 408, 504:
		return grpcDeadlineExceeded
	case 429, 502, 503:
		return grpcUnavailable
	}
	return traffic.GRPCUnknown
}

const (
	grpcCanceled         = 1
	grpcDeadlineExceeded = 4
	grpcExhausted        = 8 // RESOURCE_EXHAUSTED
	grpcInternal         = 13
	grpcUnavailable      = 14
)

// grpcTimeout parses the field grpc-timeout: 1 to 8 digits and a unit. ok is false if it is missing or malformed; the server
// judges it then. gRPC, PROTOCOL-HTTP2.md.
func grpcTimeout(value []byte) (d time.Duration, ok bool) {
	if len(value) < 2 || len(value) > 9 {
		return 0, false
	}
	n := time.Duration(0)
	for _, c := range value[:len(value)-1] {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + time.Duration(c-'0')
	}
	of := strings.IndexByte("HMSmun", value[len(value)-1])
	if of < 0 {
		return 0, false
	}
	unit := [...]time.Duration{time.Hour, time.Minute, time.Second, time.Millisecond, time.Microsecond, time.Nanosecond}[of]
	if n > math.MaxInt64/unit {
		return math.MaxInt64, true
	}
	return n * unit, true
}

// startCallTimeout starts the deadline of a gRPC call. It is the client's; MaxDuration and the timeouts of the route may end the
// call earlier.
func (r *Relay) startCallTimeout(h RequestHead) {
	if d, ok := grpcTimeout(h.Get("grpc-timeout")); ok {
		r.deadlines.set(callDeadline, d-(r.Loop().Now()-r.Began))
	}
}

// Canceled reports whether a gRPC response ends early because the server has canceled the call or its deadline has passed. Its
// stream is then reset with CANCEL, which clients map to CANCELLED, or to DEADLINE_EXCEEDED after their deadline.
func (r *Relay) Canceled() bool {
	return r.grpc == traffic.GRPC(grpcCanceled) || r.grpc == traffic.GRPC(grpcDeadlineExceeded)
}

// SetGRPCStatus records the gRPC status of the response. A downstream side calls it when it responds to a gRPC request
// itself.
func (r *Relay) SetGRPCStatus(status int) { r.grpc = traffic.GRPC(status) }

// grpcStatus reads the gRPC status from a response's only head, or from its trailers. A status that is missing or not a
// number counts as UNKNOWN, as in gRPC clients.
func grpcStatus(f Fields) int {
	if f == nil {
		return traffic.GRPCUnknown
	}
	digits := f.Get("grpc-status")
	status := 0
	for _, c := range digits {
		if c < '0' || c > '9' {
			return traffic.GRPCUnknown
		}
		status = status*10 + int(c-'0')
	}
	if len(digits) == 0 || len(digits) > 2 {
		return traffic.GRPCUnknown
	}
	return status
}

// judge returns the outcome of an attempt whose response has head h. final is false if the trailers of a gRPC response
// decide. end means that h is the whole response.
func (r *Relay) judge(h ResponseHead, end bool) (o upstream.Outcome, final bool) {
	status := h.Status()
	if !r.GRPC || status != 200 {
		if o = r.Cluster.OfStatus(status); o.Fault() {
			r.Responded("status " + strconv.Itoa(status))
		}
		return o, true
	}
	if !end && h.Get("grpc-status") == nil {
		return upstream.Success, false
	}
	r.SetGRPCStatus(grpcStatus(h))
	return r.codeOutcome(), true
}

// endGRPC ends the attempt of a gRPC response whose trailers have arrived. The latency of the attempt ends with the head.
func (r *Relay) endGRPC(trailers Fields) {
	r.SetGRPCStatus(grpcStatus(trailers))
	r.endAttemptAt(r.headAt, r.codeOutcome())
}

// codeOutcome returns the outcome of a response whose gRPC status is known.
func (r *Relay) codeOutcome() upstream.Outcome {
	status, _ := r.grpc.GRPCStatus()
	o := upstream.OfCode(status)
	if o.Fault() {
		r.Responded(r.grpc.String())
	}
	return o
}
