package ferry

import "context"

// Handler receives one message at a time. It may use in until Handle returns. An error is counted and logged by the caller; it
// does not stop the function. Calls for one tag and source never overlap and keep their order. Calls for different tags may
// overlap.
type Handler interface {
	Handle(ctx context.Context, in *Message, out Sender) error
}

// HandlerFunc makes a function a Handler.
type HandlerFunc func(ctx context.Context, in *Message, out Sender) error

// Handle calls f.
func (f HandlerFunc) Handle(ctx context.Context, in *Message, out Sender) error {
	return f(ctx, in, out)
}

// BatchHandler is a Handler that receives all waiting messages of one tag in one call, in order. It may use in and the
// payloads until HandleBatch returns.
type BatchHandler interface {
	Handler
	HandleBatch(ctx context.Context, in []Message, out Sender) error
}

// Sender publishes messages. Send copies the payload. If the tag has no credit, Send blocks until there is credit or ctx ends.
// Several goroutines may call Send at the same time.
type Sender interface {
	Send(ctx context.Context, m Message) error
}
