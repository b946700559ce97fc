package rpc

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"example.com/ferry/rpc/call"
)

// Interceptor runs around a call, at a client or at a server. One kind serves all four shapes:
//
//	func logged(ctx context.Context, info *rpc.Info, next func(context.Context) error) error {
//		err := next(ctx)
//		log.Println(info.Method, err)
//		return err
//	}
//
// At a server, next runs the further interceptors and the handler; the request is not yet decoded, so a refused call costs little.
// At a client, next makes a unary call with all its attempts, or opens a stream; Info.OnEnd reports the end of the stream. An
// Interceptor calls next at most once, on its own goroutine or another, and returns after next has. It may pass on another context, such
// as one with WithMetadata, and return another error. To bound the time of next, give it a context with a deadline.
type Interceptor func(ctx context.Context, info *Info, next func(context.Context) error) error

// Info describes a call to interceptors and observers. It is valid until the call ends.
type Info struct {
	Method        string     // full name
	Content       string     // content type
	ClientStreams bool       // the client may send more than one message
	ServerStreams bool       // the server may send more than one message
	Client        bool       // this is the client's end of the call
	Peer          *call.Peer // the caller; nil at a client

	onMessage []func(sent bool, message any) error
	onEnd     []func(End)
}

// OnMessage has f called for each message: the pointer to the Go value, after a received one is decoded or before a sent one is
// encoded. An error of f ends the call. f may run on two goroutines at once, one that sends and one that receives. OnMessage must be
// called before next.
func (i *Info) OnMessage(f func(sent bool, message any) error) { i.onMessage = append(i.onMessage, f) }

// OnEnd has f called after the call has ended, for a stream of a client, too. OnEnd must be called before next.
func (i *Info) OnEnd(f func(End)) { i.onEnd = append(i.onEnd, f) }

// message runs the functions of OnMessage. i may be nil. An error is a *call.Status.
func (i *Info) message(sent bool, message any) error {
	if i == nil {
		return nil
	}
	for _, f := range i.onMessage {
		if err := f(sent, message); err != nil {
			return call.StatusOf(err)
		}
	}
	return nil
}

// ended runs the functions of OnEnd. A panic of one is logged: the call has ended.
func (i *Info) ended(e End, log *slog.Logger) {
	defer func() {
		if p := recover(); p != nil {
			log.Error("rpc: a function of Info.OnEnd panicked", slog.String("method", i.Method), slog.String("panic", fmt.Sprint(p)), slog.String("stack", string(debug.Stack())))
		}
	}()
	for _, f := range i.onEnd {
		f(e)
	}
}

// Observer is told of each call: for traces, metrics and logs. OpenTelemetry needs no more than this; see the example.
type Observer interface {
	// CallStarted runs before all interceptors. The call gets the returned context, which may hold a span. A client's Observer may add
	// traceparent by WithMetadata; a server's finds the caller's in Header(ctx).
	CallStarted(ctx context.Context, info *Info) context.Context
	// CallEnded runs once, with the context that CallStarted has returned.
	CallEnded(ctx context.Context, info *Info, end End)
}

// End is the result of a call.
type End struct {
	Status           *call.Status // nil means OK
	Duration         time.Duration
	SentMessages     int
	SentBytes        int64 // encoded and uncompressed, with the envelope
	ReceivedMessages int
	ReceivedBytes    int64
	Attempts         int // of a client; 1 without retries and hedges
}

// intercept runs the interceptors from the i-th on, then last.
func intercept(ctx context.Context, all []Interceptor, info *Info, last func(context.Context) error) error {
	if len(all) == 0 {
		return last(ctx)
	}
	return all[0](ctx, info, func(ctx context.Context) error { return intercept(ctx, all[1:], info, last) })
}
