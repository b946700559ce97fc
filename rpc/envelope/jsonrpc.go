package envelope

// JSONRPC is JSON-RPC 1.0 (jsonrpc.org/specification_v1), as the packages net/rpc/jsonrpc and go-micro's json-rpc write it: params is a
// list with one item, and the error is a string. The string begins with the code's name, such as "NOT_FOUND: no user 5".
type JSONRPC struct{}

var _ Envelope = JSONRPC{}

// Name returns json-rpc.
func (JSONRPC) Name() string { return "json-rpc" }

// AppendRequest appends a request. r.Body must be JSON; if it is empty, params is an empty list.
func (JSONRPC) AppendRequest(dst []byte, r Request) ([]byte, error) {
	dst = appendText(append(dst, `{"method":`...), r.Method)
	dst = appendParams(append(dst, `,"params":`...), r.Body, true)
	dst = append(dst, `,"id":`...)
	if r.Notification {
		return append(dst, `null}`...), nil
	}
	return append(appendID(dst, r.ID, r.Token), '}'), nil
}

// ParseRequest parses a request. If the id is null, it is a notification. params may be an object, too.
func (e JSONRPC) ParseRequest(data []byte) (Request, error) {
	m, err := readMembers(request(e.Name()), data)
	if err != nil {
		return Request{}, err
	}
	return m.request1()
}

func (m *members) request1() (Request, error) {
	r, err := m.request()
	if err != nil {
		return Request{}, err
	}
	if r.Token == nil {
		return Request{}, m.errorf(0, "member id is missing")
	}
	r.Notification = isNull(r.Token)
	return r, nil
}

// AppendResponse appends a response. r.Body must be JSON; if it is empty, the result is null.
func (JSONRPC) AppendResponse(dst []byte, r Response) ([]byte, error) {
	dst = appendID(append(dst, `{"id":`...), r.ID, r.Token)
	switch {
	case r.Status != nil:
		dst = append(dst, `,"result":null,"error":`...)
		return append(appendText(dst, r.Status.Error()), '}'), nil
	case len(r.Body) == 0:
		return append(dst, `,"result":null,"error":null}`...), nil
	}
	return append(append(append(dst, `,"result":`...), r.Body...), `,"error":null}`...), nil
}

// ParseResponse parses a response. An error that is an object is read as that of JSON-RPC 2.0.
func (e JSONRPC) ParseResponse(data []byte) (Response, error) {
	m, err := readMembers(response(e.Name()), data)
	if err != nil {
		return Response{}, err
	}
	return m.response()
}

// ParseJSON parses a request of either version of JSON-RPC in one scan: the member "jsonrpc":"2.0" selects 2.0. It returns the
// envelope for the response. The envelope is JSONRPC2 beside an error.
func ParseJSON(data []byte) (Envelope, Request, error) {
	m, err := readMembers(request(JSONRPC2{}.Name()), data)
	switch {
	case err != nil:
		return JSONRPC2{}, Request{}, err
	case m.version.raw != nil:
		r, err := m.request2()
		return JSONRPC2{}, r, err
	}
	m.kind = request(JSONRPC{}.Name())
	r, err := m.request1()
	return JSONRPC{}, r, err
}
