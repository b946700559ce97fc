package envelope

import (
	"encoding/json"
	"math"
	"strconv"

	"example.com/ferry/rpc/call"
)

// Error codes of JSON-RPC 2.0, section 5.1.
const (
	ParseError     = -32700 // the text is not JSON
	InvalidRequest = -32600 // the JSON is no request
	MethodNotFound = -32601
	InvalidParams  = -32602
	InternalError  = -32603
	ServerError    = -32000 // a code c of package call that has no code above is ServerError - c
)

// JSONCode returns JSON-RPC's error code for c: -32601 for Unimplemented, -32602 for InvalidArgument, -32603 for Internal, and
// otherwise a server error, -32000 minus the number of c.
func JSONCode(c call.Code) int {
	switch c {
	case call.Unimplemented:
		return MethodNotFound
	case call.InvalidArgument:
		return InvalidParams
	case call.Internal:
		return InternalError
	}
	if c <= call.Unauthenticated {
		return ServerError - int(c)
	}
	return ServerError - int(call.Unknown)
}

// CodeOf returns the code that an error code of JSON-RPC stands for. It is the inverse of JSONCode. Parse errors and invalid requests
// are InvalidArgument, and codes that JSON-RPC does not define are Unknown.
func CodeOf(jsonCode int64) call.Code {
	switch jsonCode {
	case MethodNotFound:
		return call.Unimplemented
	case InvalidParams, InvalidRequest, ParseError:
		return call.InvalidArgument
	case InternalError:
		return call.Internal
	}
	if jsonCode < ServerError && jsonCode >= ServerError-int64(call.Unauthenticated) {
		return call.Code(ServerError - jsonCode)
	}
	return call.Unknown
}

// JSONData is the type of a Status's detail that is the member data of an error as it stands, a JSON text.
const JSONData = "application/json"

// errorData is the member data of an error that has typed details.
type errorData struct {
	Details []errorDetail `json:"details"`
}

type errorDetail struct {
	Type  string `json:"type"`
	Value []byte `json:"value"` // base64
}

// appendErrorObject appends s as an error object. JSON-RPC 2.0, section 5.1.
func appendErrorObject(dst []byte, s *call.Status) []byte {
	return AppendError(dst, JSONCode(s.Code), s)
}

// AppendError appends an error object of JSON-RPC 2.0 with a code of JSON-RPC, and the message and the details of s. A single
// detail of the type JSONData is the member data itself.
func AppendError(dst []byte, code int, s *call.Status) []byte {
	dst = strconv.AppendInt(append(dst, `{"code":`...), int64(code), 10)
	dst = appendText(append(dst, `,"message":`...), s.Message)
	if len(s.Details) == 0 {
		return append(dst, '}')
	}
	data := s.Details[0].Value
	if len(s.Details) > 1 || s.Details[0].Type != JSONData || !json.Valid(data) {
		typed := errorData{make([]errorDetail, len(s.Details))}
		for i, d := range s.Details {
			typed.Details[i] = errorDetail(d)
		}
		var err error
		if data, err = json.Marshal(typed); err != nil {
			data = null // texts and bytes can always be written
		}
	}
	return append(append(append(dst, `,"data":`...), data...), '}')
}

// status reads the member error: an object of JSON-RPC 2.0, or the text that JSON-RPC 1.0 has.
func (m *members) status() (*call.Status, error) {
	raw := m.failure.raw
	switch raw[0] {
	case '"':
		s := scanner{kind: m.kind}
		text, err := s.text(raw, m.failure.at)
		return statusOf(string(text)), err
	case '{':
		return m.errorObject()
	}
	if !json.Valid(raw) {
		return nil, m.errorf(m.failure.at, "member error is not JSON")
	}
	return &call.Status{Code: call.Unknown, Message: string(raw)}, nil
}

func (m *members) errorObject() (*call.Status, error) {
	var object struct {
		Code    json.Number     `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(m.failure.raw, &object); err != nil {
		return nil, m.errorf(m.failure.at, "member error: %v", err)
	}
	number, err := object.Code.Int64()
	if err != nil {
		number = math.MinInt64
	}
	s := &call.Status{Code: CodeOf(number), Message: object.Message}
	if object.Data == nil || isNull(object.Data) {
		return s, nil
	}
	var typed errorData
	if err := json.Unmarshal(object.Data, &typed); err != nil || len(typed.Details) == 0 {
		s.Details = []call.Detail{{Type: JSONData, Value: object.Data}}
		return s, nil
	}
	for _, d := range typed.Details {
		s.Details = append(s.Details, call.Detail(d))
	}
	return s, nil
}
