package http1

import "bytes"

// Method is a request method a proxy treats specially, or that routes often name.
type Method uint8

// The methods that are told apart; Head.MethodName has the name of the others too.
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

// Form is how a request says what it wants. RFC 9112, section 3.2.
type Form uint8

// The forms of a request target.
const (
	Origin    Form = iota // /path?query
	Absolute              // http://host/path?query
	Authority             // host:port, with CONNECT
	Asterisk              // *, with OPTIONS
)

// Framing is how a message's end is found. RFC 9112, section 6.3.
type Framing uint8

// The framings.
const (
	NoBody     Framing = iota // the message ends with its head
	Length                    // Head.Length bytes follow
	Chunked                   // chunks follow
	UntilClose                // the body ends with the connection; responses only
	Tunnel                    // what follows is no HTTP: 101, or 2xx to CONNECT
)

type phase uint8

const (
	atStart phase = iota
	atFields
	atEnd
)

const maxNamed = 8 // fields Connection may name: each is compared with each field when the head is forwarded

// Head is where the parts of a request's or response's head lie. One Head serves any number of messages, one after another,
// and allocates only for a head of more fields than any before it. Its spans mean the data it was parsed from, wherever
// those bytes have moved since. It must not be copied or used from two goroutines at once. The zero value is ready.
type Head struct {
	// Of a request.
	Method     Method
	Form       Form
	MethodName Span
	Target     Span
	Path       Span // of Origin and Absolute; empty for a target such as http://host
	Query      Span // without the question mark
	Authority  Span // the host the request is for: of the target if it has one, else of the Host field; may be empty in HTTP/1.0
	Expect     bool // it waits for 100 Continue before its body

	// Of a response.
	Status int
	Reason Span

	// Of both.
	Minor     uint8 // HTTP/1.Minor: 0 or 1
	Framing   Framing
	Length    int64 // bytes of content, with Framing Length
	KeepAlive bool  // the sender wants, and its framing allows, another message on this connection
	Upgrade   bool  // it asks for, or with 101 grants, the protocol that its Upgrade field names. See UpgradeTo
	Fields    []Field

	response bool
	phase    phase
	pos      int // offset of the first line not yet parsed
	scanned  int // offset up to which that line is known to hold no LF

	line      Span  // the first line, with CRLF
	fieldsEnd int   // offset of the empty line
	seen      idSet // the IDs in Fields
	odd       idSet // of framing: written in a way that a careless reader may miss
	length    int64 // what Content-Length says
	hostField Span
	upgradeTo Span
	options   options
	named     [maxNamed]Span
	nnamed    int
	asked     Method

	inline [32]Field
}

// options are what a Connection field can say beside names of fields.
type options struct{ closes, keepsAlive, upgrades, trailers bool }

// Reset forgets a head that was parsed in part. A parser does it by itself after a head that was parsed to its end.
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
	h.seen, h.odd, h.length, h.hostField, h.upgradeTo = 0, 0, 0, Span{}, Span{}
	h.options, h.nnamed, h.asked = options{}, 0, 0
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
	if h.seen.has(id) {
		for _, f := range h.Fields {
			if f.ID == id {
				return f, true
			}
		}
	}
	return Field{}, false
}

// UpgradeTo returns the protocols a message with Upgrade names, a view of data. Tunnel only those you mean, such as
// websocket: behind h2c, requests would pass that no route has seen.
func (h *Head) UpgradeTo(data []byte) []byte { return h.upgradeTo.Of(data) }

// refuse makes the error of a head, which is done with thereby.
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
