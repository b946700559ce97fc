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

// String is 2xx and so on, or the status of Bolt; canceled for no answer.
func (c Code) String() string {
	switch {
	case c == 0:
		return "canceled"
	case c < boltCode:
		return strconv.Itoa(int(c)) + "xx"
	case c < otherCode:
		return strings.ReplaceAll(bolt.Status(c-boltCode).String(), " ", "_")
	}
	return "other"
}
