package traffic

import (
	"strconv"
	"strings"

	"example.com/ferry/protocol/bolt"
)

// Code classifies a response: the class of an HTTP status, or a Bolt status. The zero value means that there was no response
// because the client left.
type Code uint8

const (
	codes     = 32
	boltCode  = 8
	otherCode = codes - 1
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

// Failed reports whether the endpoint, or the proxy in its place, failed to serve the request.
func (c Code) Failed() bool { return c == HTTP(500) || c > boltCode }

// String returns 2xx and so on, or the name of the Bolt status; canceled for the zero Code.
func (c Code) String() string { return codeNames[min(c, otherCode)] }

var codeNames = func() (names [codes]string) {
	names[0] = "canceled"
	for c := 1; c < boltCode; c++ {
		names[c] = strconv.Itoa(c) + "xx"
	}
	for c := boltCode; c < otherCode; c++ {
		names[c] = strings.ReplaceAll(bolt.Status(c-boltCode).String(), " ", "_")
	}
	names[otherCode] = "other"
	return names
}()
