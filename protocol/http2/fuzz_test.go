package http2

import (
	"bytes"
	"encoding/hex"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/http2/hpack"
)

// overlong finds an integer with more continuation bytes than this package accepts. The reference accepts zeros there.
var overlong = regexp.MustCompile(`(?s)[\x80-\xff]{4}`)

// FuzzDecode decodes field blocks and compares the fields and the table with golang.org/x/net/http2/hpack. A byte before each block
// has its length.
func FuzzDecode(f *testing.F) {
	text, err := os.ReadFile("testdata/rfc7541.txt")
	if err != nil {
		f.Fatal(err)
	}
	var series []byte
	for section := range strings.SplitSeq(string(text), "\n\n") {
		lines := strings.Split(strings.TrimSpace(section), "\n")
		if at := slices.Index(lines, "fields"); at > 0 {
			block, _ := hex.DecodeString(strings.Join(lines[1:at], ""))
			f.Add(append([]byte{byte(len(block))}, block...))
			series = append(append(series, byte(len(block))), block...)
		}
	}
	f.Add(series)
	f.Add([]byte{2, 0x3f, 0x00, 1, 0x20, 3, 0x82, 0x20, 0x82})
	f.Fuzz(func(t *testing.T, data []byte) {
		d, cfg := newDecoder(300)
		reference := hpack.NewDecoder(300, nil)
		for len(data) > 0 {
			n := min(int(data[0]), len(data)-1)
			block := data[1 : 1+n]
			data = data[1+n:]
			want, err := reference.DecodeFull(block)
			got, h, reason := fieldLines(d, cfg, block, responseBlock)
			if reason != "" || err != nil {
				stricter := strings.Contains(reason, "size update after") || overlong.Match(block)
				if (reason != "") != (err != nil) && !stricter {
					t.Fatalf("%x: %q, the reference: %v", block, reason, err)
				}
				return
			}
			if malformed := h.finish(); malformed == "" && h.judge.cookies < 2 {
				lines := make([]string, len(want))
				for i, field := range want {
					lines[i] = field.Name + ": " + field.Value
				}
				if !slices.Equal(got, lines) {
					t.Fatalf("%x: %q, the reference: %q", block, got, lines)
				}
			}
			checkTable(t, &d.table, reference)
		}
	})
}

// checkTable compares the dynamic tables. The reference shows its table by decoding indices.
func checkTable(t *testing.T, table *dynamicTable, reference *hpack.Decoder) {
	t.Helper()
	var lines []string
	for i := staticCount + 1; ; i++ {
		fields, err := reference.DecodeFull(appendInteger(nil, 0x80, 7, i))
		if err != nil {
			break
		}
		lines = append(lines, fields[0].Name+": "+fields[0].Value)
	}
	_ = reference.Close()
	got := tableLines(table)
	if !slices.Equal(got, lines) {
		t.Fatalf("the table is %q, the reference's %q", got, lines)
	}
	size := 0
	for _, line := range got {
		size += len(line) - 2 + entryOverhead
	}
	if size != table.size || size > table.max {
		t.Fatalf("the table of %d bytes counts %d, and may have %d", size, table.size, table.max)
	}
}

