package http2

import (
	"slices"
	"strings"
	"testing"
)

// TestMalformedRequests has requests that RFC 9113, section 8, refuses. Each is a stream error PROTOCOL_ERROR that the Handler does
// not see, and the connection serves the next request.
func TestMalformedRequests(t *testing.T) {
	t.Parallel()
	with := func(lines ...string) []string { return slices.Concat(getLines, lines) }
	without := func(prefix string, more ...string) []string {
		lines := slices.DeleteFunc(slices.Clone(getLines), func(l string) bool { return strings.HasPrefix(l, prefix) })
		return append(lines, more...)
	}
	for name, lines := range map[string][]string{
		"pseudo-header field after a regular one": without(":path", "a: b", ":path: /"),
		"pseudo-header field twice":               with(":path: /"),
		"unknown pseudo-header field":             without("-", ":host: a"),
		":status in a request":                    with(":status: 200"),
		"no :method":                              without(":method"),
		"empty :method":                           without(":method", ":method: "),
		":method with a space":                    without(":method", ":method: GE T"),
		"no :scheme":                              without(":scheme"),
		":scheme with a colon":                    without(":scheme", ":scheme: http:"),
		"no :path":                                without(":path"),
		"empty :path":                             without(":path", ":path: "),
		":path without a slash":                   without(":path", ":path: a"),
		":path with a space":                      without(":path", ":path: /a b"),
		":path with CR":                           without(":path", ":path: /a\rb"),
		":path with a fragment":                   without(":path", ":path: /a#b"),
		":path with a long fragment":              without(":path", ":path: /abcdefgh#ijklmnop"),
		":path beyond ASCII":                      without(":path", ":path: /abcdefg\xe4hijklmnop"),
		":path with DEL":                          without(":path", ":path: /abcdefg\x7fhijklmnop"),
		":path * with GET":                        without(":path", ":path: *"),
		"no :authority and no host":               without(":authority"),
		"empty :authority":                        without(":authority", ":authority: "),
		"empty host":                              without(":authority", "host: "),
		":authority with user information":        without(":authority", ":authority: u@a"),
		":authority with a path":                  without(":authority", ":authority: a/b"),
		":authority with two ports":               without(":authority", ":authority: a:1:2"),
		":authority with an open bracket":         without(":authority", ":authority: [::1"),
		"host that differs":                       with("host: b"),
		"host twice":                              with("host: a", "host: a"),
		"upper case":                              with("Accept: b"),
		"upper case in an unknown name":           with("x-Y: b"),
		"NUL in a name":                           with("x\x00: b"),
		"space in a name":                         with("x y: b"),
		"colon in a name":                         with("x:y: b"),
		"NUL in a value":                          with("x: a\x00b"),
		"CR in a value":                           with("x: a\rb"),
		"LF in a value":                           with("x: a\nb"),
		"LF in a long value":                      with("x: abcdefghijklmno\npqrstuvwxyz"),
		"LF after HTAB":                           with("x: ab\tcd\nefghijk"),
		"DEL in a value":                          with("x: a\x7fb"),
		"leading space":                           with("x:  a"),
		"trailing HTAB":                           with("x: a\t"),
		"connection":                              with("connection: close"),
		"keep-alive":                              with("keep-alive: 5"),
		"proxy-connection":                        with("proxy-connection: a"),
		"transfer-encoding":                       with("transfer-encoding: chunked"),
		"upgrade":                                 with("upgrade: h2c"),
		"te":                                      with("te: gzip"),
		"content-length with a sign":              with("content-length: +1"),
		"content-length twice":                    with("content-length: 0", "content-length: 0"),
		"content-length list":                     with("content-length: 0, 0"),
		"content-length that is too large":        with("content-length: 9999999999999999999"),
		"content-length without a body":           with("content-length: 1"),
		"CONNECT with :path":                      {":method: CONNECT", ":authority: a:1", ":path: /"},
		"CONNECT with :scheme":                    {":method: CONNECT", ":authority: a:1", ":scheme: http"},
		"CONNECT without :authority":              {":method: CONNECT", "host: a:1"},
		"extended CONNECT that is not enabled":    {":method: CONNECT", ":protocol: websocket", ":scheme: http", ":path: /", ":authority: a"},
		":protocol without CONNECT":               with(":protocol: websocket"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newServerRig(t, nil)
			r.receive(frame(frameHeaders, flagEndHeaders|flagEndStream, 1, fieldBlockOf(lines...)...))
			r.wantSent("1 RST PROTOCOL_ERROR")
			r.wantCalls()
			r.receive(get(3))
			r.wantCalls("3 GET /, end true")
			if got := r.conn.Stats(); got.Malformed != 1 {
				t.Errorf("%d malformed messages are counted", got.Malformed)
			}
			// A value that is in the table is judged as a literal is.
			if block := indexedBlockOf(lines...); block != nil {
				r.receive(frame(frameHeaders, flagEndHeaders|flagEndStream, 5, block...))
				refs := block[:0:0]
				for i := range lines {
					refs = append(refs, 0x80|byte(staticCount+len(lines)-i))
				}
				r.receive(frame(frameHeaders, flagEndHeaders|flagEndStream, 7, refs...))
				r.wantSent("3 RST CANCEL", "5 RST PROTOCOL_ERROR", "7 RST PROTOCOL_ERROR")
			}
		})
	}
}

