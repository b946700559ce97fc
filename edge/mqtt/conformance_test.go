package mqtt_test

import (
	"crypto/tls"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"example.com/ferry/broker"
	"example.com/ferry/edge/mqtt"
	wire "example.com/ferry/protocol/mqtt"
)

// pahoCases are the cases of Eclipse's paho.mqtt.testing, client_test.py and client_test5.py. Rows of testdata/conformance.txt have the ground of each.
var pahoCases = strings.Fields(`testBasic will_message_test test_basic test_retained_messages test_retained_message test_will_message test_zero_length_clientid
	test_offline_message_queueing test_overlapping_subscriptions test_keepalive test_redelivery_on_reconnect test_subscribe_failure test_dollar_topics test_unsubscribe
	test_session_expiry test_user_properties test_payload_format test_publication_expiry test_subscribe_options test_assigned_clientid test_subscribe_identifiers
	test_request_response test_client_topic_alias test_server_topic_alias test_maximum_packet_size test_server_keep_alive test_flow_control1 test_flow_control2
	test_will_delay test_shared_subscriptions`)

// TestConformance runs testdata/conformance.txt, whose head says what a row is.
func TestConformance(t *testing.T) {
	t.Parallel()
	rows := conformanceRows(t)
	places := make(chan struct{}, 16) // some rows wait for a time to pass, and none needs a CPU for long
	var running sync.WaitGroup
	for _, row := range rows {
		for _, v := range row.versions {
			for _, root := range row.roots {
				places <- struct{}{}
				running.Go(func() {
					defer func() { <-places }()
					t.Run(fmt.Sprintf("%s, %v, %s", row.name, v, root), func(t *testing.T) { row.run(t, v, root) })
				})
			}
		}
	}
	running.Wait()
}

// conformanceRow is a row of testdata/conformance.txt.
type conformanceRow struct {
	name     string
	versions []wire.Version
	roots    []string // that T/ stands for
	steps    []step
}

// step is a line of a row.
type step struct {
	line   string       // with its number
	only   wire.Version // 0 means both
	client string
	verb   string
	kind   string
	fields []string
}

func conformanceRows(t *testing.T) (rows []conformanceRow) {
	t.Helper()
	text, err := os.ReadFile("testdata/conformance.txt")
	if err != nil {
		t.Fatal(err)
	}
	of := map[string][]wire.Version{"both": versions, "3.1.1": {wire.V311}, "5.0": {wire.V5}}
	covered := map[string]bool{}
	for number, line := range strings.Split(string(text), "\n") {
		head, isHead := strings.CutPrefix(line, "# ")
		switch {
		case isHead:
			parts := strings.Split(head, " | ")
			if len(parts) != 4 || of[parts[1]] == nil || parts[2] == "" {
				t.Fatalf("line %d: %q: want name, versions, sections and cases", number+1, line)
			}
			rows = append(rows, conformanceRow{name: parts[0], versions: of[parts[1]], roots: []string{"live"}})
			for name := range strings.SplitSeq(parts[3], ", ") {
				covered[name] = true
			}
		case len(rows) > 0 && line != "":
			row := &rows[len(rows)-1]
			if strings.Contains(line, "T/") {
				row.roots = []string{"live", "stored"}
			}
			s := step{line: fmt.Sprintf("line %d: %s", number+1, line)}
			if rest, ok := strings.CutPrefix(line, "3: "); ok {
				s.only, line = wire.V311, rest
			} else if rest, ok := strings.CutPrefix(line, "5: "); ok {
				s.only, line = wire.V5, rest
			}
			parts := []string{line}
			if sent, got, ok := strings.Cut(line, " => "); ok {
				parts = []string{"X>> CONNECT", "X> " + sent, "X< " + got}
			}
			for _, part := range parts {
				fields := strings.Fields(part)
				at := strings.IndexAny(fields[0], "<>")
				if at < 1 || len(fields) < 2 {
					t.Fatalf("%s: want a client, a verb and a packet", s.line)
				}
				s.client, s.verb, s.kind, s.fields = fields[0][:at], fields[0][at:], fields[1], fields[2:]
				row.steps = append(row.steps, s)
			}
		}
	}
	for _, name := range pahoCases {
		if !covered[name] {
			t.Errorf("no row has the ground of %s", name)
		}
	}
	return rows
}

// run runs a row.
func (row *conformanceRow) run(t *testing.T, v wire.Version, root string) {
	identify := func(token []byte, state *tls.ConnectionState) (*broker.Identity, error) {
		if len(token) == 0 {
			return broker.Anyone(token, state)
		}
		return &broker.Identity{Name: string(token), Publish: []string{"up/#"}, Subscribe: []string{"down/#"}}, nil
	}
	x := &rowRun{t: t, v: v, clients: map[string]*scripted{}, ids: map[string]uint16{}}
	x.r = newRig(t, setup{
		broker: broker.Config{Identify: identify}, server: mqtt.Config{MaxInFlight: 4}, listener: mqtt.ListenerConfig{MaxPacket: 2000},
		streams: map[string]broker.Stored{"s": stored(t, "stored/#")},
	})
	var steps []step
	for _, s := range row.steps {
		if s.only == 0 || s.only == v {
			s.fields = slices.Clone(s.fields)
			for i, f := range s.fields {
				s.fields[i] = strings.ReplaceAll(f, "T/", root+"/")
			}
			steps = append(steps, s)
		}
	}
	at := ""
	defer func() {
		if t.Failed() {
			t.Log(at)
		}
	}()
	for len(steps) > 0 {
		n := 1
		for steps[0].unordered() && n < len(steps) && steps[n].client == steps[0].client && steps[n].unordered() {
			n++
		}
		at = steps[0].line
		x.do(steps[:n])
		steps = steps[n:]
	}
}

