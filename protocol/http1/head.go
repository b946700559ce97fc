package http1

import (
	"bytes"

	"example.com/ferry/protocol/httprule"
)

// Method is a request method. The methods with a constant are treated specially by the proxy, or routes often match them.
type Method uint8

// The methods that the parser distinguishes. Head.MethodName has the name of every method.
const (
	MethodOther Method = iota
	MethodGet
	MethodHead
	MethodPost
	MethodPut
	MethodDelete
	MethodConnect
	MethodOptions
	MethodTrace
	MethodPatch
)

// Form is the form of a request target. RFC 9112, section 3.2.
type Form uint8

// The forms of a request target.
const (
	Origin    Form = iota // /path?query
	Absolute              // http://host/path?query
	Authority             // host:port, only with CONNECT
	Asterisk              // *, only with OPTIONS
)

// Framing defines where a message ends. RFC 9112, section 6.3.
type Framing uint8

// The framings.
const (
	BodyNone   Framing = iota // the message ends with its head
	Length                    // Head.Length bytes follow the head
	Chunked                   // a body in the chunked encoding follows the head
	UntilClose                // the body ends with the connection; only for responses
	Tunnel                    // the bytes after the head are not HTTP: a response 101, or 2xx to CONNECT
)

type phase uint8

const (
	atFirstLine phase = iota
	atFields
	atEnd
)

const maxNamed = 8 // bound on the fields that the Connection field names: each one is compared with each field when the head is forwarded

// Head holds the spans of the head of a request or response. A Head can be reused for one message after another. It allocates
// only if a head has more fields than all heads before. Its spans are offsets, so they stay valid when the data is moved. A
// Head must not be copied. Only one goroutine at a time may use it. The zero value is ready.
type Head struct {
	// These fields are set for a request.
	Method     Method
	Form       Form
	MethodName Span
	Target     Span
	Path       Span // path of a target in form Origin or Absolute; empty for a target such as http://host
	Query      Span // query without the question mark
	Authority  Span // host of the target if the target has one, otherwise of the Host field; may be empty in HTTP/1.0
	Expect     bool // the client waits for 100 Continue before it sends the body

	// These fields are set for a response.
	Status int
	Reason Span

	// These fields are set for both.
	Minor     uint8 // minor version: 0 for HTTP/1.0, 1 for HTTP/1.1
	Framing   Framing
	Length    int64 // bytes of content, if Framing is Length
	KeepAlive bool  // another message may follow on the connection
	Upgrade   bool  // the request asks for another protocol, or the response 101 switches to it; UpgradeTo returns its name
	Fields    []Field

	response bool
	phase    phase
	pos      int // offset of the first line that is not yet parsed
	scanned  int // offset before which the line at pos has no LF

	line                 Span           // the first line with its CRLF
	fieldsEnd            int            // offset of the empty line after the fields
	seenIDs              httprule.IDSet // IDs of the fields in Fields
	rewritten            httprule.IDSet // framing fields to write anew, because a lenient parser may misread them
	length               int64          // value of Content-Length
	hostField            Span
	upgradeTo            Span
	options              options
	connectionNamed      [maxNamed]Span
	connectionNamedCount int
	requestMethod        Method

	inline [32]Field
}

// options are the options of a Connection field that are not names of fields.
type options struct{ closes, keepsAlive, upgrades, trailers bool }

// Reset discards a partly parsed head. The parsers call it if h holds a complete head.
func (h *Head) Reset() {
	fields := h.Fields[:0]
	if fields == nil {
		fields = h.inline[:0]
	}
	// Reset every field except inline: clearing the 640 bytes of inline would cost more than parsing two lines.
	h.Method, h.Form, h.MethodName, h.Target, h.Path, h.Query = 0, 0, Span{}, Span{}, Span{}, Span{}
	h.Authority, h.Expect, h.Status, h.Reason = Span{}, false, 0, Span{}
	h.Minor, h.Framing, h.Length, h.KeepAlive, h.Upgrade, h.Fields = 0, 0, 0, false, false, fields
	h.response, h.phase, h.pos, h.scanned, h.line, h.fieldsEnd = false, 0, 0, 0, Span{}, 0
	h.seenIDs, h.rewritten, h.length, h.hostField, h.upgradeTo = 0, 0, 0, Span{}, Span{}
	h.options, h.connectionNamedCount, h.requestMethod = options{}, 0, 0
}

// Get returns the value of the first field with the name, ignoring case. The value is a view of data, the bytes that h was
// parsed from. Get returns nil if no field has the name.
func (h *Head) Get(data []byte, name string) []byte { return h.Nth(data, name, 0) }

// Nth returns the value of the n-th field called name, counted from 0, or nil if there are fewer.
func (h *Head) Nth(data []byte, name string, n int) []byte {
	for i := range h.Fields {
		f := h.Fields[i]
		if int(f.Name.End-f.Name.Start) != len(name) || !bytes.EqualFold(f.Name.Of(data), []byte(name)) {
			continue
		}
		if n == 0 {
			return f.Value.Of(data)
		}
		n--
	}
	return nil
}

// Find returns the first field with the ID. id must not be Other.
func (h *Head) Find(id httprule.ID) (Field, bool) {
	if h.seenIDs.Has(id) {
		for _, f := range h.Fields {
			if f.ID == id {
				return f, true
			}
		}
	}
	return Field{}, false
}

// ContentLength returns the value of the Content-Length field in bytes, or -1 if there is none. A response to HEAD has the length
// that a response to GET would have (RFC 9110, section 8.6).
func (h *Head) ContentLength() int64 {
	if h.seenIDs.Has(httprule.ContentLength) {
		return h.length
	}
	return -1
}

// UpgradeTo returns the value of the Upgrade field, a view of data: the names of protocols. Allow only known protocols such as
// websocket. Requests within h2c would bypass the routes.
func (h *Head) UpgradeTo(data []byte) []byte { return h.upgradeTo.Of(data) }

// refuse returns an error for the head and ends the parsing of the head.
func (h *Head) refuse(status, offset int, reason string) error {
	h.phase = atEnd
	if h.response {
		status = 502
	}
	return &Error{Status: status, Offset: int64(offset), Reason: reason}
}

// Forwarded calls yield for each field that a proxy may forward in another protocol's encoding. It stops when yield returns
// false. It skips the fields that are meant for one connection (RFC 9110, section 7.6.1), the framing fields, Host and Expect.
// name and value are views of data, the bytes that h was parsed from.
func (h *Head) Forwarded(data []byte, yield func(name, value []byte) bool) {
	drop := httprule.HopByHop | httprule.Framing | httprule.SetOf(httprule.Expect)
	if !h.response {
		drop |= httprule.SetOf(httprule.Host)
	}
	for i := range h.Fields {
		f := &h.Fields[i]
		if !drop.Has(f.ID) && !h.namedByConnection(data, f) && !yield(f.Name.Of(data), f.Value.Of(data)) {
			return
		}
	}
}
