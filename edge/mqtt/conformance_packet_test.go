package mqtt_test

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	wire "example.com/ferry/protocol/mqtt"
)

// packetFields are the fields of a step.
type packetFields struct {
	words            []string // in their order
	id               string   // of id=
	hasID            bool
	settings         map[string]string // of CONNECT
	properties, will wire.Properties
}

func (f *packetFields) idOr(other string) string {
	if f.hasID {
		return f.id
	}
	return other
}

// parse reads the fields of a step.
func (x *rowRun) parse(s *step) packetFields {
	x.t.Helper()
	f := packetFields{settings: map[string]string{}}
	for _, field := range s.fields {
		name, value, pair := strings.Cut(field, "=")
		willName, ofWill := strings.CutPrefix(name, "will.")
		switch {
		case !pair || value == "*":
			f.words = append(f.words, field)
		case name == "id":
			f.id, f.hasID = value, true
		case s.kind == "CONNECT" && slices.Contains([]string{"user", "password", "alive", "will", "willqos"}, name):
			f.settings[name] = value
		case ofWill:
			f.will = x.property(f.will, willName, value)
		default:
			f.properties = x.property(f.properties, name, value)
		}
	}
	return f
}

// property appends a property, which has its name in the standard, with hyphens.
func (x *rowRun) property(ps wire.Properties, name, value string) wire.Properties {
	x.t.Helper()
	if name == "user" {
		key, text, _ := strings.Cut(value, ":")
		return wire.AppendUser(ps, key, text)
	}
	for id := range wire.SharedSubscriptionAvailable + 1 {
		if hyphened(id) != name {
			continue
		}
		if n, err := strconv.ParseUint(value, 10, 32); err == nil {
			return wire.AppendUint(ps, id, uint32(n))
		}
		return wire.AppendText(ps, id, expand(value))
	}
	x.t.Fatalf("no property is called %s", name)
	return nil
}

// hyphened returns a name of the standard as one word.
func hyphened(name fmt.Stringer) string { return strings.ReplaceAll(name.String(), " ", "-") }

// expand returns what a word stands for.
func expand(word string) string {
	if piece, times, ok := strings.Cut(word, "*"); ok {
		if n, err := strconv.Atoi(times); err == nil {
			return strings.Repeat(piece, n)
		}
	}
	if text, err := strconv.Unquote(`"` + word + `"`); err == nil {
		return text
	}
	return word
}

// payload is expand for a topic or a payload, which may be empty.
func payload(word string) []byte {
	if word == "-" {
		return nil
	}
	return []byte(expand(word))
}

// number returns the packet identifier that a row calls name.
func (x *rowRun) number(name string) uint16 {
	x.t.Helper()
	if strings.HasPrefix(name, "$") {
		return x.ids[name]
	}
	n, err := strconv.ParseUint(name, 10, 16)
	if err != nil {
		x.t.Fatal(err)
	}
	return uint16(n)
}

// packet returns the packet that a step sends.
func (x *rowRun) packet(s *step) []byte {
	x.t.Helper()
	if s.kind == "HEX" {
		b, err := hex.DecodeString(strings.Join(s.fields, ""))
		if err != nil {
			x.t.Fatal(err)
		}
		return b
	}
	f := x.parse(s)
	var b []byte
	var err error
	switch s.kind {
	case "CONNECT":
		b, err = wire.AppendConnect(nil, x.connect(s, &f))
	case "PUBLISH":
		b, err = wire.AppendPublish(nil, x.v, x.publish(&f))
	case "SUBSCRIBE":
		p := wire.SubscribePacket{ID: x.number(f.idOr("9")), Properties: f.properties}
		for _, w := range f.words {
			p.Filters = wire.AppendFilter(p.Filters, subscriptionOf(w))
		}
		b, err = wire.AppendSubscribe(nil, x.v, &p)
	case "UNSUBSCRIBE":
		p := wire.UnsubscribePacket{ID: x.number(f.idOr("9"))}
		for _, w := range f.words {
			p.Topics = wire.AppendTopic(p.Topics, w)
		}
		b, err = wire.AppendUnsubscribe(nil, x.v, &p)
	case "PINGREQ":
		b = wire.AppendPingreq(nil)
	case "DISCONNECT":
		d := wire.DisconnectPacket{Properties: f.properties}
		for code := range wire.ReasonCode(0xff) {
			if len(f.words) > 0 && hyphened(code) == f.words[0] {
				d.Code = code
			}
		}
		b = wire.AppendDisconnect(nil, x.v, d)
	default:
		for k := wire.Puback; k <= wire.Pubcomp; k++ {
			if k.String() == s.kind {
				b = wire.AppendAck(nil, x.v, wire.AckPacket{Kind: k, ID: x.number(f.id)})
			}
		}
	}
	if err != nil || b == nil {
		x.t.Fatalf("%s %q: %v", s.kind, s.fields, err)
	}
	return b
}

func (x *rowRun) connect(s *step, f *packetFields) *wire.ConnectPacket {
	kept := slices.Contains(f.words, "kept")
	alive, _ := strconv.ParseUint(f.settings["alive"], 10, 16)
	p := &wire.ConnectPacket{Version: x.v, CleanStart: !kept, KeepAlive: uint16(alive), ClientID: []byte(f.idOr(s.client)), Properties: f.properties}
	if _, given := p.Properties.Uint(wire.SessionExpiryInterval); kept && x.v == wire.V5 && !given {
		p.Properties = wire.AppendUint(p.Properties, wire.SessionExpiryInterval, 600)
	}
	if user := f.settings["user"]; user != "" {
		p.User, p.Password = []byte(user), []byte(f.settings["password"])
	}
	if topic, text, ok := strings.Cut(f.settings["will"], ":"); ok {
		qos, _ := strconv.ParseUint(f.settings["willqos"], 10, 8)
		p.Will = &wire.Will{QoS: byte(qos), Retain: slices.Contains(f.words, "willretain"), Topic: []byte(topic), Payload: []byte(text), Properties: f.will}
	}
	return p
}

