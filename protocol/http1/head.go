package http1

import "bytes"

// Method is a request method that the proxy treats specially, or that routes often match.
type Method uint8

// The methods that the parser distinguishes. Head.MethodName has every method's name.
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
	Authority             // host:port, with CONNECT
	Asterisk              // *, with OPTIONS
)

// Framing defines where a message ends. RFC 9112, section 6.3.
type Framing uint8

// The framings.
const (
	BodyNone   Framing = iota // the message ends with its head
	Length                    // Head.Length bytes follow
	Chunked                   // chunks follow
	UntilClose                // the body ends with the connection; responses only
	Tunnel                    // the bytes that follow are not HTTP: 101, or 2xx to CONNECT
)

type phase uint8

const (
	atFirstLine phase = iota
	atFields
	atEnd
)

const maxNamed = 8 // options of Connection that name fields: each is compared with each field when the head is forwarded

// Head holds the spans of a request's or response's head. A Head can be reused for one message after another; it allocates only
// if a head has more fields than all before it. Its spans are offsets, so they stay valid when the data moves. It must not be
// copied, or used by two goroutines at a time. The zero value is ready.
type Head struct {
	// Of a request.
	Method     Method
	Form       Form
	MethodName Span
	Target     Span
	Path       Span // of Origin and Absolute; empty for a target such as http://host
	Query      Span // without the question mark
	Authority  Span // the host of the target if it has one, else of the Host field; may be empty in HTTP/1.0
	Expect     bool // the client waits for 100 Continue before it sends the body

	// Of a response.
	Status int
	Reason Span

	// Of both.
	Minor     uint8 // HTTP/1.Minor: 0 or 1
	Framing   Framing
	Length    int64 // bytes of content, with Framing Length
	KeepAlive bool  // another message may follow on the connection
	Upgrade   bool  // a request for another protocol, or with 101 the consent. See UpgradeTo
	Fields    []Field

	response bool
	phase    phase
	pos      int // offset of the first line not yet parsed
	scanned  int // the line has no LF before this offset

	line                 Span  // the first line, with CRLF
	fieldsEnd            int   // offset of the empty line
	seenIDs              idSet // the IDs in Fields
	rewritten            idSet // framing fields that are written anew, as a lenient parser may misread them
	length               int64 // of Content-Length
	hostField            Span
	upgradeTo            Span
	options              options
	connectionNamed      [maxNamed]Span
	connectionNamedCount int
	requestMethod        Method

	inline [32]Field
}

// options are the options of a Connection field other than names of fields.
type options struct{ closes, keepsAlive, upgrades, trailers bool }

// Reset discards a partly parsed head. The parsers call it when h holds a complete one.
func (h *Head) Reset() {
	fields := h.Fields[:0]
	if fields == nil {
		fields = h.inline[:0]
	}
	// Everything but inline, field by field: clearing its 640 bytes would cost more than the parsing of two lines.
	h.Method, h.Form, h.MethodName, h.Target, h.Path, h.Query = 0, 0, Span{}, Span{}, Span{}, Span{}
	h.Authority, h.Expect, h.Status, h.Reason = Span{}, false, 0, Span{}
	h.Minor, h.Framing, h.Length, h.KeepAlive, h.Upgrade, h.Fields = 0, 0, 0, false, false, fields
	h.response, h.phase, h.pos, h.scanned, h.line, h.fieldsEnd = false, 0, 0, 0, Span{}, 0
	h.seenIDs, h.rewritten, h.length, h.hostField, h.upgradeTo = 0, 0, 0, Span{}, Span{}
	h.options, h.connectionNamedCount, h.requestMethod = options{}, 0, 0
}

// Get returns the value of the first field with the name, a view of data, the bytes h was parsed from. Letters match in
// either case. A field that is not there gives nil.
func (h *Head) Get(data []byte, name string) []byte {
	for i := range h.Fields {
		if f := h.Fields[i]; int(f.Name.End-f.Name.Start) == len(name) && bytes.EqualFold(f.Name.Of(data), []byte(name)) {
			return f.Value.Of(data)
		}
	}
	return nil
}

// Find returns the first field with the ID, which is not Other.
func (h *Head) Find(id ID) (Field, bool) {
	if h.seenIDs.has(id) {
		for _, f := range h.Fields {
			if f.ID == id {
				return f, true
			}
		}
	}
	return Field{}, false
}

// UpgradeTo returns the protocols that a message with Upgrade names, a view of data. Allow known ones only, such as websocket:
// requests behind h2c would bypass the routes.
func (h *Head) UpgradeTo(data []byte) []byte { return h.upgradeTo.Of(data) }

// refuse returns an error for the head, and ends its parsing.
func (h *Head) refuse(status, offset int, reason string) error {
	h.phase = atEnd
	if h.response {
		status = 502
	}
	return &Error{Status: status, Offset: int64(offset), Reason: reason}
}

// Forwarded calls yield for each field that goes on in another protocol's encoding, until yield returns false: all but those
// meant for one connection (RFC 9110, section 7.6.1), those that frame the message, Host and Expect. name and value are views
// of data, the bytes h was parsed from.
func (h *Head) Forwarded(data []byte, yield func(name, value []byte) bool) {
	drop := hopByHop | framing | set(Expect)
	if !h.response {
		drop |= set(Host)
	}
	for i := range h.Fields {
		f := &h.Fields[i]
		if !drop.has(f.ID) && !h.namedByConnection(data, f) && !yield(f.Name.Of(data), f.Value.Of(data)) {
			return
		}
	}
}
