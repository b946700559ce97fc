package traffic

import (
	"strconv"
	"strings"

	"example.com/ferry/protocol/bolt"
)

// Code classifies a response: by the class of its HTTP status, by its Bolt status, or by its gRPC status. The zero
// value means that the client left before the response.
type Code uint8

const (
	boltCode  = 8
	otherCode = 31
	grpcCode  = 32
	codes     = grpcCode + len(grpcStatuses)
)

// HTTP returns the Code of an HTTP status.
func HTTP(status int) Code {
	if status < 100 || status > 599 {
		return otherCode
	}
	return Code(status / 100)
}

// Bolt returns the Code of a Bolt status.
func Bolt(s bolt.Status) Code {
	if boltCode+int(s) >= otherCode {
		return otherCode
	}
	return boltCode + Code(s)
}

// Failed reports whether the endpoint failed to serve the request, or the proxy failed in place of the endpoint.
func (c Code) Failed() bool { return c == HTTP(500) || c > boltCode && c < grpcCode || c.grpcFailed() }

// String returns the class of the HTTP status such as 2xx, the name of the Bolt status, grpc_ and the name of the gRPC
// status, or canceled for the zero Code.
func (c Code) String() string {
	if int(c) >= codes {
		c = otherCode
	}
	return codeNames[c]
}

var codeNames = func() (names [codes]string) {
	names[0] = "canceled"
	for c := 1; c < boltCode; c++ {
		names[c] = strconv.Itoa(c) + "xx"
	}
	for c := boltCode; c < otherCode; c++ {
		names[c] = strings.ReplaceAll(bolt.Status(c-boltCode).String(), " ", "_")
	}
	names[otherCode] = "other"
	for status, s := range grpcStatuses {
		names[GRPC(status)] = "grpc_" + s.name
	}
	return names
}()