func (x *rowRun) publish(f *packetFields) *wire.PublishPacket {
	p := &wire.PublishPacket{Properties: f.properties}
	words := f.words
	for ; len(words) > 2; words = words[1:] {
		switch words[0] {
		case "q1", "q2":
			p.QoS, p.ID = words[0][1]-'0', x.number(f.idOr("9"))
		case "dup":
			p.Dup = true
		case "retain":
			p.Retain = true
		default:
			x.t.Fatalf("no flag of PUBLISH is called %s", words[0])
		}
	}
	p.Topic, p.Payload = payload(words[0]), payload(words[1])
	return p
}

// subscriptionOf reads FILTER:QoS.
func subscriptionOf(word string) wire.Subscription {
	filter, options, _ := strings.Cut(word, ":")
	s := wire.Subscription{Filter: []byte(filter), QoS: options[0] - '0', NoLocal: strings.Contains(options, "n"), RetainAsPublished: strings.Contains(options, "p")}
	if _, handling, ok := strings.Cut(options, "h"); ok {
		s.RetainHandling = handling[0] - '0'
	}
	return s
}

// describe returns the packet identifier of a packet, and its fields as a row has them: the reason of an error is left out.
func (x *rowRun) describe(p wire.Packet) (id uint16, fields []string) {
	x.t.Helper()
	fields = []string{p.Kind.String()}
	add := func(set bool, word string) {
		if set {
			fields = append(fields, word)
		}
	}
	var ps wire.Properties
	var err error
	switch p.Kind {
	case wire.Connack:
		var v wire.ConnackPacket
		v, err = wire.ParseConnack(p)
		add(true, hyphened(v.Code))
		add(v.SessionPresent, "present")
		ps = v.Properties
	case wire.Publish:
		var m wire.PublishPacket
		m, err = wire.ParsePublish(p)
		add(m.QoS > 0, fmt.Sprint("q", m.QoS))
		add(m.Dup, "dup")
		add(m.Retain, "retain")
		add(true, cmp.Or(string(m.Topic), "-"))
		add(true, cmp.Or(string(m.Payload), "-"))
		id, ps = m.ID, m.Properties
	case wire.Puback, wire.Pubrec, wire.Pubrel, wire.Pubcomp:
		var a wire.AckPacket
		a, err = wire.ParseAck(p)
		add(a.Code != wire.Success, hyphened(a.Code))
		id = a.ID
	case wire.Suback, wire.Unsuback:
		var v wire.SubackPacket
		v, err = wire.ParseSuback(p)
		for _, c := range v.Codes {
			if code := wire.ReasonCode(c); p.Kind == wire.Suback && !code.Failed() {
				add(true, strconv.Itoa(int(c)))
			} else {
				add(true, hyphened(code))
			}
		}
		id = v.ID
	case wire.Disconnect:
		var d wire.DisconnectPacket
		d, err = wire.ParseDisconnect(p)
		add(true, hyphened(d.Code))
	}
	if err != nil {
		x.t.Fatalf("the server sends %v with %x: %v", p.Kind, p.Body, err)
	}
	for each := range ps.All() {
		switch {
		case each.ID == wire.ReasonString:
		case each.ID == wire.UserProperty:
			add(true, fmt.Sprintf("user=%s:%s", each.Name, each.Text))
		case each.Text != nil:
			add(true, fmt.Sprintf("%s=%s", hyphened(each.ID), each.Text))
		default:
			add(true, fmt.Sprintf("%s=%d", hyphened(each.ID), each.Uint))
		}
	}
	return id, fields
}

// wants reports whether a packet is that of a step.
func (x *rowRun) wants(s *step, id uint16, got []string) bool {
	f := x.parse(s)
	if _, bound := x.ids[f.id]; f.hasID && (bound || !strings.HasPrefix(f.id, "$")) && x.number(f.id) != id {
		return false
	}
	want := []string{s.kind}
	for _, field := range s.fields {
		if !strings.HasPrefix(field, "id=") {
			want = append(want, expand(field))
		}
	}
	same := func(w, g string) bool {
		open, any := strings.CutSuffix(w, "=*")
		return w == g || any && strings.HasPrefix(g, open+"=")
	}
	switch {
	case want[0] == "CONNACK":
		return got[0] == want[0] && !slices.ContainsFunc(want[1:], func(w string) bool {
			name, absent := strings.CutPrefix(w, "!")
			return absent == slices.ContainsFunc(got, func(g string) bool { return same(w, g) || absent && (g == name || strings.HasPrefix(g, name+"=")) })
		})
	case want[0] == "UNSUBACK" && x.v == wire.V311: // it has no codes
		want = want[:1]
	}
	byName := func(a, b string) int { // flags, topic and payload stay in front, and user properties in their order
		nameOf := func(field string) string {
			name, _, property := strings.Cut(field, "=")
			if !property {
				return ""
			}
			return name
		}
		return strings.Compare(nameOf(a), nameOf(b))
	}
	got = slices.Clone(got)
	slices.SortStableFunc(want[1:], byName)
	slices.SortStableFunc(got[1:], byName)
	return slices.EqualFunc(want, got, same)
}
