package ferry

import "context"

// Handler receives one message at a time. in is borrowed until Handle returns; an error is counted and logged by the
// caller and does not stop the function. Calls for one tag and source never overlap and keep their order; calls for
// different tags may run at once.
type Handler interface {
	Handle(ctx context.Context, in *Message, out Sender) error
}

// HandlerFunc makes a function a Handler.
type HandlerFunc func(ctx context.Context, in *Message, out Sender) error

// Handle calls f.
func (f HandlerFunc) Handle(ctx context.Context, in *Message, out Sender) error {
	return f(ctx, in, out)
}

// BatchHandler is a Handler that receives all waiting messages of one tag in one call, in order. in and its payloads are
// borrowed until HandleBatch returns.
type BatchHandler interface {
	Handler
	HandleBatch(ctx context.Context, in []Message, out Sender) error
}

// Sender publishes. Send copies the payload, and blocks while the tag has no credit, until ctx ends. It may be called
// from several goroutines.
type Sender interface {
	Send(ctx context.Context, m Message) error
}
