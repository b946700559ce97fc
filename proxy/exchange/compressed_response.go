package exchange

import (
	"bytes"
	"net/http"
	"slices"
	"strconv"

	"example.com/ferry/internal/compress"
	"example.com/ferry/protocol/httprule"
	"example.com/ferry/proxy/route"
)

// compression returns what is configured for the responses of the route, or nil.
func (x *Exchange) compression() *route.Compression {
	c := x.Route.Compression
	if c == nil {
		c = x.Plan.Compression
	}
	if c == nil || c.Off || len(x.Plan.Compressors) == 0 {
		return nil
	}
	return c
}

// noteEncodings notes what the response depends on if it may be compressed: the encodings that the client of a request accepts, and the bodies that it has.
func (r *Relay) noteEncodings(h RequestHead) {
	c := r.compression()
	if c == nil || r.GRPC || r.Changes.Upgrade {
		return
	}
	r.compresses, r.coding = c, readAcceptEncoding(h).best()
	for name, value := range h.All {
		if bytes.EqualFold(name, ifNoneMatch) && bytes.Contains(value, weak) {
			r.known = append(append(r.known, value...), ',')
		}
	}
}

// transform returns the head of the response as the client gets it. If the body is to be compressed, it sets Relay.body. Responses to HEAD, and those with
// status 304, which have no body, say of it what the response to GET would: RFC 9110, sections 9.3.2 and 15.4.5.
func (r *Relay) transform(h ResponseHead, end bool) ResponseHead {
	if r.compresses == nil || !compressible(h) {
		return h
	}
	kind, status := h.Get("content-type"), h.Status()
	switch {
	case status == http.StatusNotModified: // its content type is not known, as a rule
		if kind != nil && !r.compresses.Covers(kind, -1) {
			return h
		}
		return &changedHead{ResponseHead: h, weakened: r.coding != "" && r.knowsWeak(h.Get("etag"))}
	case status == http.StatusPartialContent: // it has the Vary of a response 200 to the same request: RFC 9110, section 15.3.7
		if whole, one := wholeLength(h); one && !r.compresses.Covers(kind, whole) {
			return h
		}
		return &changedHead{ResponseHead: h}
	case status == http.StatusNoContent, h.Get("content-range") != nil, end && !r.headOnly, !r.compresses.Covers(kind, h.ContentLength()):
		return h
	}
	changed := &changedHead{ResponseHead: h}
	switch {
	case r.coding == "":
	case r.headOnly:
		changed.coding, changed.weakened = r.coding, true
	default:
		c := r.Plan.Compressors[r.Loop().Index()]
		if e := c.encoder(r.coding); e != nil {
			changed.coding, changed.weakened = r.coding, true
			r.body = &compressedBody{relay: r, compressor: c, encoder: e, then: compress.More}
			if h.ContentLength() < 0 { // a stream of events, perhaps, whose client waits for each
				r.body.then = compress.Flush
			}
		}
	}
	return changed
}

// knowsWeak reports whether the client has said in If-None-Match that it has the body of a strong tag under the weak one: it has got the body
// compressed.
func (r *Relay) knowsWeak(tag []byte) bool {
	for each := range bytes.SplitSeq(r.known, []byte(",")) {
		if rest, is := bytes.CutPrefix(bytes.TrimSpace(each), weak); is && len(tag) > 0 && bytes.Equal(rest, tag) {
			return true
		}
	}
	return false
}

// wholeLength returns the length of the body that a response 206 has one part of; -1 if it is not known. one is false if it has several parts, which
// have a content type and a range each. RFC 9110, section 14.4.
func wholeLength(h ResponseHead) (n int64, one bool) {
	content := h.Get("content-range")
	_, whole, _ := bytes.Cut(content, []byte("/"))
	n, err := strconv.ParseInt(string(whole), 10, 64)
	if err != nil {
		n = -1
	}
	return n, content != nil
}

// compressible reports whether the head of a response permits another encoding of its body.
func compressible(h ResponseHead) bool {
	for name, value := range h.All {
		switch httprule.FieldID(name) {
		case httprule.ContentEncoding:
			return false
		case httprule.CacheControl:
			if bytes.Contains(bytes.ToLower(value), noTransform) {
				return false
			}
		case httprule.Other:
			if slices.ContainsFunc(digests, func(of []byte) bool { return bytes.EqualFold(name, of) }) {
				return false
			}
		}
	}
	return true
}

var (
	noTransform = []byte("no-transform")
	// digests are fields that say something about the encoded body: RFC 9530, and those that it has replaced.
	digests = [][]byte{[]byte("content-digest"), []byte("repr-digest"), []byte("digest"), []byte("content-md5")}
)

// changedHead is the head of a response whose body is a page, is compressed, or would be for a client that accepts it.
type changedHead struct {
	ResponseHead
	page     *errorPage // nil if the body is that of the server
	coding   string     // empty if the body is not compressed
	weakened bool       // the ETag becomes a weak one: the body is another, with the same meaning (RFC 9110, section 8.8.1)
}

// Received returns h as it came from the server.
func Received(h ResponseHead) ResponseHead {
	if changed, ok := h.(*changedHead); ok {
		return changed.ResponseHead
	}
	return h
}

