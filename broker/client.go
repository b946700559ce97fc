package broker

import (
	"context"

	"example.com/ferry/internal/peer"
	"example.com/ferry/protocol/native"
)

// client is the other end of a session: a connection (nativeClient), or a client in the process (Local). What a session's messages are
// appended to is its subscriberStreams.
type client interface {
	// granted says that the client may publish on a tag. The results are of the TAGs of a connection.
	granted(p *publisher, results []native.ResultFrame)

	// credit says that the client may publish so many bytes more on a tag.
	credit(p *publisher, bytes int)

	// notice says that messages of the client were dropped or wait.
	notice(v native.NoticeFrame)

	// opened is that of stored.Client.
	opened(handle any, result native.ResultFrame, why error)

	// ended says why the broker has ended a subscription. handle is that of a client in the process.
	ended(handle any, result native.ResultFrame, why error)

	// drain asks the client to leave. draining reports whether that was done.
	drain(reason string)
	draining() bool

	// context ends when the client does.
	context() context.Context

	// written reports whether what the streams were given has left the broker.
	written() bool

	// close ends the session because of why, and abort without waiting. close does not wait either, but lets a connection write
	// what is queued.
	close(why error)
	abort()
}

var (
	_ client = nativeClient{}
	_ client = (*Local)(nil)
)

// nativeClient is a client with a connection.
type nativeClient struct{ *session }

func (c nativeClient) granted(_ *publisher, results []native.ResultFrame) {
	for _, r := range results {
		c.Result(r, nil)
	}
}

func (c nativeClient) credit(p *publisher, bytes int) {
	c.peer.Respond(func(b []byte) []byte {
		return native.AppendCredit(b, native.CreditFrame{Tag: p.tag.ID, Bytes: uint32(bytes)})
	})
}

func (c nativeClient) notice(v native.NoticeFrame) {
	c.peer.Respond(func(b []byte) []byte { return native.AppendNotice(b, v) })
}

func (c nativeClient) opened(_ any, result native.ResultFrame, why error) {
	c.Result(result, why)
}

func (c nativeClient) ended(_ any, result native.ResultFrame, why error) {
	c.Result(result, why)
}

func (c nativeClient) context() context.Context { return c.peer.Context() }

func (c nativeClient) drain(reason string) { c.peer.Drain(reason) }
func (c nativeClient) draining() bool      { return c.peer.State() == peer.Draining }
func (c nativeClient) close(why error)     { c.peer.Close(why) }
func (c nativeClient) abort()              { c.peer.Abort() }

func (c nativeClient) written() bool {
	for _, w := range c.peer.Writers() {
		if !w.Empty() {
			return false
		}
	}
	return true
}
