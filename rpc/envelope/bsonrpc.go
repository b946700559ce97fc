package envelope

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"example.com/ferry/format/bson"
)

// BSONRPC is go-micro's bsonrpc: two BSON documents. The first has the texts ServiceMethod and Seq and, in a response, Error; the second
// is the value. In a parsed document they may be binary, too, and Seq an integer, which the response repeats. The error begins with
// the code's name, such as "NOT_FOUND: no user 5".
type BSONRPC struct{}

var _ Envelope = BSONRPC{}

// Name returns bsonrpc.
func (BSONRPC) Name() string { return "bsonrpc" }

// AppendRequest appends a request. r.Body must be a document; if it is empty, an empty document is written.
func (BSONRPC) AppendRequest(dst []byte, r Request) ([]byte, error) {
	return bsonMessage{method: r.Method, id: r.ID, token: r.Token, body: r.Body}.appendTo(dst)
}

// ParseRequest parses a request. A name that occurs twice is an error.
func (e BSONRPC) ParseRequest(data []byte) (Request, error) {
	h, err := parseBSONRPC(request(e.Name()), data)
	if err != nil {
		return Request{}, err
	}
	return Request{Method: string(h.method), ID: h.id, Token: h.token, Body: h.body}, nil
}

// AppendResponse appends a response. If the call has failed, the second document is empty.
func (BSONRPC) AppendResponse(dst []byte, r Response) ([]byte, error) {
	m := bsonMessage{method: r.Method, id: r.ID, token: r.Token, response: true}
	if r.Status != nil {
		m.failure = r.Status.Error()
	} else {
		m.body = r.Body
	}
	return m.appendTo(dst)
}

// ParseResponse parses a response. If its error is not empty, the value is ignored.
func (e BSONRPC) ParseResponse(data []byte) (Response, error) {
	h, err := parseBSONRPC(response(e.Name()), data)
	if err != nil {
		return Response{}, err
	}
	r := Response{Method: string(h.method), ID: h.id, Token: h.token, Body: h.body}
	if len(h.failure) > 0 {
		r.Body, r.Status = nil, statusOf(strings.ToValidUTF8(string(h.failure), "\uFFFD"))
	}
	return r, nil
}

// Types of BSON's elements. bsonspec.org, version 1.1.
const (
	bsonText   = 0x02
	bsonBinary = 0x05
	bsonInt32  = 0x10
	bsonInt64  = 0x12
)

// emptyBSON is the length of a document without elements.
const emptyBSON = 5

// bsonMessage is a message to be written.
type bsonMessage struct {
	method, failure string
	id              uint64
	token, body     []byte
	response        bool
}

func (m bsonMessage) appendTo(dst []byte) ([]byte, error) {
	if uint64(len(m.method))+uint64(len(m.failure)) > math.MaxInt32/2 {
		return dst, fmt.Errorf("bsonrpc: a method and an error of %d bytes: a document has room for 2 GiB", len(m.method)+len(m.failure))
	}
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = appendBSONText(dst, "ServiceMethod", m.method)
	if len(m.token) > 0 {
		dst = append(dst, m.token...)
	} else {
		var digits [20]byte
		dst = appendBSONText(dst, "Seq", strconv.AppendUint(digits[:0], m.id, 10))
	}
	if m.response {
		dst = appendBSONText(dst, "Error", m.failure)
	}
	dst = append(dst, 0)
	binary.LittleEndian.PutUint32(dst[start:], uint32(len(dst)-start))
	if len(m.body) == 0 {
		return append(dst, emptyBSON, 0, 0, 0, 0), nil
	}
	return append(dst, m.body...), nil
}

func appendBSONText[T string | []byte](dst []byte, name string, text T) []byte {
	dst = append(append(append(dst, bsonText), name...), 0)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(text)+1))
	return append(append(dst, text...), 0)
}

// bsonHeader is a parsed message. token is the whole element Seq.
type bsonHeader struct {
	method, failure, token, body []byte
	id                           uint64
}

func parseBSONRPC(k kind, data []byte) (bsonHeader, error) {
	n, err := bsonLength(k, data, 0)
	if err != nil {
		return bsonHeader{}, err
	}
	body := data[n:]
	switch m, err := bsonLength(k, body, n); {
	case err != nil:
		return bsonHeader{}, err
	case m != len(body):
		return bsonHeader{}, k.errorf(n+m, "%d bytes behind the value", len(body)-m)
	}
	h, err := parseBSONElements(k, data[:n])
	h.body = body
	return h, err
}

// bsonLength returns the length of the document at the start of data. at is the offset of data in the message.
func bsonLength(k kind, data []byte, at int) (int, error) {
	if len(data) < emptyBSON {
		return 0, k.errorf(at+len(data), "the message ends in a document's length")
	}
	n := binary.LittleEndian.Uint32(data)
	if n < emptyBSON || uint64(n) > uint64(len(data)) {
		return 0, k.errorf(at, "a document of %d bytes where %d follow", n, len(data))
	}
	if data[n-1] != 0 {
		return 0, k.errorf(at+int(n)-1, "byte %#x at the end of a document: want 0", data[n-1])
	}
	return int(n), nil
}

// parseBSONElements parses the first document.
func parseBSONElements(k kind, data []byte) (h bsonHeader, err error) {
	for pos := 4; pos < len(data)-1; {
		e, err := bson.Next(data, pos)
		if err != nil {
			return h, k.errorf(pos, "a malformed element: %v", err)
		}
		switch to := h.find(e.Name); {
		case to == nil:
		case *to != nil:
			return h, k.errorf(pos, "element %.32q occurs twice", e.Name)
		default:
			*to = data[pos:e.End:e.End]
		}
		pos = e.End
	}
	if h.token == nil {
		return h, k.errorf(0, `element "Seq" is missing`)
	}
	if h.method, err = k.bsonContent(h.method, "ServiceMethod"); err != nil {
		return h, err
	}
	if h.failure, err = k.bsonContent(h.failure, "Error"); err != nil {
		return h, err
	}
	h.id, err = k.bsonNumber(h.token)
	return h, err
}

// find returns where the element with a name belongs, or nil.
func (h *bsonHeader) find(name []byte) *[]byte {
	switch string(name) {
	case "ServiceMethod":
		return &h.method
	case "Seq":
		return &h.token
	case "Error":
		return &h.failure
	}
	return nil
}

// bsonContent returns the text in an element, which is nil if there is none.
func (k kind) bsonContent(element []byte, name string) ([]byte, error) {
	if element == nil {
		return nil, nil
	}
	value := element[1+len(name)+1:]
	switch element[0] {
	case bsonText:
		if end := len(value) - 1; value[end] == 0 {
			return value[4:end], nil
		}
		return nil, k.errorf(0, "element %q has a text without a NUL at its end", name)
	case bsonBinary:
		return value[5:], nil
	}
	return nil, k.errorf(0, "element %q has type %#x: want a text", name, element[0])
}

// bsonNumber returns the number in the element Seq. A text that is no number stands for 0.
func (k kind) bsonNumber(element []byte) (uint64, error) {
	value := element[1+len("Seq")+1:]
	switch element[0] {
	case bsonInt32:
		return uint64(max(0, int32(binary.LittleEndian.Uint32(value)))), nil
	case bsonInt64:
		return uint64(max(0, int64(binary.LittleEndian.Uint64(value)))), nil
	}
	text, err := k.bsonContent(element, "Seq")
	id, _ := parseUint(text) // a text that is no number stands for 0
	return id, err
}
