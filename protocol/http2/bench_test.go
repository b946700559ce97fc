package http2

import (
	"testing"

	"golang.org/x/net/http2/hpack"

	"example.com/ferry/internal/bufpool"
)

// typicalFields is a request with twelve fields.
var typicalFields = []hpack.HeaderField{
	{Name: ":method", Value: "GET"},
	{Name: ":scheme", Value: "https"},
	{Name: ":authority", Value: "edge-gateway.example.com:8080"},
	{Name: ":path", Value: "/api/v1/devices/boiler-7/readings?from=1602168089&limit=50"},
	{Name: "user-agent", Value: "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Firefox/140.0"},
	{Name: "accept", Value: "application/json, text/plain;q=0.9"},
	{Name: "accept-encoding", Value: "gzip, deflate, br"},
	{Name: "accept-language", Value: "en-US,en;q=0.5"},
	{Name: "cookie", Value: "session=8d1f0c9be2a74f6c9d31"},
	{Name: "x-request-id", Value: "5f2b7f0e-11d2-4a2e"},
	{Name: "referer", Value: "https://example.com/ui/"},
	{Name: "content-length", Value: "0"},
}

// typicalBlocks returns a first block of typical fields, which fills the table, and a later one.
func typicalBlocks(table uint32) (first, later []byte) {
	var out blockWriter
	enc := hpack.NewEncoder(&out)
	enc.SetMaxDynamicTableSize(table)
	block := func() []byte {
		out = nil
		for _, f := range typicalFields {
			f.Sensitive = f.Name == "cookie" || f.Name == "x-request-id"
			_ = enc.WriteField(f)
		}
		return out
	}
	return block(), block()
}

type blockWriter []byte

func (w *blockWriter) Write(p []byte) (int, error) {
	*w = append(*w, p...)
	return len(p), nil
}

// discardOutput counts the bytes.
type discardOutput struct{ n int }

func (o *discardOutput) Write(p []byte)                       { o.n += len(p) }
func (o *discardOutput) WriteShared(_ *bufpool.Buf, p []byte) { o.n += len(p) }
func (o *discardOutput) Full() bool                           { return false }
func (*discardOutput) Hold(int)                               {}
func (*discardOutput) Crowded() bool                          { return false }

// BenchmarkDecode decodes a typical request head: with repeated fields in the table and the others in Huffman code, and all
// of it in Huffman code.
func BenchmarkDecode(b *testing.B) {
	for _, row := range []struct {
		name  string
		table uint32
	}{{"indexed", 4096}, {"literal", 0}} {
		b.Run(row.name, func(b *testing.B) {
			d, cfg := newDecoder(4096)
			first, later := typicalBlocks(row.table)
			h := headPool.Get().(*Head)
			for _, block := range [][]byte{first, later} {
				h.begin(requestBlock, cfg, false)
				if reason := d.decode(block, h); reason != "" || h.finish() != "" || h.Len() != len(typicalFields)-4 {
					b.Fatal(reason, h.judge.malformed)
				}
			}
			b.SetBytes(int64(len(later)))
			b.ReportAllocs()
			for b.Loop() {
				h.begin(requestBlock, cfg, false)
				if d.decode(later, h) != "" || h.finish() != "" {
					b.Fatal("malformed")
				}
			}
		})
	}
}

