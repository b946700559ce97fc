package ferry

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Handler receives one message at a time. It may use in until Handle returns. An error is counted and logged by the caller; it
// does not stop the function. Calls for one tag and source never overlap and keep their order. Calls for different tags may
// overlap.
//
// If the message comes from a durable (stream.Function), nil means that it is done. After an error, and after a panic, the message
// is delivered again, and later messages with its key wait for it. Calls for one key never overlap. The message is done once
// all messages that the handler has sent by out, before it returned, to tags that are stored at least once, are stored.
// If the function is lost before that, the message is delivered again, so the handler may send them twice.
//
// A message that a handler sends by out says through how many functions it has come. The node drops it above 16, so that functions that
// publish what they observe come to an end.
type Handler interface {
	Handle(ctx context.Context, in *Message, out Sender) error
}

// HandlerFunc makes a function a Handler.
type HandlerFunc func(ctx context.Context, in *Message, out Sender) error

// Handle calls f.
func (f HandlerFunc) Handle(ctx context.Context, in *Message, out Sender) error {
	return f(ctx, in, out)
}

// BatchHandler is a Handler that receives all waiting messages of one tag in one call, in order. Messages of a stream may have
// different tags. HandleBatch may use in and the payloads until it returns. If the messages come from a durable, an error means
// that none of them is done, unless it is a BatchError. All messages of the call wait for what it has sent by out.
type BatchHandler interface {
	Handler
	HandleBatch(ctx context.Context, in []Message, out Sender) error
}

// Sender publishes messages. Send copies the payload. If the tag has no credit, Send blocks until there is credit or ctx ends.
// The error wraps ErrTooLarge for a message that is longer than the node takes. Several goroutines may call Send at the same time.
type Sender interface {
	Send(ctx context.Context, m Message) error
}

// BatchError says which messages of a batch have failed: it maps their index in the batch to the reason. The others are done.
type BatchError map[int]error

// Error returns the error of the first message that has failed, and the number of errors.
func (e BatchError) Error() string {
	if len(e) == 0 {
		return "ferry: no message of the batch failed"
	}
	first := slices.Min(slices.Collect(maps.Keys(e)))
	if len(e) == 1 {
		return fmt.Sprintf("message %d of the batch: %v", first, e[first])
	}
	return fmt.Sprintf("%d messages of the batch failed, the first is message %d: %v", len(e), first, e[first])
}

// Unwrap returns the errors, in the order of the messages.
func (e BatchError) Unwrap() []error {
	errs := make([]error, 0, len(e))
	for _, i := range slices.Sorted(maps.Keys(e)) {
		errs = append(errs, e[i])
	}
	return errs
}

// ErrNotTried in a BatchError marks a message that the handler has left out, because an earlier message with its key has failed. If
// the messages come from a durable, this delivery of the message does not count.
var ErrNotTried = errors.New("ferry: not tried, because an earlier message with its key has failed")

// ErrTooLarge is the error of a message that is longer than the node takes. To send it again has the same result.
var ErrTooLarge = errors.New("ferry: the message is too large")
