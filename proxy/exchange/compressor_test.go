package exchange

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"example.com/ferry/internal/compress"
	"example.com/ferry/loop"
	"example.com/ferry/proxy/route"
)

// reader is the client of a compressed response.
type reader struct {
	slowClient
	fields   map[string]string
	body     []byte
	stops    bool // its queue is full
	resets   bool
	finished func()
}

func (c *reader) Response(h ResponseHead, _ bool) bool {
	c.fields = map[string]string{}
	for name, value := range h.All {
		c.fields[string(name)] = string(value)
	}
	return false
}
func (c *reader) ResponseData(p []byte, _ bool) { c.body = append(c.body, p...) }
func (c *reader) ResponseFull() bool            { return c.stops }
func (c *reader) Reset()                        { c.resets = true }
func (c *reader) ResponseEnd(Fields)            { c.finished() }

// browser is the head of a request that accepts gzip.
type browser struct{ emptyHead }

func (browser) Method() []byte { return []byte("GET") }
func (browser) All(yield func(name, value []byte) bool) {
	yield([]byte("Accept-Encoding"), []byte("gzip"))
}

// page is the head of a response that can be compressed.
type page struct{ ResponseHead }

func (page) Status() int          { return 200 }
func (page) ContentLength() int64 { return -1 }
func (page) Get(name string) []byte {
	if name == "content-type" {
		return []byte("text/plain")
	}
	return nil
}

func (page) All(yield func(name, value []byte) bool) {
	yield([]byte("Content-Type"), []byte("text/plain"))
}

// TestCompressorTurns lets the servers of several clients send much in one turn of the loop. Each turn compresses at most turnBytes. All clients but
// one that leaves, and one that does not read, get the whole, also the one that reads late; then nothing is held.
func TestCompressorTurns(t *testing.T) {
	const size = 5*turnBytes + 100
	content := bytes.Repeat([]byte("pump-1 is on; "), size/14+1)[:size]
	clients := make([]*reader, 5)
	var compressor *Compressor
	var l *loop.Loop
	ended := make(chan bool, len(clients))
	onLoopUntil(t, func(on *loop.Loop, p *Plan) {
		l, compressor = on, NewCompressor(on)
		p.Compression, p.Compressors = &route.Compression{}, []*Compressor{compressor}
		for i := range clients {
			c := &reader{finished: func() { ended <- true }}
			clients[i] = c
			p.Connectors = []Connector{c}
			c.relay.Init(c, l)
			c.relay.Begin(p, Timeouts{})
			c.relay.forwardTo(p.Table.Routes()[0], browser{})
			c.relay.RequestEnd(nil)
			if framed, ok := c.relay.Response(page{}, false); framed || !ok || c.fields["content-encoding"] != "gzip" {
				t.Fatalf("got framed %t, %v", framed, c.fields)
			}
			c.stops = i >= 3
			if pause := c.relay.ResponseData(content, false); !pause {
				t.Error("a server that sends more than a turn compresses is not paused")
			}
			c.relay.ResponseEnd(nil)
		}
		if compressor.left != 0 || compressor.busy != len(clients) {
			t.Errorf("%d bytes of the turn are left, %d encoders are busy", compressor.left, compressor.busy)
		}
		clients[0].relay.Release() // it leaves
		if compressor.busy != len(clients)-1 {
			t.Error("a client that has left keeps its encoder")
		}
	}, func() bool { return len(ended) == 2 }, func() {
		clients[3].stops = false
		clients[3].relay.DownstreamDrained()
	}, func() bool { return len(ended) == 3 }, func() {
		for i, c := range clients[1:4] {
			if got, err := compress.Expand(nil, c.body, compress.Gzip, size); err != nil || !bytes.Equal(got, content) {
				t.Errorf("client %d: got %d of %d bytes, %v", i+1, len(got), size, err)
			}
		}
		clients[4].relay.Release()
		if compressor.busy != 0 || len(compressor.waiting) > 1 {
			t.Errorf("%d encoders are busy, %d bodies wait", compressor.busy, len(compressor.waiting))
		}
	})
}

// TestCompressedReadRate: a client that does not keep up with a compressed response is cut like every other one.
func TestCompressedReadRate(t *testing.T) {
	onLoop(t, func(l *loop.Loop, p *Plan) {
		p.Compression, p.Compressors = &route.Compression{}, []*Compressor{NewCompressor(l)}
		c := &reader{}
		p.Connectors = []Connector{c}
		c.relay.Init(c, l)
		c.relay.Begin(p, Timeouts{Body: time.Minute, BodyRate: 1000})
		c.relay.forwardTo(p.Table.Routes()[0], browser{})
		c.relay.RequestEnd(nil)
		c.relay.Response(page{}, false)
		c.stops = true
		for _, size := range []int{10, turnBytes} { // the second one waits for further turns
			c.relay.deadlines.stop(readDeadline)
			if !c.relay.ResponseData(make([]byte, size), false) || !c.relay.deadlines.isSet(readDeadline) {
				t.Errorf("after %d bytes the client that does not read is not watched", size)
			}
		}
		c.relay.deadlines.stop(readDeadline)
		if c.relay.body.resume(); !c.relay.deadlines.isSet(readDeadline) {
			t.Error("the client for which bytes wait is not watched")
		}
		c.relay.deadlines.stop(readDeadline)
		if onDeadline[readDeadline](&c.relay); !c.resets {
			t.Error("the client that does not read is not cut")
		}
		c.relay.End(0)
		c.relay.Release()
	})
}

// TestCompressorBounds holds that no more than maxEncoders responses are compressed, and none while the loop is crowded.
func TestCompressorBounds(t *testing.T) {
	onLoop(t, func(l *loop.Loop, _ *Plan) {
		c := NewCompressor(l)
		var all []*compress.Encoder
		for e := c.encoder(compress.Zstd); e != nil; e = c.encoder(compress.Zstd) {
			all = append(all, e)
		}
		if len(all) != maxEncoders {
			t.Errorf("got %d encoders, want %d", len(all), maxEncoders)
		}
		for _, e := range all {
			c.putEncoder(e)
		}
		if len(c.idle) != maxIdle {
			t.Errorf("%d encoders are kept", len(c.idle))
		}
		l.SetQueueMemory(1)
		if e := c.encoder(compress.Gzip); e != nil {
			t.Error("an encoder is made although memory is short")
		}
		l.SetQueueMemory(1 << 30)
		if e := c.encoder(compress.Zstd); e == nil || slices.Contains(c.idle, e) {
			t.Error("an idle encoder is not used")
		}
	})
}

// onLoopUntil calls steps on a loop: functions, and conditions that the following ones wait for.
func onLoopUntil(t *testing.T, first func(*loop.Loop, *Plan), steps ...any) {
	t.Helper()
	onLoopOf(t, func(l *loop.Loop, p *Plan, done func()) {
		first(l, p)
		deadline := time.Now().Add(20 * time.Second)
		var next func()
		next = func() {
			for len(steps) > 0 {
				switch step := steps[0].(type) {
				case func():
					step()
				case func() bool:
					if !step() {
						if time.Now().After(deadline) {
							t.Errorf("step %d before the end is not reached", len(steps))
							done()
							return
						}
						if err := l.Post(next); err != nil {
							t.Error(err)
						}
						return
					}
				}
				steps = steps[1:]
			}
			done()
		}
		next()
	})
}
