package envelope

import "strconv"

// JSONRPC2 is JSON-RPC 2.0 (jsonrpc.org/specification). The value of a request is the member params if it is an object, and
// otherwise the only item of a list. A Status is the member error, with the codes of StatusOf and the details in its member data.
type JSONRPC2 struct{}

var _ Envelope = JSONRPC2{}

// Name returns jsonrpc2.
func (JSONRPC2) Name() string { return "jsonrpc2" }

// AppendRequest appends a request. r.Body must be JSON; if it is empty, there are no params.
func (JSONRPC2) AppendRequest(dst []byte, r Request) ([]byte, error) {
	dst = appendText(append(dst, `{"jsonrpc":"2.0","method":`...), r.Method)
	if len(r.Body) > 0 {
		dst = appendParams(append(dst, `,"params":`...), r.Body, r.Body[0] != '{')
	}
	if !r.Notification {
		dst = appendID(append(dst, `,"id":`...), r.ID, r.Token)
	}
	return append(dst, '}'), nil
}

// ParseRequest parses a request. Without the member id it is a notification.
func (e JSONRPC2) ParseRequest(data []byte) (Request, error) {
	m, err := readMembers(request(e.Name()), data)
	if err != nil {
		return Request{}, err
	}
	return m.request2()
}

func (m *members) request2() (Request, error) {
	if err := m.checkVersion2(); err != nil {
		return Request{}, err
	}
	if m.params.raw != nil && m.params.isNull() { // section 4.2
		return Request{}, m.errorf(m.params.at, "member params must be an object or a list, not null: leave it out if there are none")
	}
	r, err := m.request()
	if err != nil {
		return Request{}, err
	}
	r.Notification = r.Token == nil
	return r, nil
}

// AppendResponse appends a response. r.Body must be JSON; if it is empty, the result is null.
func (JSONRPC2) AppendResponse(dst []byte, r Response) ([]byte, error) {
	dst = append(dst, `{"jsonrpc":"2.0",`...)
	switch {
	case r.Status != nil:
		dst = appendErrorObject(append(dst, `"error":`...), r.Status)
	case len(r.Body) == 0:
		dst = append(dst, `"result":null`...)
	default:
		dst = append(append(dst, `"result":`...), r.Body...)
	}
	return append(appendID(append(dst, `,"id":`...), r.ID, r.Token), '}'), nil
}

// ParseResponse parses a response. It must have a result or an error.
func (e JSONRPC2) ParseResponse(data []byte) (Response, error) {
	m, err := readMembers(response(e.Name()), data)
	if err != nil {
		return Response{}, err
	}
	if err := m.checkVersion2(); err != nil {
		return Response{}, err
	}
	return m.response()
}

// response makes a Response of the members.
func (m *members) response() (r Response, err error) {
	if m.id.raw == nil {
		return r, m.errorf(0, "member id is missing")
	}
	if r.ID, err = m.number(); err != nil {
		return r, err
	}
	r.Token = m.id.raw
	switch {
	case !m.failure.isNull() && !m.result.isNull():
		return Response{}, m.errorf(m.failure.at, "both members result and error are set")
	case !m.failure.isNull():
		r.Status, err = m.status()
	case m.result.raw == nil:
		return Response{}, m.errorf(0, "members result and error are missing")
	default:
		r.Body = m.result.raw
	}
	return r, err
}

// appendParams appends body as the member params. A value that is no object must stand in a list.
func appendParams(dst, body []byte, list bool) []byte {
	if !list {
		return append(dst, body...)
	}
	return append(append(append(dst, '['), body...), ']')
}

// appendID appends the id as its caller wrote it, or the number.
func appendID(dst []byte, id uint64, token []byte) []byte {
	if len(token) > 0 {
		return append(dst, token...)
	}
	return strconv.AppendUint(dst, id, 10)
}