// FuzzEncode encodes blocks and decodes them with the reference and with this package. script has lines of names and values; an
// empty line ends a block, and a line of digits changes the table of the peer.
func FuzzEncode(f *testing.F) {
	f.Add("user-agent: a\nserver: b\n\nuser-agent: a\nx-y: z\nAuthorization: secret\n\n")
	f.Add("user-agent: a\n\n0\n50\nuser-agent: a\n\nuser-agent: b\n\nuser-agent: b\n\n4096\ncontent-type: text/plain\n\ncontent-type: text/plain\n\n")
	f.Add("te: trailers\nte: gzip\nConnection: close\ncontent-type: " + strings.Repeat("x", 300) + "\n\n")
	f.Fuzz(func(t *testing.T, script string) {
		out := &memoryOutput{}
		c := NewClient(nil, newRecorder(), out)
		out.take(out.size)
		d, cfg := newDecoder(4096)
		reference := hpack.NewDecoder(4096, nil)
		var want []string
		s := c.Open()
		e := s.BeginHeaders()
		for line := range strings.SplitSeq(script, "\n") {
			name, value, found := strings.Cut(line, ": ")
			switch size, isNumber := parseLength([]byte(line)); {
			case found && judgeName([]byte(strings.ToLower(name))) == valid && name[0] != ':' && judgeValue([]byte(value)) == valid:
				resize(e)
				e.Field([]byte(name), []byte(value))
				name = strings.ToLower(name)
				if id := nameIDOf(name); names[id].is&isForbidden == 0 && (id != nameTE || strings.EqualFold(value, "trailers")) {
					want = append(want, name+": "+value)
				}
			case isNumber && size <= 4096:
				c.encoder.table.setPeerLimit(uint32(size))
				d.table.limit = int(size)
				d.mustResize = d.mustResize || int(size) < d.table.max
				reference.SetAllowedMaxDynamicTableSize(uint32(size))
				if len(e.p) > frameHeaderSize {
					return // the size changes within a block, which a Conn does not do
				}
			case line == "":
				resize(e)
				e.End(true)
				s.Release()
				block := blockOf(out.take(out.size))
				fields, err := reference.DecodeFull(block)
				if err != nil {
					t.Fatalf("%x: %v", block, err)
				}
				lines, _, reason := fieldLines(d, cfg, block, trailersBlock)
				if reason != "" {
					t.Fatalf("%x: %s", block, reason)
				}
				var referred []string
				for _, field := range fields {
					referred = append(referred, field.Name+": "+field.Value)
				}
				if !slices.Equal(referred, want) || !slices.Equal(lines, want) && !strings.Contains(strings.Join(want, " "), "content-length") {
					t.Fatalf("%x: %q, the reference: %q, want %q", block, lines, referred, want)
				}
				checkTable(t, &d.table, reference)
				if d.table.size != c.encoder.table.size || d.table.count != int(c.encoder.table.count) {
					t.Fatalf("the encoder's table has %d entries of %d bytes, the decoder's %d of %d", c.encoder.table.count, c.encoder.table.size, d.table.count, d.table.size)
				}
				want = nil
				c.reuse()
				s = c.Open()
				e = s.BeginHeaders()
			}
		}
	})
}

// resize writes the pending size updates at the beginning of a block, if the size has changed after BeginHeaders.
func resize(e *Encoder) {
	if len(e.p) == frameHeaderSize {
		e.p = e.table.appendResize(e.p)
	}
}

// blockOf returns the field block of frames.
func blockOf(p []byte) (block []byte) {
	scan := frameScanner{each: func(h frameHeader, p []byte) {
		if h.kind == frameHeaders || h.kind == frameContinuation {
			block = append(block, p...)
		}
	}}
	scan.write(p)
	return block
}

// FuzzConn passes frames to a server and to a client, whose Handler does what script says, within its calls. Nothing may panic, the
// windows stay in their bounds, and the end releases everything.
func FuzzConn(f *testing.F) {
	f.Add(session(), []byte{0}, false)
	f.Add(session(), []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, false)
	f.Add(slices.Concat(clientStart(setting(settingInitialWindowSize, 50)), post(1), frame(frameSettings, 0, 0, setting(settingInitialWindowSize, 10)...),
		frame(frameData, 0, 1, 1), frame(frameWindowUpdate, 0, 1, number(100)...), frame(frameData, 0, 1, 1), get(3)), []byte{8, 2, 13, 0, 4}, false)
	f.Add(slices.Concat(frame(frameSettings, 0, 0), frame(frameHeaders, flagEndHeaders, 1, fieldBlockOf(":status: 200")...), frame(frameData, 0, 1, 1, 2),
		frame(frameHeaders, flagEndHeaders|flagEndStream, 3, 0x88), frame(frameGoAway, 0, 0, make([]byte, 8)...)), []byte{1, 9, 3}, true)
	f.Fuzz(func(t *testing.T, p, script []byte, client bool) {
		var cuts [2][]string
		for i, step := range []int{len(p) + 1, 7} {
			cuts[i] = driveScript(t, p, script, client, step)
		}
		if len(script) == 0 && !slices.Equal(cuts[0], cuts[1]) {
			t.Fatalf("calls %q, cut in pieces of 7: %q", cuts[0], cuts[1])
		}
	})
}