// indexedBlockOf encodes lines as literals that are indexed.
func indexedBlockOf(lines ...string) (p []byte) {
	for _, line := range lines {
		at := strings.Index(line[1:], ": ") + 1
		p = appendString(appendString(append(p, withIndexing), line[:at]), line[at+2:])
	}
	return p
}

// TestValidRequests has requests that are close to malformed ones.
func TestValidRequests(t *testing.T) {
	t.Parallel()
	cfg := &Config{ExtendedConnect: true}
	for name, row := range map[string]struct {
		lines []string
		check func(h *Head) bool
	}{
		"OPTIONS *": {
			[]string{":method: OPTIONS", ":scheme: http", ":path: *", ":authority: a"},
			func(h *Head) bool { return string(h.Path) == "*" },
		},
		"host without :authority": {
			[]string{":method: GET", ":scheme: https", ":path: /a?b", "host: a:80"},
			func(h *Head) bool { return string(h.Authority) == "a:80" && string(h.Path) == "/a?b" },
		},
		"host in another case": {
			[]string{":method: GET", ":scheme: https", ":path: /", ":authority: ExAmple", "host: example"},
			func(h *Head) bool { return string(h.Authority) == "ExAmple" },
		},
		"IPv6": {
			[]string{":method: GET", ":scheme: http", ":path: /", ":authority: [::1]:8080"},
			func(h *Head) bool { return string(h.Authority) == "[::1]:8080" },
		},
		"te: trailers": {
			slices.Concat(getLines, []string{"te: trailers"}),
			func(h *Head) bool { return string(h.Get("TE")) == "trailers" },
		},
		"bytes beyond ASCII and HTAB in a value": {
			slices.Concat(getLines, []string{"x: \xe4\t\xffabcdefgh\tij"}),
			func(h *Head) bool { return string(h.Get("X")) == "\xe4\t\xffabcdefgh\tij" },
		},
		"empty value": {
			slices.Concat(getLines, []string{"x: "}),
			func(h *Head) bool { return h.Get("x") != nil && len(h.Get("x")) == 0 && h.Get("y") == nil },
		},
		"cookies": {
			slices.Concat(getLines, []string{"cookie: a=1", "x: y", "cookie: b=2", "cookie: c=3"}),
			func(h *Head) bool { return string(h.Get("cookie")) == "a=1; b=2; c=3" && h.Len() == 2 },
		},
		"expect": {
			slices.Concat(getLines, []string{"expect: 100-Continue"}),
			func(h *Head) bool { return h.Expect },
		},
		"CONNECT": {
			[]string{":method: CONNECT", ":authority: a:443"},
			func(h *Head) bool { return string(h.Authority) == "a:443" && h.Path == nil },
		},
		"extended CONNECT": {
			[]string{":method: CONNECT", ":protocol: websocket", ":scheme: http", ":path: /chat", ":authority: a"},
			func(h *Head) bool { return string(h.Protocol) == "websocket" && string(h.Path) == "/chat" },
		},
		"scheme of a translating gateway": {
			[]string{":method: GET", ":scheme: coap+tcp", ":path: /"},
			func(h *Head) bool { return string(h.Scheme) == "coap+tcp" && h.Authority == nil },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ok, calls := false, 0
			c := NewServer(cfg, headFunc(func(h *Head) { calls++; ok = row.check(h) }), &memoryOutput{})
			block := fieldBlockOf(row.lines...)
			if _, err := c.Receive(append(clientStart(), frame(frameHeaders, flagEndHeaders|flagEndStream, 1, block...)...)); err != nil {
				t.Fatal(err)
			}
			if calls != 1 || !ok || c.Stats().Malformed != 0 {
				t.Errorf("%d calls, as expected: %v, malformed: %d", calls, ok, c.Stats().Malformed)
			}
		})
	}
}

