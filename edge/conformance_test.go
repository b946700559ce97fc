package edge_test

import (
	"bufio"
	"bytes"
	"compress/flate"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/ferry/broker"
	"example.com/ferry/edge"
	"example.com/ferry/edge/mqtt"
	"example.com/ferry/edge/web"
	"example.com/ferry/format"
	"example.com/ferry/format/json"
)

// autobahnCases are the groups of cases of Autobahn's fuzzing client. Rows of testdata/websocket.txt have the ground of each.
var autobahnCases = strings.Fields(`1.1 1.2 2 3 4.1 4.2 5 6.1 6.2 6.3 6.4 6.5 6.6 6.7 6.8 6.9 6.10 6.11 6.12 6.13 6.14 6.15 6.16 6.17 6.18 6.19 6.20 6.21 6.22 6.23
	7.1 7.3 7.5 7.7 7.9 7.13 9.1 9.2 9.3 9.4 9.5 9.6 9.7 9.8 10.1 12 13`)

// patience is the longest wait for an event of a test, also on a slow machine.
const patience = 60 * time.Second

// TestWebSocketConformance runs testdata/websocket.txt, whose head says what a row is.
func TestWebSocketConformance(t *testing.T) {
	servers := newSocketServers(t)
	for _, row := range socketRows(t) {
		for _, name := range row.servers {
			for _, write := range []socketWriter{together, oneByOne, inOctets} {
				t.Run(row.name+", "+name, func(t *testing.T) {
					t.Parallel()
					for _, script := range row.scripts {
						if len(script) > 0 {
							servers[name].run(t, script, write)
						}
					}
				})
			}
		}
	}
}

// socketRow is a row of testdata/websocket.txt. A script is the lines of a connection, with their numbers.
type socketRow struct {
	name    string
	servers []string
	scripts [][]socketLine
}

type socketLine struct {
	number           int
	verb, kind, rest string
}

func newSocketLine(number int, line string) socketLine {
	l := socketLine{number: number}
	if l.verb, l.rest, _ = strings.Cut(line, " "); len(l.verb) == 1 {
		l.kind, l.rest, _ = strings.Cut(l.rest, " ")
	}
	return l
}

func socketRows(t *testing.T) (rows []socketRow) {
	t.Helper()
	text, err := os.ReadFile("testdata/websocket.txt")
	if err != nil {
		t.Fatal(err)
	}
	of := map[string][]string{"web": {"web"}, "mqtt": {"mqtt"}, "both": {"web", "mqtt"}}
	covered := map[string]bool{}
	for i, line := range strings.Split(string(text), "\n") {
		head, isHead := strings.CutPrefix(line, "# ")
		switch {
		case isHead:
			parts := strings.Split(head, " | ")
			if len(parts) != 4 || of[parts[1]] == nil || parts[2] == "" {
				t.Fatalf("line %d: %q: want name, server, sections and cases", i+1, line)
			}
			rows = append(rows, socketRow{name: parts[0], servers: of[parts[1]], scripts: [][]socketLine{nil}})
			for name := range strings.SplitSeq(parts[3], ", ") {
				covered[name] = true
			}
		case len(rows) == 0 || line == "":
		default:
			row := &rows[len(rows)-1]
			sent, got, whole := strings.Cut(line, " => ")
			if line == "--" || whole {
				row.scripts = append(row.scripts, nil)
			}
			switch last := &row.scripts[len(row.scripts)-1]; {
			case line == "--":
			case whole:
				*last = append(*last, newSocketLine(i+1, "> "+sent), newSocketLine(i+1, "< "+got))
				row.scripts = append(row.scripts, nil)
			default:
				*last = append(*last, newSocketLine(i+1, line))
			}
		}
	}
	for _, name := range autobahnCases {
		if !covered[name] {
			t.Errorf("no row has the ground of %s", name)
		}
	}
	return rows
}

// socketServer is a listener for WebSockets.
type socketServer struct {
	addr    string
	path    string // with the number of the connection for %d
	fields  string // of the request, beside those that each has
	whole   socketFrame
	halves  [2]socketFrame
	opening func(*peer) // is called once the WebSocket is open
	echo    func(*peer) // reads the message that returns whole
	numbers atomic.Int64
}

