package jsonrpc

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"example.com/ferry/internal/h1conn"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/envelope"
)

// A plain call is POST /Service/Method with the value alone as its body, and the value alone as its response: the unary form of Connect
// (connectrpc.com/docs/protocol), which curl and clients of Connect send.
const plainTimeoutField = "connect-timeout-ms"

// plainMethod returns the method of the path of a plain call: /greeter.Greeter/Hello is greeter.Greeter.Hello.
func plainMethod(path string) (method string, ok bool) {
	service, name, ok := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if !ok || service == "" || name == "" || strings.Contains(name, "/") {
		return "", false
	}
	return service + "." + name, true
}

// beginPlain makes the call a plain one.
func (c *clientCall) beginPlain() *call.Status {
	service, method, ok := cutMethod(c.head.Method)
	if !ok {
		return &call.Status{Code: call.InvalidArgument, Message: fmt.Sprintf("jsonrpc: %.100q is no full method name: write one such as greeter.Greeter.Hello", c.head.Method)}
	}
	c.path, c.timeout = "/"+service+"/"+method, plainTimeoutField
	switch c.head.Content {
	case typeJSON:
	case typeProtobuf:
		c.content = typeProto
	default:
		return &call.Status{Code: call.InvalidArgument, Message: fmt.Sprintf("jsonrpc: content type %.64q of a plain call: want %s or %s", c.head.Content, typeJSON, typeProtobuf)}
	}
	return nil
}

// cutMethod splits the full name of a method whose parts can stand in a path.
func cutMethod(full string) (service, method string, ok bool) {
	i := strings.LastIndexByte(full, '.')
	if i <= 0 || i == len(full)-1 {
		return "", "", false
	}
	for _, c := range []byte(full) {
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && c != '_' && c != '.' && c != '-' {
			return "", "", false
		}
	}
	return full[:i], full[i+1:], true
}

// plainResult takes the response of a plain call out of an HTTP response.
func (c *clientCall) plainResult(r *h1conn.Result, body []byte, resp *call.Response) error {
	content, _, _ := strings.Cut(h1conn.Get(r.Fields, "content-type"), ";")
	if content = strings.TrimSpace(content); r.Status == http.StatusOK {
		if content != c.content {
			return statusOfHTTP(r, body)
		}
		resp.Data = body
		return nil
	}
	var failed plainError
	if content != typeJSON || json.Unmarshal(body, &failed) != nil {
		return statusOfHTTP(r, body)
	}
	s := failed.status()
	if s == nil {
		return statusOfHTTP(r, body)
	}
	return s
}

// plainContent returns the content type of the values for a content-type field.
func plainContent(field string) (content string, ok bool) {
	if field == typeProto {
		return typeProtobuf, true
	}
	content, ok = contentType(field)
	return content, ok && content == typeJSON
}

// plainCall handles a plain call.
func (e *exchange) plainCall() {
	body, status, err := e.read()
	switch {
	case err != nil && status == http.StatusUnsupportedMediaType:
		e.response = textResponse(status, call.StatusOf(err).Message)
		return
	case err != nil:
		e.fail(call.StatusOf(err), status)
		return
	case e.head.Content == typeJSON && !envelope.ValidJSON(body):
		e.fail(notJSON(body), 0)
		return
	}
	m, err := e.methods.find(e.plain)
	name := e.plain
	if m != nil {
		name = m.Name()
	} else if _, lists := e.service.(lister); lists && err == nil { // others may know a method that they do not tell
		err = call.Errorf(call.Unimplemented, "no method %.100s", e.plain)
	}
	if err != nil {
		e.fail(call.StatusOf(err), http.StatusNotFound)
		return
	}
	c := &serverCall{head: e.head, peer: &e.peer, request: envelope.Request{Method: name, Body: body}}
	c.head.Method = name
	e.memory = e.call(e.Begin(e.head.Deadline), c)
	e.End()
	e.setMetadata(c)
	if c.status != nil {
		e.fail(c.status, 0)
		return
	}
	e.finish(http.StatusOK, h1conn.Get(e.fields, "content-type"), e.memory.B)
}

// fail ends a plain call with an error. status is the one of HTTP; 0 means that of the code.
func (e *exchange) fail(s *call.Status, status int) {
	text := plainError{Message: s.Message}
	of := plainCodeOf(s.Code)
	if text.Code = of.name; status == 0 {
		status = of.status
	}
	for _, d := range s.Details {
		text.Details = append(text.Details, plainDetail{strings.TrimPrefix(d.Type, typePrefix), base64.RawStdEncoding.EncodeToString(d.Value)})
	}
	body, _ := json.Marshal(text) // strings can always be written
	e.finish(status, typeJSON, body)
}

// plainError is the body of a response with an error.
type plainError struct {
	Code    string        `json:"code"`
	Message string        `json:"message,omitempty"`
	Details []plainDetail `json:"details,omitempty"`
}

type plainDetail struct {
	Type  string `json:"type"`
	Value string `json:"value"`
}

// typePrefix begins the type of a detail in a Status, and not in a plain error.
const typePrefix = "type.googleapis.com/"

// status returns the status of an error, or nil if it has no known code.
func (e *plainError) status() *call.Status {
	code := slices.IndexFunc(plainCodes[1:], func(c plainCode) bool { return c.name == e.Code })
	if code < 0 {
		return nil
	}
	s := &call.Status{Code: call.Code(code + 1), Message: e.Message}
	for _, d := range e.Details {
		value, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(d.Value, "="))
		if err != nil {
			continue // it explains the error, and is not part of it
		}
		s.Details = append(s.Details, call.Detail{Type: typePrefix + d.Type, Value: value})
	}
	return s
}

// plainCode is the name of a code and its status of HTTP.
type plainCode struct {
	name   string
	status int
}

// plainCodeOf returns the name and the status of a code, which may be none that is known.
func plainCodeOf(c call.Code) plainCode {
	if int(c) < len(plainCodes) {
		return plainCodes[c]
	}
	return plainCodes[call.Unknown]
}

// plainCodes are the names of codes and their statuses of HTTP. connectrpc.com/docs/protocol, "Error Codes".
var plainCodes = [...]plainCode{
	call.OK:                 {"unknown", 500},
	call.Canceled:           {"canceled", 499},
	call.Unknown:            {"unknown", 500},
	call.InvalidArgument:    {"invalid_argument", 400},
	call.DeadlineExceeded:   {"deadline_exceeded", 504},
	call.NotFound:           {"not_found", 404},
	call.AlreadyExists:      {"already_exists", 409},
	call.PermissionDenied:   {"permission_denied", 403},
	call.ResourceExhausted:  {"resource_exhausted", 429},
	call.FailedPrecondition: {"failed_precondition", 400},
	call.Aborted:            {"aborted", 409},
	call.OutOfRange:         {"out_of_range", 400},
	call.Unimplemented:      {"unimplemented", 501},
	call.Internal:           {"internal", 500},
	call.Unavailable:        {"unavailable", 503},
	call.DataLoss:           {"data_loss", 500},
	call.Unauthenticated:    {"unauthenticated", 401},
}
