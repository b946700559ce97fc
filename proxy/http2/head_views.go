package http2

import (
	"bytes"

	"example.com/ferry/proxy/exchange"

	wire "example.com/ferry/protocol/http2"
)

// requestHead implements exchange.RequestHead for HTTP/2. It is valid as long as the wire.Head is.
type requestHead struct{ *wire.Head }

// responseHead implements exchange.ResponseHead for HTTP/2. It is valid as long as the wire.Head is.
type responseHead struct{ *wire.Head }

// trailerFields implements exchange.Fields for the trailers of an HTTP/2 message.
type trailerFields struct{ *wire.Head }

var (
	_ exchange.RequestHead  = (*requestHead)(nil)
	_ exchange.ResponseHead = (*responseHead)(nil)
	_ exchange.Fields       = (*trailerFields)(nil)
)

// repeats reports whether the head has more than one field called name, which is in lower case.
func (h *requestHead) repeats(name string) bool {
	n := 0
	for i := range h.Len() {
		if each, _ := h.Field(i); string(each) == name {
			n++
		}
	}
	return n > 1
}

// Method returns GET for a tunnel, which HTTP/1.1 asks for with GET and Upgrade. So routes need not know the version.
func (h *requestHead) Method() []byte {
	if h.Protocol != nil {
		return methodGet
	}
	return h.Head.Method
}

var methodGet = []byte("GET")

func (h *requestHead) Scheme() []byte    { return h.Head.Scheme }
func (h *requestHead) Authority() []byte { return h.Head.Authority }
func (h *requestHead) UpgradeTo() []byte { return h.Protocol }

func (h *requestHead) Path() []byte {
	if string(h.Head.Path) == "*" {
		return nil
	}
	path, _, _ := bytes.Cut(h.Head.Path, questionMark)
	return path
}

func (h *requestHead) Query() (q []byte, has bool) {
	_, q, has = bytes.Cut(h.Head.Path, questionMark)
	return q, has
}

var questionMark = []byte("?")

func (h *requestHead) ContentLength() int64  { return h.Head.ContentLength }
func (h *responseHead) ContentLength() int64 { return h.Head.ContentLength }
func (h *requestHead) ExpectsContinue() bool { return h.Expect }
func (h *responseHead) Status() int          { return h.Head.Status }

// keptFields are copied trailers, for a request that waits or may be sent again.
type keptFields struct {
	trailerFields
	head wire.Head
}

// keepFields copies the fields of h.
func keepFields(h *wire.Head) *keptFields {
	k := &keptFields{}
	_ = k.head.View(h.AppendTo(nil)) // no error is possible: AppendTo has made the copy
	k.Head = &k.head
	return k
}

// trailersHead returns the Head of trailers of HTTP/2, or nil for trailers of another protocol.
func trailersHead(trailers exchange.Fields) *wire.Head {
	switch t := trailers.(type) {
	case *trailerFields:
		return t.Head
	case *keptFields:
		return t.Head
	}
	return nil
}

// fields returns k, or a nil interface if there are no trailers.
func (k *keptFields) fields() exchange.Fields {
	if k == nil {
		return nil
	}
	return k
}