// newSocketServers returns a listener for HTTP, and one for MQTT over WebSocket.
func newSocketServers(t *testing.T) map[string]*socketServer {
	log := slog.New(slog.DiscardHandler)
	b, err := broker.New(broker.Config{
		Identify: broker.Anyone, Formats: []format.Format{json.Format{}}, Log: log, MaxFrame: 1 << 20, Window: 4 << 20, Queue: 4 << 20, MaxConnections: 10_000,
	})
	if err != nil {
		t.Fatal(err)
	}
	at := edge.Config{Address: "127.0.0.1:0"}
	pages, err := web.Listen(web.Config{Config: at, Broker: b, Log: log, PingInterval: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	sessions, err := mqtt.New(mqtt.Config{Broker: b, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	devices, err := sessions.Listen(mqtt.ListenerConfig{Config: at, WebSocket: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := errors.Join(pages.Drain(ctx), devices.Drain(ctx), b.Shutdown(ctx), sessions.Close()); err != nil {
			t.Error(err)
		}
	})
	const text, bin, cont = 0x81, 0x82, 0x80
	return map[string]*socketServer{
		"web": {
			addr: pages.Addr().String(), path: "/v1/tags/conformance%d?mode=both",
			whole: socketFrame{text, []byte(`"hi"`)}, halves: [2]socketFrame{{text, []byte(`"h`)}, {cont, []byte(`i"`)}},
			opening: func(*peer) {},
			echo:    func(p *peer) { p.event(`"payload":"hi"}`) },
		},
		"mqtt": {
			addr: devices.Addr().String(), path: "/mqtt?%d", fields: "Sec-WebSocket-Protocol: mqtt\r\n",
			whole: socketFrame{bin, []byte("\xc0\x00")}, halves: [2]socketFrame{{bin, []byte("\xc0")}, {cont, []byte("\x00")}}, // PINGREQ
			opening: func(p *peer) {
				together(p, [][]byte{appendFrame(nil, bin, true, []byte("\x10\x0c\x00\x04MQTT\x04\x02\x00\x00\x00\x00"))})
				p.packet("\x20\x02\x00\x00")
			},
			echo: func(p *peer) { p.packet("\xd0\x00") },
		},
	}
}

// peer is the client's side of a WebSocket.
type peer struct {
	t *testing.T
	net.Conn
	in       *bufio.Reader
	deflated bool   // permessage-deflate was negotiated
	packets  []byte // of binary messages, that packet has not returned
	at       int    // line
}

func (p *peer) fatalf(format string, args ...any) {
	p.t.Helper()
	p.t.Fatalf("line %d: "+format, append([]any{p.at}, args...)...)
}

// run runs a script.
func (s *socketServer) run(t *testing.T, script []socketLine, write socketWriter) {
	t.Helper()
	offer := ""
	if script[0].verb == "offer" {
		offer = "Sec-WebSocket-Extensions: " + script[0].rest + "\r\n"
	}
	p := &peer{t: t, at: script[0].number}
	var err error
	if p.Conn, err = net.Dial("tcp", s.addr); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	_ = p.SetDeadline(time.Now().Add(patience))
	p.in = bufio.NewReader(p.Conn)
	path := fmt.Sprintf(s.path, s.numbers.Add(1))
	if _, err := fmt.Fprintf(p, "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n%s%s\r\n", path, s.fields, offer); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(p.in, nil)
	if err != nil || res.StatusCode != http.StatusSwitchingProtocols || res.Header.Get("Sec-WebSocket-Accept") != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" {
		p.fatalf("%+v, %v", res, err)
	}
	extensions := res.Header.Get("Sec-WebSocket-Extensions")
	p.deflated = extensions != ""
	s.opening(p)
	var frames [][]byte
	closed := false
	for _, line := range script {
		p.at = line.number
		switch line.verb {
		case ">":
			frames = append(frames, s.frames(p, line)...)
		case "=":
			write(p, append(frames, s.frames(p, line)...))
			frames = nil
			s.want(p, line)
		case "<":
			write(p, frames)
			frames = nil
			s.want(p, line)
			closed = line.kind == "close"
		case "offer":
		case "accept":
			if extensions != line.rest {
				p.fatalf("the server says %q", extensions)
			}
		default:
			p.fatalf("%s is no verb", line.verb)
		}
	}
	if !closed {
		write(p, append(frames, appendFrame(nil, 0x88, true, []byte("\x03\xe8"))))
		s.want(p, socketLine{kind: "close", rest: "1000"})
	}
}

// socketWriter writes frames. The server may have closed the connection.
type socketWriter func(p *peer, frames [][]byte)

func together(p *peer, frames [][]byte) { _, _ = p.Write(slices.Concat(frames...)) }

func oneByOne(p *peer, frames [][]byte) {
	for _, f := range frames {
		_, _ = p.Write(f)
	}
}

func inOctets(p *peer, frames [][]byte) {
	all, size := slices.Concat(frames...), 1
	if len(all) > 4000 {
		size = 997
	}
	for piece := range slices.Chunk(all, size) {
		_, _ = p.Write(piece)
	}
}

// socketFrame is a frame without the mask.
type socketFrame struct {
	first   byte
	payload []byte
}

// appendFrame appends a frame of a client. RFC 6455, section 5.2.
func appendFrame(b []byte, first byte, masked bool, payload []byte) []byte {
	mask, key := byte(0), [4]byte{}
	if masked {
		mask, key = 0x80, [4]byte{0x37, 0xfa, 0x21, 0x3d}
	}
	switch n := len(payload); {
	case n < 126:
		b = append(b, first, mask|byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, first, mask|126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, first, mask|127), uint64(n))
	}
	if masked {
		b = append(b, key[:]...)
	}
	for i, c := range payload {
		b = append(b, c^key[i%4])
	}
	return b
}

var (
	frameSpec  = regexp.MustCompile(`^([A-Za-z]+[0-9]*)(-?)((?:\+[a-z0-9]+)*)(?:/([0-9]+))?(?:\*([0-9]+))?$`)
	repetition = regexp.MustCompile(`(\\x[0-9a-f]{2}|.)\*([0-9]+)`)
	opcodes    = map[string]byte{"cont": 0, "text": 1, "binary": 2, "close": 8, "ping": 9, "pong": 10}
)

// frames returns the frames that a line stands for.
func (s *socketServer) frames(p *peer, line socketLine) (all [][]byte) {
	p.t.Helper()
	spec := frameSpec.FindStringSubmatch(line.kind)
	if spec == nil {
		p.fatalf("%s is no frame", line.kind)
	}
	name, options := spec[1], strings.Split(spec[3], "+")
	f := socketFrame{payload: unescape(p, name, line.rest)}
	opcode, known := opcodes[name]
	switch {
	case known:
		f.first = 0x80 | opcode
	case name == "M":
		f = s.whole
	case name == "M1":
		f = s.halves[0]
	case name == "M2":
		f = s.halves[1]
	default:
		n, err := strconv.ParseUint(strings.TrimPrefix(name, "op"), 10, 4)
		if err != nil {
			p.fatalf("%s is no opcode", name)
		}
		f.first = 0x80 | byte(n)
	}
	masked := true
	for _, o := range options {
		switch bits, reserved := strings.CutPrefix(o, "rsv"); {
		case reserved:
			f.first |= (bits[0] - '0') << 4
		case o == "nomask":
			masked = false
		case o == "zip":
			f.first |= 0x40
			f.payload = deflate(p, f.payload)
		case o == "huge":
			return [][]byte{binary.BigEndian.AppendUint64([]byte{f.first &^ 0x80, 0xff}, 1<<40)}
		}
	}
	size, times := max(len(f.payload), 1), 1
	if spec[4] != "" {
		size, _ = strconv.Atoi(spec[4])
	}
	if spec[5] != "" {
		times, _ = strconv.Atoi(spec[5])
	}
	pieces := slices.Collect(slices.Chunk(f.payload, size))
	if len(pieces) == 0 {
		pieces = [][]byte{nil}
	}
	for range times {
		for i, piece := range pieces {
			first := f.first
			if i > 0 {
				first &= 0x80 // a continuation
			}
			if i < len(pieces)-1 || spec[2] == "-" {
				first &^= 0x80
			}
			all = append(all, appendFrame(nil, first, masked, piece))
		}
	}
	return all
}

// unescape returns a payload.
func unescape(p *peer, name, text string) []byte {
	p.t.Helper()
	code := ""
	if number, reason, _ := strings.Cut(text, " "); name == "close" {
		if n, err := strconv.ParseUint(number, 10, 16); err == nil {
			code, text = string(binary.BigEndian.AppendUint16(nil, uint16(n))), reason
		}
	}
	plain := func(text string) string {
		p.t.Helper()
		unquoted, err := strconv.Unquote(`"` + strings.ReplaceAll(text, `"`, `\"`) + `"`)
		if err != nil {
			p.fatalf("%s: %v", text, err)
		}
		return unquoted
	}
	payload, done := []byte(code), 0
	for _, at := range repetition.FindAllStringSubmatchIndex(text, -1) {
		payload = append(payload, plain(text[done:at[0]])...)
		n, _ := strconv.Atoi(text[at[4]:at[5]])
		payload = append(payload, strings.Repeat(plain(text[at[2]:at[3]]), n)...)
		done = at[1]
	}
	return append(payload, plain(text[done:])...)
}

// deflateTail ends each compressed message and is not sent. RFC 7692, section 7.2.1.
const deflateTail = "\x00\x00\xff\xff"

func deflate(p *peer, message []byte) []byte {
	p.t.Helper()
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.DefaultCompression)
	if err == nil {
		_, err = w.Write(message)
	}
	if err = errors.Join(err, w.Flush()); err != nil {
		p.fatalf("%v", err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte(deflateTail))
}

// frame reads a frame, which is a whole message or a control frame. At the end of the connection, which is no reset, first is 0.
func (p *peer) frame() (first byte, payload []byte) {
	p.t.Helper()
	var head [2]byte
	if _, err := io.ReadFull(p.in, head[:]); errors.Is(err, io.EOF) {
		return 0, nil
	} else if err != nil {
		p.fatalf("%v", err)
	}
	size := uint64(head[1])
	if size >= 126 {
		long := make([]byte, 2<<(2*(size-126)))
		if _, err := io.ReadFull(p.in, long); err != nil || size > 127 {
			p.fatalf("a length of %x: %v", head[1], err)
		}
		size = binary.BigEndian.Uint64(append(make([]byte, 8-len(long)), long...))
	}
	if size > 8<<20 {
		p.fatalf("a frame of %d bytes", size)
	}
	payload = make([]byte, size)
	if _, err := io.ReadFull(p.in, payload); err != nil {
		p.fatalf("%v", err)
	}
	if first = head[0]; p.deflated && first == 0xc1 {
		inflater := flate.NewReader(io.MultiReader(bytes.NewReader(payload), strings.NewReader(deflateTail+"\x01\x00\x00\xff\xff")))
		var err error
		if payload, err = io.ReadAll(inflater); err != nil {
			p.fatalf("%v", err)
		}
		first = 0x81
	}
	return first, payload
}

// event reads a text message with part in it.
func (p *peer) event(part string) {
	p.t.Helper()
	if first, payload := p.frame(); first != 0x81 || !strings.Contains(string(payload), part) {
		p.fatalf("got frame %x with %.200q, want %.200q", first, payload, part)
	}
}

// packet reads the next bytes of binary messages.
func (p *peer) packet(want string) {
	p.t.Helper()
	for len(p.packets) < len(want) {
		first, payload := p.frame()
		if first != 0x82 {
			p.fatalf("got frame %x with %.200q, want %q", first, payload, want)
		}
		p.packets = append(p.packets, payload...)
	}
	if got := string(p.packets[:len(want)]); got != want {
		p.fatalf("got %q, want %q", got, want)
	}
	p.packets = p.packets[len(want):]
}

// want reads what a line says.
func (s *socketServer) want(p *peer, line socketLine) {
	p.t.Helper()
	name := line.kind
	if at := strings.IndexAny(name, "/+*"); at >= 0 {
		name = name[:at]
	}
	want := unescape(p, name, line.rest)
	switch name {
	case "M":
		_, times, _ := strings.Cut(line.kind, "*")
		n, _ := strconv.Atoi(times)
		for range max(n, 1) {
			s.echo(p)
		}
	case "text":
		p.event(`"payload":` + string(want) + "}")
	case "binary":
		p.event(`"base64":"` + base64.StdEncoding.EncodeToString(want) + `"`)
	case "error":
		p.event(`{"error":{`)
	case "pong":
		if first, payload := p.frame(); first != 0x8a || !bytes.Equal(payload, want) {
			p.fatalf("got frame %x with %.200q, want PONG with %q", first, payload, want)
		}
	case "close":
		first, payload := p.frame()
		if first != 0x88 || !bytes.Equal(payload[:min(len(payload), 2)], want) {
			p.fatalf("got frame %x with %.200q, want Close with %d", first, payload, want)
		}
		if first, payload := p.frame(); first != 0 {
			p.fatalf("got frame %x with %.200q behind Close", first, payload)
		}
	default:
		p.fatalf("no frame is called %s", name)
	}
}