func (s *step) unordered() bool { return strings.HasSuffix(s.verb, "?") }

// rowRun is a row that runs.
type rowRun struct {
	t       *testing.T
	r       *rig
	v       wire.Version
	clients map[string]*scripted
	ids     map[string]uint16 // packet identifiers by what the row calls them
}

// scripted is a client of a row.
type scripted struct {
	*client
	releasing map[uint16]bool // messages with QoS 2 that the row has acknowledged, and whose PUBREL has not come
}

// do runs a step, or several whose packets come in any order.
func (x *rowRun) do(steps []step) {
	s := &steps[0]
	c := x.clients[s.client]
	if c == nil {
		c = &scripted{x.r.dial(x.v), map[uint16]bool{}}
		x.clients[s.client] = c
		if s.kind != "CONNECT" && s.kind != "HEX" {
			x.do([]step{{client: s.client, verb: ">>", kind: "CONNECT"}})
		}
	}
	switch {
	case s.kind == "CUT":
		before := x.r.server.Stats().Connected
		_ = c.conn.Close()
		delete(x.clients, s.client)
		await(x.t, "the end of the connection", func() bool { return x.r.server.Stats().Connected < before })
	case s.verb == ">":
		c.write(x.packet(s))
	case s.verb == ">>":
		c.write(x.packet(s))
		x.complete(c, s)
	case s.kind == "END" && x.v == wire.V5:
		x.receive(c, step{kind: "DISCONNECT", fields: s.fields})
		x.end(c, s)
	case s.kind == "END", s.kind == "EOF":
		x.end(c, s)
	default:
		x.receive(c, steps...)
	}
}

// end waits for the end of a connection.
func (x *rowRun) end(c *scripted, s *step) {
	if p := c.packet(); p.Kind != 0 {
		x.t.Fatalf("%s gets %v with %x, want the end of the connection", s.client, p.Kind, p.Body)
	}
	_ = c.conn.Close()
	delete(x.clients, s.client)
}

// complete reads what completes the exchange that s begins.
func (x *rowRun) complete(c *scripted, s *step) {
	f := x.parse(s)
	id := "id=" + f.idOr("9")
	switch s.kind {
	case "CONNECT":
		present := "!present"
		if slices.Contains(f.words, "present") {
			present = "present"
		}
		x.receive(c, step{kind: "CONNACK", fields: []string{"success", present}})
	case "PINGREQ":
		x.receive(c, step{kind: "PINGRESP"})
	case "DISCONNECT":
		x.end(c, s)
	case "SUBSCRIBE":
		suback := step{kind: "SUBACK", fields: []string{id}}
		for _, w := range f.words {
			suback.fields = append(suback.fields, strconv.Itoa(int(subscriptionOf(w).QoS)))
		}
		x.receive(c, suback)
	case "UNSUBSCRIBE":
		x.receive(c, step{kind: "UNSUBACK", fields: append([]string{id}, slices.Repeat([]string{"success"}, len(f.words))...)})
	case "PUBLISH":
		switch {
		case slices.Contains(f.words, "q1"):
			x.receive(c, step{kind: "PUBACK", fields: []string{id}})
		case slices.Contains(f.words, "q2"):
			x.receive(c, step{kind: "PUBREC", fields: []string{id}})
			c.write(x.packet(&step{kind: "PUBREL", fields: []string{id}}))
			x.receive(c, step{kind: "PUBCOMP", fields: []string{id}})
		}
	default:
		x.t.Fatalf("%s begins no exchange", s.kind)
	}
}

// receive reads the packets of steps, in any order.
func (x *rowRun) receive(c *scripted, steps ...step) {
	left := slices.Clone(steps)
	for len(left) > 0 {
		p := c.packet()
		id, got := x.describe(p)
		at := slices.IndexFunc(left, func(s step) bool { return x.wants(&s, id, got) })
		if at < 0 {
			x.t.Fatalf("got %q, packet identifier %d, want %s %q", got, id, left[0].kind, left[0].fields)
		}
		if name := x.parse(&left[at]).id; strings.HasPrefix(name, "$") {
			x.ids[name] = id
		}
		if strings.HasPrefix(left[at].verb, "<<") {
			c.acknowledge(p)
		}
		left = slices.Delete(left, at, at+1)
	}
}

// packet reads the next packet, but for those that complete what acknowledge has begun.
func (c *scripted) packet() wire.Packet {
	c.t.Helper()
	for {
		p := c.next()
		if p.Kind != wire.Pubrel {
			return p
		}
		a, err := wire.ParseAck(p)
		if err != nil || !c.releasing[a.ID] {
			return p
		}
		delete(c.releasing, a.ID)
		c.sendAck(wire.Pubcomp, a.ID)
	}
}

// acknowledge acknowledges a message, as its QoS demands.
func (c *scripted) acknowledge(p wire.Packet) {
	c.t.Helper()
	switch m, err := wire.ParsePublish(p); {
	case err != nil:
		c.t.Fatal(err)
	case m.QoS == 1:
		c.sendAck(wire.Puback, m.ID)
	case m.QoS == 2:
		c.releasing[m.ID] = true
		c.sendAck(wire.Pubrec, m.ID)
	}
}