// headFunc is a Handler that sees heads only.
type headFunc func(*Head)

func (f headFunc) Headers(s *Stream, h *Head, _ bool) { f(h); s.Release() }
func (headFunc) Data(*Stream, []byte, bool)           {}
func (headFunc) Reset(*Stream, StreamError)           {}
func (headFunc) Writable(*Stream)                     {}
func (headFunc) Sent(*Stream)                         {}
func (headFunc) GoAway(uint32, Code)                  {}

// TestBodies compares bodies with Content-Length, and has trailers that are malformed.
func TestBodies(t *testing.T) {
	t.Parallel()
	data := func(n int, flags uint8) []byte { return frame(frameData, flags, 1, make([]byte, n)...) }
	trailers := func(flags uint8, lines ...string) []byte {
		return frame(frameHeaders, flagEndHeaders|flags, 1, fieldBlockOf(lines...)...)
	}
	for name, row := range map[string]struct {
		frames [][]byte
		calls  []string
	}{
		"as long as announced": {
			[][]byte{post(1, "content-length: 5"), data(2, 0), data(3, flagEndStream)},
			[]string{"1 POST /, end false", "1 body of 5"},
		},
		"an empty frame ends it": {
			[][]byte{post(1, "content-length: 5"), data(5, 0), data(0, flagEndStream)},
			[]string{"1 POST /, end false", "1 body of 5"},
		},
		"trailers end it": {
			[][]byte{post(1, "content-length: 5"), data(5, 0), trailers(flagEndStream, "a: b")},
			[]string{"1 POST /, end false", "1 trailers of 1, end true"},
		},
		"padded": {
			[][]byte{post(1, "content-length: 5"), frame(frameData, flagPadded|flagEndStream, 1, 3, 1, 2, 3, 4, 5, 0, 0, 0)},
			[]string{"1 POST /, end false", "1 body of 5"},
		},
		"only padding": {
			[][]byte{post(1), frame(frameData, flagPadded|flagEndStream, 1, 3, 0, 0, 0)},
			[]string{"1 POST /, end false", "1 body of 0"},
		},
		"too long": {
			[][]byte{post(1, "content-length: 5"), data(6, 0), data(1, 0)},
			[]string{"1 POST /, end false", "1 reset PROTOCOL_ERROR, remote false, refused false"},
		},
		"too short": {
			[][]byte{post(1, "content-length: 5"), data(4, flagEndStream)},
			[]string{"1 POST /, end false", "1 reset PROTOCOL_ERROR, remote false, refused false"},
		},
		"too short before trailers": {
			[][]byte{post(1, "content-length: 5"), data(4, 0), trailers(flagEndStream, "a: b")},
			[]string{"1 POST /, end false", "1 reset PROTOCOL_ERROR, remote false, refused false"},
		},
		"trailers without the end": {
			[][]byte{post(1), trailers(0, "a: b")},
			[]string{"1 POST /, end false", "1 reset PROTOCOL_ERROR, remote false, refused false"},
		},
		"trailers with a pseudo-header field": {
			[][]byte{post(1), trailers(flagEndStream, ":path: /")},
			[]string{"1 POST /, end false", "1 reset PROTOCOL_ERROR, remote false, refused false"},
		},
		"trailers with a content-length": {
			[][]byte{post(1), trailers(flagEndStream, "content-length: 0")},
			[]string{"1 POST /, end false", "1 reset PROTOCOL_ERROR, remote false, refused false"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newServerRig(t, nil)
			r.rec.keep = true
			r.receive(row.frames...)
			r.wantCalls(row.calls...)
		})
	}
}

