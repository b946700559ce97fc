package device

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"example.com/ferry/bench/internal/pinned"
	wire "example.com/ferry/protocol/mqtt"
)

// Kind is an attack.
type Kind string

// The attacks.
const (
	Filters  Kind = "one filter many times"   // in one SUBSCRIBE, beside retained messages
	Levels   Kind = "topics with many levels" // of retained messages
	Away     Kind = "sessions that are away"  // of clients that leave at once
	Silent   Kind = "silent connections"      // send nothing, and are opened again when they are closed
	Connects Kind = "half CONNECTs"           // most of a large CONNECT, and never the rest
	Sockets  Kind = "half WebSocket messages" // most of a large message, and never the rest
	QoS2     Kind = "QoS 2 without PUBREL"    // more of them than the node's Receive Maximum
	Pages    Kind = "cross-site requests"     // a page of another site subscribes with policy block
)

// Kinds are all attacks.
var Kinds = []Kind{Filters, Levels, Away, Silent, Connects, Sockets, QoS2, Pages}

// Spec describes an attack.
type Spec struct {
	Kind      Kind
	Addr, Web string
	Valid     bool // valid packets of the same size at the same rate instead
}

// Count is what the attacker did so far.
type Count struct {
	Operations int64 // packets, connections or requests
	Closed     int64 // connections that the node closed or refused
}

// plan is an attack. Its connections are opened again when the node has closed them.
type plan struct {
	conns   int
	rate    int                                   // operations a second, of all connections together
	web     bool                                  // the connections are of HTTP
	opening func(n int) []byte                    // sent first, with the number of the connection
	chunk   func(n int) []byte                    // an operation, with its number; nil: the connection is held
	after   func(r *runner, conn net.Conn, n int) // what follows a chunk
	size    int                                   // bytes of a valid packet
}

var plans = map[Kind]plan{
	Filters: {conns: 4, rate: 20, size: 60_000, opening: func(n int) []byte {
		b := connect(fmt.Sprintf("filters-%d", n), true)
		for i := range 500 {
			b = publish(b, wire.PublishPacket{Retain: true, Topic: fmt.Appendf(nil, "retained/%d", i), Payload: []byte("x")})
		}
		return b
	}, chunk: func(int) []byte {
		var fs wire.Filters
		for range 10_000 {
			fs = wire.AppendFilter(fs, wire.Subscription{Filter: []byte("+/#")})
		}
		b, err := wire.AppendSubscribe(nil, wire.V311, &wire.SubscribePacket{ID: 1, Filters: fs})
		return must(b, err)
	}},
	Levels: {conns: 4, rate: 500, size: 1024, opening: opening("levels"), chunk: func(n int) []byte {
		return publish(nil, wire.PublishPacket{Retain: true, Topic: fmt.Appendf(nil, "%d%s", n, strings.Repeat("/", 1000)), Payload: []byte("x")})
	}},
	Away:     {conns: 4, rate: 500, size: 64, chunk: func(n int) []byte { return connect(fmt.Sprintf("away-%d", n), false) }, after: (*runner).leave},
	Silent:   {conns: 1100, rate: 1100, size: 64},
	Connects: {conns: 200, rate: 200, size: 64, opening: func(int) []byte { return half(250_000) }},
	Sockets: {conns: 50, rate: 50, web: true, size: 64, opening: func(int) []byte {
		b := []byte("GET /v1/tags/a?mode=publish HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
		b = append(b, 0x81, 0x80|127) // text, masked, with a length of 64 bits. RFC 6455, section 5.2
		b = binary.BigEndian.AppendUint64(b, 1_000_000)
		return append(append(b, 0, 0, 0, 0), bytes.Repeat([]byte{'"'}, 900_000)...)
	}},
	QoS2: {conns: 4, rate: 20_000, size: 64, opening: opening("qos2"), chunk: func(n int) []byte {
		return publish(nil, wire.PublishPacket{QoS: 2, ID: uint16(n%0xffff + 1), Topic: []byte("hostile"), Payload: make([]byte, 40)})
	}},
	Pages: {conns: 4, rate: 500, web: true, size: 64, chunk: func(int) []byte {
		return []byte("GET /v1/tags/%23?policy=block HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n\r\n")
	}},
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err) // of a packet that is made here
	}
	return b
}

func connect(id string, clean bool) []byte {
	b, err := wire.AppendConnect(nil, &wire.ConnectPacket{Version: wire.V311, CleanStart: clean, KeepAlive: 3600, ClientID: []byte(id)})
	return must(b, err)
}

func opening(name string) func(n int) []byte {
	return func(n int) []byte { return connect(fmt.Sprintf("%s-%d", name, n), true) }
}

func publish(b []byte, p wire.PublishPacket) []byte {
	return must(wire.AppendPublish(b, wire.V311, &p))
}

