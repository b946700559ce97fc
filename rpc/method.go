package rpc

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"

	"example.com/ferry/codec"
	"example.com/ferry/cpu"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/envelope"
)

// method is a registered method.
type method struct {
	name              string
	clientStreams     bool
	serverStreams     bool
	request, response reflect.Type // struct types, or whatever T in *T is
	offered           []envelope.Content
	refused           map[string]error // by content type: why the method does not offer it
	pool              *cpu.Pool        // nil unless Heavy
	maxCalls          int64            // 0 means no limit
	encoded           atomic.Int64     // size of the last response: the next one's buffer gets it
	stats             methodCounters

	// begin returns the object of a call. The request of a unary call lies in the same allocation.
	begin func() *serverCall
	// handle runs the handler of the user. For methods whose client sends one message, c.request is that message. The result is the
	// message to send, nil for methods whose server sends many.
	handle func(ctx context.Context, c *serverCall) (response any, err error)
}

// Name implements call.Method.
func (m *method) Name() string { return m.name }

// Shape implements call.Method.
func (m *method) Shape() (clientStreams, serverStreams bool) { return m.clientStreams, m.serverStreams }

// Types returns the types of a request and a response, without the pointer.
func (m *method) Types() (request, response reflect.Type) { return m.request, m.response }

func (m *method) streams() bool { return m.clientStreams || m.serverStreams }

// check decides which contents the method offers. If there is none, the error says why for each.
func (m *method) check(contents []envelope.Content) error {
	if err := checkMethodName(m.name); err != nil {
		return err
	}
	m.refused = make(map[string]error)
	var reasons []error
	for _, c := range contents {
		if err := m.refuses(c); err != nil {
			m.refused[c.Type] = err
			reasons = append(reasons, fmt.Errorf("%s: %w", c.Type, err))
			continue
		}
		m.offered = append(m.offered, c)
	}
	if m.offered == nil {
		return fmt.Errorf("rpc: method %s: no content type of ServerConfig.Contents can carry %v and %v: %w", m.name, m.request, m.response, errors.Join(reasons...))
	}
	return nil
}

// refuses returns why the method cannot offer c, or nil.
func (m *method) refuses(c envelope.Content) error {
	if c.Envelope != nil && m.streams() {
		return fmt.Errorf("the envelope %s is for unary calls only", c.Envelope.Name())
	}
	for _, t := range []reflect.Type{m.request, m.response} {
		if err := codec.CheckType(c.Codec, reflect.PointerTo(t)); err != nil {
			return err
		}
	}
	return nil
}

// content returns the offered content of that type.
func (m *method) content(contentType string) (*envelope.Content, *call.Status) {
	for i := range m.offered {
		if m.offered[i].Type == contentType {
			return &m.offered[i], nil
		}
	}
	if err := m.refused[contentType]; err != nil {
		return nil, statusf(call.Unimplemented, "%s does not offer the content type %s: %v", m.name, contentType, err)
	}
	var offered []string
	for _, c := range m.offered {
		offered = append(offered, c.Type)
	}
	return nil, statusf(call.Unimplemented, "%s does not offer the content type %.100q: use %s", m.name, contentType, strings.Join(offered, ", "))
}

// checkMethodName checks that name is a service, a dot and a method, each of letters, digits, _ and -.
func checkMethodName(name string) error {
	parts := strings.Split(name, ".")
	for _, part := range parts {
		ok := part != ""
		for _, c := range []byte(part) {
			ok = ok && (c == '_' || c == '-' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z')
		}
		if !ok || len(parts) < 2 {
			return fmt.Errorf("rpc: method name %q: write package.Service.Method, of letters, digits, _ and -", name)
		}
	}
	return nil
}

func statusf(code call.Code, format string, args ...any) *call.Status {
	return &call.Status{Code: code, Message: fmt.Sprintf(format, args...)}
}