// TestMalformedResponses has what a client refuses.
func TestMalformedResponses(t *testing.T) {
	t.Parallel()
	head := func(flags uint8, lines ...string) []byte {
		return frame(frameHeaders, flagEndHeaders|flags, 1, fieldBlockOf(lines...)...)
	}
	data := func(n int) []byte { return frame(frameData, flagEndStream, 1, make([]byte, n)...) }
	const refused = "1 reset PROTOCOL_ERROR, remote false, refused false"
	for name, row := range map[string]struct {
		method string
		frames [][]byte
		calls  []string
	}{
		"no :status":             {"GET", [][]byte{head(flagEndStream, "a: b")}, []string{refused}},
		":status of two digits":  {"GET", [][]byte{head(flagEndStream, ":status: 20")}, []string{refused}},
		":path":                  {"GET", [][]byte{head(flagEndStream, ":status: 200", ":path: /")}, []string{refused}},
		"101":                    {"GET", [][]byte{head(0, ":status: 101")}, []string{refused}},
		"100 with the end":       {"GET", [][]byte{head(flagEndStream, ":status: 100")}, []string{refused}},
		"DATA first":             {"GET", [][]byte{data(1)}, []string{refused}},
		"DATA after 100":         {"GET", [][]byte{head(0, ":status: 100"), data(1)}, []string{"1 status 100, end false", refused}},
		"204 with a body":        {"GET", [][]byte{head(0, ":status: 204"), data(1)}, []string{"1 status 204, end false", refused}},
		"HEAD with a body":       {"HEAD", [][]byte{head(0, ":status: 200"), data(1)}, []string{"1 status 200, end false", refused}},
		"HEAD with a length":     {"HEAD", [][]byte{head(flagEndStream, ":status: 200", "content-length: 9")}, []string{"1 status 200, end true"}},
		"304 with a length":      {"GET", [][]byte{head(flagEndStream, ":status: 304", "content-length: 9")}, []string{"1 status 304, end true"}},
		"interim, then final":    {"GET", [][]byte{head(0, ":status: 103"), head(flagEndStream, ":status: 200")}, []string{"1 status 103, end false", "1 status 200, end true"}},
		"CONNECT with a length":  {"CONNECT", [][]byte{head(0, ":status: 200", "content-length: 9"), data(1)}, []string{"1 status 200, end false", "1 body of 1"}},
		"trailers with a status": {"GET", [][]byte{head(0, ":status: 200"), head(flagEndStream, ":status: 200")}, []string{"1 status 200, end false", refused}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newClientRig(t, nil)
			r.rec.keep = true
			r.open(row.method, true)
			r.receive(row.frames...)
			r.wantCalls(row.calls...)
		})
	}
}

// TestHeadTooLarge: a request beyond MaxHeader or MaxFields gets 431, and the next one is served with the same table.
func TestHeadTooLarge(t *testing.T) {
	t.Parallel()
	large := slices.Concat(getLines, []string{"x: " + strings.Repeat("x", 1200)})
	many := slices.Clone(getLines)
	for range 30 {
		many = append(many, "x: y")
	}
	for name, lines := range map[string][]string{"bytes": large, "fields": many} {
		r := newServerRig(t, &Config{MaxHeader: 1024, MaxFields: 8})
		r.receive(frame(frameHeaders, flagEndHeaders, 1, indexedBlockOf(lines...)...))
		r.wantSent("1 HEADERS end true", "1 RST NO_ERROR")
		r.receive(frame(frameHeaders, flagEndHeaders|flagEndStream, 3, indexedBlockOf(lines...)...))
		r.wantSent("3 HEADERS end true")
		r.receive(frame(frameData, flagEndStream, 1, 1), get(5))
		r.wantCalls("5 GET /, end true")
		if got := r.conn.Stats().HeaderTooLarge; got != 2 {
			t.Errorf("%s: %d are counted", name, got)
		}
	}
}