// driveScript passes p in pieces of step bytes and returns the calls.
func driveScript(t *testing.T, p, script []byte, client bool, step int) []string {
	out := &memoryOutput{highWater: 1 << 10}
	rec := newRecorder()
	rec.keep = true
	var c *Conn
	alive := make(map[*Stream]bool)
	at := 0
	rec.each = func(s *Stream, _ bool) {
		alive[s] = true
		if len(script) == 0 {
			return
		}
		for range 3 {
			op := script[at%len(script)]
			at++
			act(c, s, alive, op)
		}
	}
	cfg := &Config{StreamWindow: 500, QueuePerStream: 2 << 10, HeaderTable: 200, MaxStreams: 5, AbuseBudget: 100}
	if client {
		c = NewClient(cfg, rec, out)
		for range 3 {
			s := c.Open()
			alive[s] = true
			act(c, s, alive, 8)
		}
	} else {
		c = NewServer(cfg, rec, out)
	}
	var unread []byte
	var failure error
	for len(p) > 0 && failure == nil {
		n := min(step, len(p))
		unread = append(unread, p[:n]...)
		p = p[n:]
		n, failure = c.Receive(unread)
		if n > len(unread) || n < 0 {
			t.Fatalf("%d of %d bytes", n, len(unread))
		}
		unread = bytes.Clone(unread[n:])
		if len(script) > 0 {
			out.take(int(script[at%len(script)]) * 8)
		}
		c.Flush()
		c.Tick()
		if c.sendWindow < 0 || c.recvWindow < 0 && c.phase != failed || c.active < 0 || c.streams.count < 0 {
			t.Fatalf("windows %d and %d, %d streams, %d with an id", c.sendWindow, c.recvWindow, c.active, c.streams.count)
		}
		for s := c.streams.all; s != nil; s = s.allNext {
			if s.lent < 0 || s.unacked < 0 || s.queue.size < 0 || s.is(ready) != (s.queue.size > 0 && s.sendWindow > 0) {
				t.Fatalf("stream %d: lent %d, unacked %d, queued %d, window %d, ready %v", s.id, s.lent, s.unacked, s.queue.size, s.sendWindow, s.is(ready))
			}
		}
	}
	c.Closed(failure)
	for s := range alive {
		s.Release()
	}
	if c.active != 0 || c.streams.all != nil || c.ready.first != nil || c.block.buf != nil {
		t.Fatalf("%d streams are left", c.active)
	}
	out.take(out.size)
	return rec.lines
}

// act does one thing that a driver may do in a call of the Handler.
func act(c *Conn, s *Stream, alive map[*Stream]bool, op byte) {
	switch op % 14 {
	case 1:
		s.Reset(Cancel)
	case 2:
		s.Write(make([]byte, int(op)*20), false)
	case 3:
		s.Write(make([]byte, int(op)*30), true)
	case 4:
		delete(alive, s)
		s.Release()
	case 5:
		c.GoAway(NoError)
	case 6:
		c.Flush()
	case 7:
		s.Consumed(int(op))
	case 8:
		e := s.BeginHeaders()
		if c.client {
			e.Method([]byte("POST"))
			e.Scheme([]byte("http"))
			e.Authority([]byte("a"))
			e.Path([]byte("/"))
		} else {
			e.Status(200)
		}
		e.FieldString("user-agent", "fuzz")
		if op&0x40 != 0 {
			s.Reset(InternalError)
		}
		e.End(op&0x80 != 0)
	case 9:
		c.Ping()
	case 10:
		if other := c.Open(); other != nil {
			alive[other] = true
		}
	case 11:
		for other := range alive {
			delete(alive, other)
			other.Release()
			break
		}
	case 12:
		c.GoAway(EnhanceYourCalm)
	case 13:
		s.Write(nil, true)
	}
}

// FuzzHead copies a head and views the copy; other bytes are refused or give a Head without a panic.
func FuzzHead(f *testing.F) {
	h := &Head{Method: []byte("GET"), Path: []byte("/"), ContentLength: -1, fields: []headField{{[]byte("te"), []byte("trailers"), nameTE, false}}}
	f.Add(h.AppendTo(nil))
	h = &Head{Status: 200, Trailers: true, Expect: true, ContentLength: 1 << 40, fields: []headField{{[]byte("x"), []byte{}, 0, true}}}
	f.Add(h.AppendTo(nil))
	f.Fuzz(func(t *testing.T, p []byte) {
		var first, second Head
		if first.View(p) != nil {
			return
		}
		again := first.AppendTo(nil)
		if err := second.View(again); err != nil {
			t.Fatal(err)
		}
		if third := second.AppendTo(nil); !bytes.Equal(third, again) {
			t.Fatalf("%x became %x", again, third)
		}
	})
}