var (
	varyName     = []byte("vary")
	varyValue    = []byte("Accept-Encoding")
	etagName     = []byte("etag")
	acceptRanges = []byte("accept-ranges")
	lengthName   = []byte("content-length")
	typeName     = []byte("content-type")
	encodingName = []byte("content-encoding")
	ifNoneMatch  = []byte("if-none-match")
	weak         = []byte("W/")
)

// All has the fields of the server, those that the other body changes, and Vary if the body depends on the client.
func (h *changedHead) All(yield func(name, value []byte) bool) {
	varies := h.page != nil
	for name, value := range h.ResponseHead.All {
		switch {
		case h.page != nil && describesBody(name):
			continue
		case bytes.EqualFold(name, varyName):
			varies = varies || bytes.Contains(bytes.ToLower(value), acceptEncodingName) || bytes.Contains(value, []byte("*"))
		case h.coding != "" && (bytes.EqualFold(name, lengthName) || bytes.EqualFold(name, acceptRanges)):
			continue
		case h.weakened && bytes.EqualFold(name, etagName) && !bytes.HasPrefix(value, weak):
			value = append(bytes.Clone(weak), value...)
		}
		if !yield(name, value) {
			return
		}
	}
	switch {
	case h.page != nil && !yield(typeName, []byte(h.page.fields[0].Value)), h.coding != "" && !yield(encodingName, []byte(h.coding)):
		return
	case !varies:
		yield(varyName, varyValue)
	}
}

func (h *changedHead) Get(name string) []byte {
	for each, value := range h.All {
		if bytes.EqualFold(each, []byte(name)) {
			return value
		}
	}
	return nil
}

func (h *changedHead) ContentLength() int64 {
	switch {
	case h.page != nil:
		return int64(len(h.page.body))
	case h.coding != "":
		return -1
	}
	return h.ResponseHead.ContentLength()
}

// compressedBody is the body of a response that is compressed on its way. It lives until the response ends.
type compressedBody struct {
	relay      *Relay // nil after drop
	compressor *Compressor
	encoder    *compress.Encoder
	then       compress.Step // after each piece but the last one
	held       HeldBytes     // bytes that wait for a turn of the loop
	at         int           // bytes of held that are compressed
	last       bool          // no trailers follow the bytes in held
	finished   bool          // the client has the last byte
	ended      bool          // the server's response has ended
	trailers   *KeptFields   // of the server's response; nil if there are none
	waits      bool          // it is in Compressor.waiting
	paused     bool          // the server is paused
	failed     bool          // the encoder refuses to go on
}

// data takes a piece of the server's body.
func (b *compressedBody) data(p []byte, last bool) (pause bool) {
	b.last = last
	if b.held.Empty() && len(b.compressor.waiting) == 0 {
		n := min(len(p), b.compressor.room())
		if n > 0 {
			b.pass(p[:n], last && n == len(p))
		}
		p = p[n:]
	}
	if len(p) > 0 {
		b.held.Append(b.relay.Loop(), p)
		b.compressor.wait(b)
	}
	pause = b.relay.responseMoved() || !b.held.Empty()
	b.paused = b.paused || pause
	return pause
}

// pass compresses a piece and passes it on. final means that it is the last one.
func (b *compressedBody) pass(p []byte, final bool) {
	c, then := b.compressor, b.then
	if final {
		then = compress.End
	}
	c.left -= len(p)
	out, err := b.encoder.Append(c.out[:0], p, then)
	c.out = out
	if err != nil { // resume resets the response: here the upstream side is in the middle of its work
		b.failed = true
		c.wait(b)
		return
	}
	b.finished = final
	if len(out) > 0 {
		b.relay.down.ResponseData(out, final && b.last)
	}
}

// end is called when the server's response has ended. It reports whether the client has the whole body.
func (b *compressedBody) end(trailers Fields) bool {
	if b.ended = true; !b.held.Empty() {
		b.trailers = KeepFields(trailers)
		return false
	}
	if !b.finished {
		b.pass(nil, true)
	}
	return !b.failed
}

// resume compresses what is held, as far as the turn has room and the client reads.
func (b *compressedBody) resume() {
	r, c := b.relay, b.compressor
	for rest := b.held.Bytes()[b.at:]; len(rest) > 0; rest = b.held.Bytes()[b.at:] {
		if r.down.ResponseFull() {
			r.watchReader()
			return // DownstreamDrained continues
		}
		n := min(len(rest), c.room())
		if n == 0 {
			c.wait(b)
			return
		}
		r.Moved()
		b.at += n
		b.pass(rest[:n], n == len(rest) && (b.last || b.ended && b.trailers == nil))
	}
	if b.ended && !b.finished {
		b.pass(nil, true)
	}
	b.held.Release()
	b.at = 0
	switch {
	case b.failed:
		r.cancel()
		r.reset()
	case b.ended:
		r.endResponse(b.trailers.Fields())
	case b.paused && r.up != nil && !r.down.ResponseFull():
		b.paused = false
		r.up.ResumeResponse()
	}
}

// drop releases what b holds.
func (b *compressedBody) drop() {
	b.held.Release()
	b.compressor.putEncoder(b.encoder)
	b.relay, b.encoder = nil, nil
}
