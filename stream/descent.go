package stream

import (
	"context"
	"sync/atomic"

	"example.com/ferry"
	"example.com/ferry/protocol/native"
)

// descent says what a published message comes from. The zero value is that of a message that no handler publishes.
type descent struct {
	handled   bool  // a handler publishes it
	functions uint8 // through how many functions the message has come that the handler got
}

// functionsOf returns through how many functions messages have come: that with the most counts.
func functionsOf(frames []byte) (most uint8) {
	for ; len(frames) > 0; frames = frames[native.Size(frames):] {
		most = max(most, native.Frame(frames[:native.Size(frames)]).Functions())
	}
	return most
}

// output is the Sender of a worker's calls, except those with messages of a durable. What a handler sends after it has returned counts
// the functions of the call that runs then.
type output struct {
	client    *Client
	functions atomic.Uint32 // those of descent
}

var _ ferry.Sender = (*output)(nil)

// Send publishes a message; see ferry.Sender.
func (o *output) Send(ctx context.Context, m ferry.Message) error {
	return o.client.send(ctx, m, descent{true, uint8(o.functions.Load())})
}
