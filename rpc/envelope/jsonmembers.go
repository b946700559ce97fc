package envelope

import (
	"math"

	"example.com/ferry/rpc/call"
)

// part is a value within a message. raw is nil if the message does not have it.
type part struct {
	raw []byte
	at  int // offset in the message
}

func (p part) isNull() bool { return p.raw == nil || isNull(p.raw) }

// members are the values of a JSON-RPC message.
type members struct {
	kind
	version, method, params, id, result, failure part
}

// readMembers scans data once. A name that occurs twice is an error, because two readers could use different ones.
func readMembers(k kind, data []byte) (members, error) {
	s := scanner{kind: k, data: data}
	m := members{kind: k}
	if err := s.expect('{'); err != nil {
		return m, err
	}
	for first := true; ; first = false {
		more, err := s.element(first, '}')
		if err != nil {
			return m, err
		}
		if !more {
			return m, s.end()
		}
		s.skipSpace()
		nameAt := s.pos
		name, err := s.name()
		if err != nil {
			return m, err
		}
		s.skipSpace()
		at := s.pos
		raw, err := s.value()
		if err != nil {
			return m, err
		}
		to := m.find(name)
		switch {
		case to == nil && k.code != call.InvalidArgument && !ValidJSON(raw):
			return m, s.errorf(at, "member %.32q is not JSON", name)
		case to == nil:
			continue
		case to.raw != nil:
			return m, s.errorf(nameAt, "member %q occurs twice", name)
		}
		*to = part{raw, at}
	}
}

// find returns where the member with a name belongs, or nil.
func (m *members) find(name []byte) *part {
	switch string(name) {
	case "jsonrpc":
		return &m.version
	case "method":
		return &m.method
	case "params":
		return &m.params
	case "id":
		return &m.id
	case "result":
		return &m.result
	case "error":
		return &m.failure
	}
	return nil
}

// checkVersion2 checks that the message is JSON-RPC 2.0.
func (m *members) checkVersion2() error {
	switch {
	case m.version.raw == nil:
		return m.errorf(0, `member "jsonrpc":"2.0" is missing`)
	case string(m.version.raw) != `"2.0"`:
		return m.errorf(m.version.at, `member jsonrpc must be "2.0", not %.32q`, m.version.raw)
	}
	return nil
}

// request makes a Request of the members that both versions have.
func (m *members) request() (r Request, err error) {
	switch {
	case m.method.raw == nil:
		return r, m.errorf(0, "member method is missing")
	case m.method.raw[0] != '"':
		return r, m.errorf(m.method.at, "member method must be a string, not %.32q", m.method.raw)
	}
	s := scanner{kind: m.kind}
	method, err := s.text(m.method.raw, m.method.at)
	if err != nil {
		return r, err
	}
	r.Method = string(method)
	if r.ID, err = m.number(); err != nil {
		return r, err
	}
	r.Token = m.id.raw
	r.Body, err = m.body()
	return r, err
}

// body returns the one value that params hold: an object itself, or the only item of a list. An empty list and no params are null.
// A list of several items is the value itself.
func (m *members) body() ([]byte, error) {
	if m.params.isNull() {
		return []byte("null"), nil
	}
	switch m.params.raw[0] {
	case '{':
		return m.params.raw, nil
	case '[':
	default:
		return nil, m.errorf(m.params.at, "member params must be an object or a list, not %.32q", m.params.raw)
	}
	s := scanner{kind: m.kind, data: m.params.raw, pos: 1}
	body := []byte(nil)
	for items := 0; ; items++ {
		more, err := s.element(items == 0, ']')
		switch {
		case err != nil:
			return nil, m.errorf(m.params.at, "member params is not JSON")
		case !more && body == nil:
			return []byte("null"), nil
		case !more:
			return body, nil
		case items == 1:
			return m.params.raw, nil
		}
		if body, err = s.value(); err != nil {
			return nil, m.errorf(m.params.at, "member params is not JSON")
		}
	}
}

// number returns the id as a number: it may be a number, or a string with one, as go-micro writes it. Other ids give 0.
func (m *members) number() (uint64, error) {
	raw := m.id.raw
	if m.id.isNull() {
		return 0, nil
	}
	switch c := raw[0]; {
	case c == '"':
		if n, ok := parseUint(raw[1 : len(raw)-1]); ok {
			return n, nil
		}
	case c == '-' || c-'0' <= 9:
		if n, ok := parseUint(raw); ok {
			return n, nil
		}
	default:
		return 0, m.errorf(m.id.at, "member id must be a number, a string or null, not %.32q", raw)
	}
	if !ValidJSON(raw) {
		return 0, m.errorf(m.id.at, "member id is not JSON")
	}
	return 0, nil
}

// parseUint reads a decimal number without leading zeros.
func parseUint(digits []byte) (n uint64, ok bool) {
	if len(digits) == 0 || len(digits) > 1 && digits[0] == '0' {
		return 0, false
	}
	for _, c := range digits {
		d := uint64(c - '0')
		if d > 9 || n > (math.MaxUint64-d)/10 {
			return 0, false
		}
		n = n*10 + d
	}
	return n, true
}
