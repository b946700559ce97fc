package traffic

import (
	"strconv"
	"strings"

	"example.com/ferry/protocol/bolt"
)

// Code is how a request was answered: the class of an HTTP status, or a Bolt status. The zero value is no answer: the client
// did not wait for it.
type Code uint8

const (
	codes     = 32
	boltCode  = 8
	otherCode = codes - 1
)

// HTTP is the Code of an HTTP status.
func HTTP(status int) Code {
	if status < 100 || status > 599 {
		return otherCode
	}
	return Code(status / 100)
}

// Bolt is the Code of a Bolt status.
func Bolt(s bolt.Status) Code {
	if boltCode+int(s) >= otherCode {
		return otherCode
	}
	return boltCode + Code(s)
}

// Failed reports whether the server, or the proxy in its stead, did not do what was asked.
func (c Code) Failed() bool { return c == HTTP(500) || c > boltCode }

// String is 2xx and so on, or the status of Bolt; canceled for no answer.
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