// half returns the first n bytes of a CONNECT of 260,000. MQTT 3.1.1, section 3.1.
func half(n int) []byte {
	text := make([]byte, 65_000)
	b, err := wire.AppendConnect(nil, &wire.ConnectPacket{
		Version: wire.V311, CleanStart: true, ClientID: []byte("half"), User: text, Password: text, Will: &wire.Will{Topic: bytes.Repeat([]byte{'t'}, 65_000), Payload: text},
	})
	return must(b, err)[:n]
}

// A process of this program that finds this variable in its environment is an attacker.
const variable = "FERRY_BENCH_HOSTILE_DEVICE"

// Main attacks if this process was started for it, and does not return then. A benchmark's main and the TestMain of its tests must call Main early.
func Main() {
	if os.Getenv(variable) == "" {
		return
	}
	fmt.Fprintln(os.Stderr, attack(os.Args[1]))
	os.Exit(1)
}

// reportEvery is the time between two lines with a Count.
const reportEvery = 50 * time.Millisecond

// Attack starts an attacker on cores, with the lowest priority. The caller stops it.
func Attack(cores []int, s Spec) (*pinned.Process, error) {
	if _, ok := plans[s.Kind]; !ok {
		return nil, fmt.Errorf("device: no attack %q: want one of %q", s.Kind, Kinds)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	return pinned.Start(cores, "", "sh", "-c", `ulimit -n "$(ulimit -Hn)" && exec nice -n 19 env `+variable+`=1 "$@"`, "sh", self, string(text))
}

// Counted returns the last Count that an attacker has written.
func Counted(p *pinned.Process) (c Count, err error) {
	lines := strings.Split(strings.TrimSpace(p.Output()), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &c); err != nil {
		return c, fmt.Errorf("device: the attacker says %q: %w", lines[len(lines)-1], err)
	}
	return c, nil
}

// WaitCounted waits until an attacker has done something.
func WaitCounted(p *pinned.Process) error {
	for deadline := time.Now().Add(patience); ; time.Sleep(reportEvery) {
		if c, err := Counted(p); err == nil && c.Operations > 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("device: the attacker has done nothing within %v: it says %q", patience, p.Output())
		}
	}
}

// runner is a running attack.
type runner struct {
	Spec
	plan
	next, operations, closed atomic.Int64
	start                    time.Time
}

func attack(text string) error {
	r := &runner{start: time.Now()}
	if err := json.Unmarshal([]byte(text), &r.Spec); err != nil {
		return err
	}
	r.plan = plans[r.Kind]
	if r.Valid {
		r.plan = plan{conns: min(r.conns, 50), rate: r.rate, opening: opening("valid"), chunk: r.valid(r.size)}
	}
	for i := range r.conns {
		go func() {
			for {
				r.connect(i)
			}
		}()
	}
	out := json.NewEncoder(os.Stdout)
	for {
		time.Sleep(reportEvery)
		if err := out.Encode(Count{r.operations.Load(), r.closed.Load()}); err != nil {
			return err
		}
	}
}

// valid returns PUBLISH packets of this size.
func (r *runner) valid(size int) func(int) []byte {
	b := publish(nil, wire.PublishPacket{Topic: []byte("hostile/not"), Payload: make([]byte, size-16)})
	return func(int) []byte { return b }
}

// turn waits until the next operation is due, and returns its number.
func (r *runner) turn() int {
	n := r.next.Add(1)
	time.Sleep(time.Until(r.start.Add(time.Duration(n) * time.Second / time.Duration(r.rate))))
	return int(n)
}

// connect attacks over one connection, until the node closes it.
func (r *runner) connect(i int) {
	addr := r.Addr
	if r.web && !r.Valid {
		addr = r.Web
	}
	held := r.chunk == nil
	if held || r.after != nil {
		r.turn()
	}
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		r.closed.Add(1)
		return
	}
	defer conn.Close()
	if r.opening != nil {
		_ = conn.SetWriteDeadline(time.Now().Add(patience))
		if _, err := conn.Write(r.opening(i)); err != nil {
			r.closed.Add(1)
			return
		}
	}
	if held {
		r.operations.Add(1)
		_, _ = io.Copy(io.Discard, conn)
		r.closed.Add(1)
		return
	}
	if r.after != nil {
		r.operations.Add(1)
		n := int(r.next.Load())
		if _, err := conn.Write(r.chunk(n)); err == nil {
			r.after(r, conn, n)
		}
		return
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, conn)
	}()
	for {
		n := r.turn()
		_ = conn.SetWriteDeadline(time.Now().Add(patience))
		_, err := conn.Write(r.chunk(n))
		if err == nil {
			r.operations.Add(1)
		}
		select {
		case <-ended:
			r.closed.Add(1)
			return
		default:
			if err != nil {
				r.closed.Add(1)
				return
			}
		}
	}
}

// leave waits for the response to a CONNECT.
func (r *runner) leave(conn net.Conn, _ int) {
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	var connack [4]byte
	if _, err := io.ReadFull(conn, connack[:]); err != nil || connack[3] != 0 {
		r.closed.Add(1)
	}
}