// BenchmarkReference decodes the same blocks with golang.org/x/net/http2/hpack.
func BenchmarkReference(b *testing.B) {
	for _, row := range []struct {
		name  string
		table uint32
	}{{"indexed", 4096}, {"literal", 0}} {
		b.Run(row.name, func(b *testing.B) {
			first, later := typicalBlocks(row.table)
			d := hpack.NewDecoder(4096, func(hpack.HeaderField) {})
			if _, err := d.Write(first); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(later)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := d.Write(later); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// forwardHead writes h as the head of a request to a server.
func forwardHead(e *Encoder, h *Head) {
	e.Method(h.Method)
	e.Scheme(h.Scheme)
	e.Authority(h.Authority)
	e.Path(h.Path)
	for i := range h.fields {
		f := &h.fields[i]
		e.Field(f.name, f.value)
	}
}

// BenchmarkEncode writes the same head again, as a proxy does.
func BenchmarkEncode(b *testing.B) {
	d, cfg := newDecoder(4096)
	first, _ := typicalBlocks(4096)
	h := new(Head)
	h.begin(requestBlock, cfg, false)
	if reason := d.decode(first, h); reason != "" {
		b.Fatal(reason)
	}
	out := &discardOutput{}
	c := NewClient(nil, &echoServer{}, out)
	b.ReportAllocs()
	for b.Loop() {
		s := c.Open()
		e := s.BeginHeaders()
		forwardHead(e, h)
		e.End(true)
		s.Release()
		c.reuse()
	}
}

// BenchmarkServerRequest receives a request of typical fields and responds to it, with its own body if it has one.
func BenchmarkServerRequest(b *testing.B) {
	for _, row := range []struct {
		name string
		body int
	}{{"no body", 0}, {"1 KiB", 1 << 10}, {"64 KiB", 64 << 10}} {
		b.Run(row.name, func(b *testing.B) {
			out := &discardOutput{}
			h := &echoServer{}
			h.conn = NewServer(nil, h, out)
			r := newRequests(row.body)
			if _, err := h.conn.Receive(r.begin()); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(row.body))
			b.ReportAllocs()
			for b.Loop() {
				if n, err := h.conn.Receive(r.next()); err != nil || n != len(r.later) {
					b.Fatal(n, err)
				}
			}
		})
	}
}

// requests writes the bytes of requests that follow each other on a connection.
type requests struct {
	first []byte
	later []byte
	ids   []int // offsets of stream ids in later
	id    uint32
}

func newRequests(body int) *requests {
	first, later := typicalBlocks(4096)
	if body > 0 {
		later = later[:len(later)-1] // the last field is content-length: 0
	}
	r := new(requests)
	flags := uint8(flagEndHeaders)
	if body == 0 {
		flags |= flagEndStream
	}
	r.first = append([]byte(preface), 0, 0, 6, frameSettings, 0, 0, 0, 0, 0, 0, settingInitialWindowSize, 0x7f, 0xff, 0, 0)
	r.first = appendFrameHeader(r.first, 4, frameWindowUpdate, 0, 0)
	r.first = append(r.first, 0x3f, 0xff, 0, 0)
	r.first = append(r.first, 0, 0, 0, frameSettings, flagAck, 0, 0, 0, 0)
	r.first = append(appendFrameHeader(r.first, len(first), frameHeaders, flagEndHeaders|flagEndStream, 1), first...)
	add := func(kind, flags uint8, p []byte) {
		r.ids = append(r.ids, len(r.later)+5)
		r.later = append(appendFrameHeader(r.later, len(p), kind, flags, 3), p...)
	}
	add(frameHeaders, flags, later[:len(later):len(later)])
	if body > 0 {
		r.later = append(appendFrameHeader(r.later, 4, frameWindowUpdate, 0, 0), 0, byte(body>>16), byte(body>>8), byte(body))
	}
	for body > 0 {
		n := min(body, 16<<10)
		flags := uint8(0)
		if n == body {
			flags = flagEndStream
		}
		add(frameData, flags, make([]byte, n))
		body -= n
	}
	r.id = 1
	return r
}

func (r *requests) begin() []byte { return r.first }

// next returns the next request, with its stream id and enough window for its response.
func (r *requests) next() []byte {
	r.id += 2
	for _, at := range r.ids {
		r.later[at], r.later[at+1], r.later[at+2], r.later[at+3] = byte(r.id>>24), byte(r.id>>16), byte(r.id>>8), byte(r.id)
	}
	return r.later
}
