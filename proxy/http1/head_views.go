package http1

import (
	"example.com/ferry/proxy/exchange"

	wire "example.com/ferry/protocol/http1"
)

// requestHead implements exchange.RequestHead for HTTP/1.1. Its spans refer to data.
type requestHead struct {
	head *wire.Head
	data []byte
	tls  bool // the client's connection is TLS
}

// responseHead implements exchange.ResponseHead for HTTP/1.1. Its spans refer to data.
type responseHead struct {
	head *wire.Head
	data []byte
}

var (
	_ exchange.RequestHead  = (*requestHead)(nil)
	_ exchange.ResponseHead = (*responseHead)(nil)

	httpScheme  = []byte("http")
	httpsScheme = []byte("https")
)

func (h *requestHead) All(yield func(name, value []byte) bool)  { h.head.Forwarded(h.data, yield) }
func (h *responseHead) All(yield func(name, value []byte) bool) { h.head.Forwarded(h.data, yield) }

func (h *requestHead) Get(name string) []byte        { return h.head.Get(h.data, name) }
func (h *responseHead) Get(name string) []byte       { return h.head.Get(h.data, name) }
func (h *requestHead) Nth(name string, n int) []byte { return h.head.Nth(h.data, name, n) } // see route.Values

func (h *requestHead) Method() []byte    { return h.head.MethodName.Of(h.data) }
func (h *requestHead) Authority() []byte { return h.head.Authority.Of(h.data) }
func (h *requestHead) Path() []byte      { return h.head.Path.Of(h.data) }

func (h *requestHead) Scheme() []byte {
	if h.tls {
		return httpsScheme
	}
	return httpScheme
}

func (h *requestHead) Query() (q []byte, has bool) {
	return h.head.Query.Of(h.data), h.head.Query.Start > h.head.Path.End
}

func (h *requestHead) ContentLength() int64  { return h.head.ContentLength() }
func (h *responseHead) ContentLength() int64 { return h.head.ContentLength() }

func (h *requestHead) ExpectsContinue() bool { return h.head.Expect }
func (h *requestHead) UpgradeTo() []byte     { return h.head.UpgradeTo(h.data) }

func (h *responseHead) Status() int { return h.head.Status }

// passContent decodes the body bytes at the start of p and calls pass for each piece of content. last is true for the last
// piece of a body of known length. It returns how many bytes of p belong to the body. It appends the body's trailers to
// trailers.
func passContent(body *wire.Body, p []byte, trailers **exchange.KeptFields, pass func(content []byte, last bool)) (n int, err error) {
	for {
		m, part, err := body.Next(p[n:])
		if m == 0 || err != nil {
			return n, err
		}
		if content := part.Content.Of(p[n:]); len(content) > 0 {
			pass(content, body.Done())
		}
		if name := part.Trailer.Name.Of(p[n:]); len(name) > 0 {
			if *trailers == nil {
				*trailers = &exchange.KeptFields{}
			}
			(*trailers).Add(name, part.Trailer.Value.Of(p[n:]))
		}
		n += m
	}
}
