package jsonrpc

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
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

// plainContent returns the content type of the values for a content-type field.
func plainContent(field string) (content string, ok bool) {
	if field == "application/proto" {
		return "application/protobuf", true
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
	case e.head.Content == typeJSON && !json.Valid(body):
		e.fail(notJSON(body), 0)
		return
	}
	m, err := e.methods.find(e.plain)
	if m == nil && err == nil {
		err = call.Errorf(call.Unimplemented, "no method %.100s", e.plain)
	}
	if err != nil {
		e.fail(call.StatusOf(err), http.StatusNotFound)
		return
	}
	c := &serverCall{head: e.head, peer: &e.peer, request: envelope.Request{Method: m.Name(), Body: body}}
	e.within(func(ctx context.Context) { e.call(ctx, c) })
	fields, _ := appendMetadata(nil, "", c.header)                          // SetHeader has checked it
	e.response.Fields, _ = appendMetadata(fields, trailerPrefix, c.trailer) // Finish has checked it
	if c.status != nil {
		e.fail(c.status, 0)
		return
	}
	e.finish(http.StatusOK, h1conn.Get(e.fields, "content-type"), c.response)
}

// fail ends a plain call with an error. status is the one of HTTP; 0 means that of the code.
func (e *exchange) fail(s *call.Status, status int) {
	type detail struct {
		Type  string `json:"type"`
		Value string `json:"value"`
	}
	text := struct {
		Code    string   `json:"code"`
		Message string   `json:"message,omitempty"`
		Details []detail `json:"details,omitempty"`
	}{Message: s.Message}
	of := plainCodes[call.Unknown]
	if int(s.Code) < len(plainCodes) {
		of = plainCodes[s.Code]
	}
	if text.Code = of.name; status == 0 {
		status = of.status
	}
	for _, d := range s.Details {
		text.Details = append(text.Details, detail{strings.TrimPrefix(d.Type, "type.googleapis.com/"), base64.RawStdEncoding.EncodeToString(d.Value)})
	}
	body, _ := json.Marshal(text) // strings can always be written
	e.finish(status, typeJSON, body)
}

// plainCodes are the names of codes and their statuses of HTTP. connectrpc.com/docs/protocol, "Error Codes".
var plainCodes = [...]struct {
	name   string
	status int
}{
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
