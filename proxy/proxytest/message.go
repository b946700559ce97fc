package proxytest

import (
	"bytes"

	"example.com/ferry/proxy/exchange"
)

// Field is a field of a head or of trailers.
type Field struct{ Name, Value string }

// Fields are the fields of a head or of trailers.
type Fields []Field

var _ exchange.Fields = Fields(nil)

// All calls yield for each field.
func (f Fields) All(yield func(name, value []byte) bool) {
	for _, each := range f {
		if !yield([]byte(each.Name), []byte(each.Value)) {
			return
		}
	}
}

// Get returns the first value of the field called name.
func (f Fields) Get(name string) []byte { return f.Nth(name, 0) }

// Nth returns the value of the n-th field called name.
func (f Fields) Nth(name string, n int) []byte {
	for _, each := range f {
		if bytes.EqualFold([]byte(each.Name), []byte(name)) {
			if n--; n < 0 {
				return []byte(each.Value)
			}
		}
	}
	return nil
}

// Collect copies fields.
func Collect(from exchange.Fields) Fields {
	if from == nil {
		return nil
	}
	var all Fields
	for name, value := range from.All {
		all = append(all, Field{string(name), string(value)})
	}
	return all
}

// RequestHead is a request's head in memory.
type RequestHead struct {
	Fields
	MethodName, Host, Target, Protocol string
	Length                             int64 // -1 means unknown
	Expect                             bool
}

var _ exchange.RequestHead = (*RequestHead)(nil)

// Method returns MethodName.
func (h *RequestHead) Method() []byte { return []byte(h.MethodName) }

// Scheme returns http.
func (h *RequestHead) Scheme() []byte { return []byte("http") }

// Authority returns Host.
func (h *RequestHead) Authority() []byte { return []byte(h.Host) }

// Path returns the part of Target before the question mark.
func (h *RequestHead) Path() []byte {
	path, _, _ := bytes.Cut([]byte(h.Target), []byte("?"))
	return path
}

// Query returns the part of Target after the question mark.
func (h *RequestHead) Query() (q []byte, has bool) {
	_, q, has = bytes.Cut([]byte(h.Target), []byte("?"))
	return q, has
}

// ContentLength returns Length.
func (h *RequestHead) ContentLength() int64 { return h.Length }

// ExpectsContinue returns Expect.
func (h *RequestHead) ExpectsContinue() bool { return h.Expect }

// UpgradeTo returns Protocol.
func (h *RequestHead) UpgradeTo() []byte { return []byte(h.Protocol) }

// ResponseHead is a response's head in memory.
type ResponseHead struct {
	Fields
	Code   int
	Length int64 // -1 means unknown
}

var _ exchange.ResponseHead = (*ResponseHead)(nil)

// Status returns Code.
func (h *ResponseHead) Status() int { return h.Code }

// ContentLength returns Length.
func (h *ResponseHead) ContentLength() int64 { return h.Length }
