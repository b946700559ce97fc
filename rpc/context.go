package rpc

import (
	"context"
	"fmt"
	"strings"

	"example.com/ferry/rpc/call"
)

type (
	serverCallKey struct{}
	metadataKey   struct{}
)

// callOf returns the server's call that ctx belongs to, or nil.
func callOf(ctx context.Context) *serverCall {
	c, _ := ctx.Value(serverCallKey{}).(*serverCall)
	return c
}

// Header returns the metadata that the caller sent. ctx is the handler's, or made from it. Otherwise the result is nil.
func Header(ctx context.Context) call.Metadata {
	if c := callOf(ctx); c != nil {
		return c.metadata
	}
	return nil
}

// Peer returns the caller's end of the connection, or nil if ctx is not a handler's. The result is valid until the handler returns.
func Peer(ctx context.Context) *call.Peer {
	if c := callOf(ctx); c != nil {
		return c.peer
	}
	return nil
}

// SetHeader adds a field to the header of the response. After the first message was sent it returns an error. ctx is the handler's.
func SetHeader(ctx context.Context, name, value string) error {
	c, err := respondingCall(ctx, name, value)
	if err != nil {
		return err
	}
	defer c.mu.Unlock()
	return c.stream.SetHeader(call.Metadata{{Name: strings.ToLower(name), Value: value}})
}

// SetTrailer adds a field to the trailer, which follows the last message. ctx is the handler's.
func SetTrailer(ctx context.Context, name, value string) error {
	c, err := respondingCall(ctx, name, value)
	if err != nil {
		return err
	}
	defer c.mu.Unlock()
	c.trailer.Add(name, value)
	return nil
}

// respondingCall returns the call of ctx with its mu locked.
func respondingCall(ctx context.Context, name, value string) (*serverCall, error) {
	f := call.Field{Name: strings.ToLower(name), Value: value}
	if err := f.Check(); err != nil {
		return nil, err
	}
	c := callOf(ctx)
	if c == nil {
		return nil, fmt.Errorf("rpc: metadata field %s: the context is not that of a handler", name)
	}
	c.mu.Lock()
	if c.finished {
		c.mu.Unlock()
		return nil, fmt.Errorf("rpc: metadata field %s: the call of %s has ended", name, c.method.name)
	}
	return c, nil
}

// WithMetadata returns a context whose calls carry the metadata in ctx and the given pairs of names and values. A call with an
// invalid field fails with InvalidArgument. An odd number of strings makes the last value empty.
func WithMetadata(ctx context.Context, namesAndValues ...string) context.Context {
	old, _ := ctx.Value(metadataKey{}).(call.Metadata)
	m := make(call.Metadata, len(old), len(old)+(len(namesAndValues)+1)/2)
	copy(m, old)
	for i := 0; i < len(namesAndValues); i += 2 {
		value := ""
		if i+1 < len(namesAndValues) {
			value = namesAndValues[i+1]
		}
		m.Add(namesAndValues[i], value)
	}
	return context.WithValue(ctx, metadataKey{}, m)
}

// outgoing returns the metadata of a call made with ctx. If ctx is a handler's, the W3C trace context of the handler's call is
// part of it, unless WithMetadata has set another.
func outgoing(ctx context.Context) (call.Metadata, *call.Status) {
	m, _ := ctx.Value(metadataKey{}).(call.Metadata)
	if err := m.Check(); err != nil {
		return nil, call.StatusOf(err)
	}
	c := callOf(ctx)
	if c == nil || c.metadata == nil || m.Get("traceparent") != "" {
		return m, nil
	}
	parent := c.metadata.Get("traceparent")
	if parent == "" {
		return m, nil
	}
	m = append(m[:len(m):len(m)], call.Field{Name: "traceparent", Value: parent})
	for _, state := range c.metadata.Values("tracestate") {
		m = append(m, call.Field{Name: "tracestate", Value: state})
	}
	return m, nil
}
