package rpc

import (
	"context"
	"time"

	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/envelope"
)

// A CallOption configures one call.
type CallOption func(*callOptions)

type callOptions struct {
	contentType     string
	compression     string
	timeout         time.Duration
	wait            bool
	idempotent      bool
	header, trailer *call.Metadata
}

// WithContent encodes the messages of the call as that content type of ClientConfig.Contents.
func WithContent(contentType string) CallOption {
	return func(o *callOptions) { o.contentType = contentType }
}

// Compress compresses the messages of the call: gzip or zstd, or "" for no compression.
func Compress(name string) CallOption { return func(o *callOptions) { o.compression = name } }

// Timeout ends the call with DeadlineExceeded after d, or at the deadline of its context, if that comes first.
func Timeout(d time.Duration) CallOption { return func(o *callOptions) { o.timeout = d } }

// WaitForReady makes the call wait for a connection instead of failing with Unavailable.
func WaitForReady() CallOption { return func(o *callOptions) { o.wait = true } }

// Idempotent says that the call may run twice, so it may be retried and hedged.
func Idempotent() CallOption { return func(o *callOptions) { o.idempotent = true } }

// ReceiveHeader sets *m to the header of the response, once the call has succeeded.
func ReceiveHeader(m *call.Metadata) CallOption { return func(o *callOptions) { o.header = m } }

// ReceiveTrailer sets *m to the trailer of the response, once the call has ended.
func ReceiveTrailer(m *call.Metadata) CallOption { return func(o *callOptions) { o.trailer = m } }

// apply sets o to the defaults of the client, changed by opts, and returns the content of the call.
func (c *Client) apply(o *callOptions, opts []CallOption) (*envelope.Content, *call.Status) {
	*o = callOptions{compression: c.cfg.Compression, wait: c.cfg.WaitForReady}
	for _, opt := range opts {
		opt(o)
	}
	if o.contentType == "" || o.contentType == c.content.Type {
		return c.content, nil
	}
	content, err := c.cfg.contentOf(o.contentType)
	if err != nil {
		return nil, statusf(call.InvalidArgument, "%v", err)
	}
	return content, nil
}

// deadline returns the deadline of a call, or zero. own means that it is the client's limit, not the caller's.
func (c *Client) deadline(ctx context.Context, o *callOptions) (at time.Time, own bool) {
	deadline, has := ctx.Deadline()
	timeout := o.timeout
	if own = timeout == 0 && !has && c.cfg.Timeout > 0; own {
		timeout = c.cfg.Timeout
	}
	if timeout > 0 {
		if at := time.Now().Add(timeout); !has || at.Before(deadline) {
			return at, own
		}
	}
	return deadline, false
}
