package native

import (
	wire "example.com/ferry/protocol/native"
	"example.com/ferry/rpc/call"
)

// maxNames bounds the bytes of the names that a stream has announced and that this end stores. Further methods that the service does
// not have are dropped: their calls are refused. That must not end the connection, because a node sends the calls of several clients
// on it.
const maxNames = 64 << 10

// method is what a number stands for on a stream that this end reads.
type method struct {
	name, content string
	method        call.Method // nil if the service has no such method
	unary         bool        // one request and one response
	dropped       bool        // the names were not stored
}

// stored returns how many bytes of names m needs.
func (m *method) stored() int {
	if m.method != nil {
		return len(m.content)
	}
	return len(m.name) + len(m.content)
}

// method handles METHOD.
func (r *receiver) method(f wire.Frame) error {
	v, err := wire.ParseMethod(f)
	if err != nil {
		return err
	}
	for len(r.methods) <= int(v.Number) {
		r.methods = append(r.methods, method{})
	}
	m := &r.methods[v.Number]
	r.named -= m.stored()
	*m = method{name: v.Method, content: v.Content, unary: true}
	if service := r.session.service; service != nil {
		if m.method = service.Method(v.Method); m.method != nil {
			m.name = m.method.Name()
			many, streams := m.method.Shape()
			m.unary = !many && !streams
		}
	}
	if r.named+m.stored() > maxNames {
		*m = method{dropped: true}
	}
	r.named += m.stored()
	return nil
}
