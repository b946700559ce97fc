package mqtt

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// parse reads a packet of any kind.
func parse(p Packet) (any, error) {
	switch p.Kind {
	case Connect:
		return ParseConnect(p)
	case Connack:
		return ParseConnack(p)
	case Publish:
		return ParsePublish(p)
	case Puback, Pubrec, Pubrel, Pubcomp:
		return ParseAck(p)
	case Subscribe:
		return ParseSubscribe(p)
	case Suback, Unsuback:
		return ParseSuback(p)
	case Unsubscribe:
		return ParseUnsubscribe(p)
	case Pingreq, Pingresp:
		return p.Kind, nil
	case Disconnect:
		return ParseDisconnect(p)
	case Auth:
		return ParseAuth(p)
	}
	return nil, fmt.Errorf("Next returned a packet of kind %d", p.Kind)
}

// write appends what parse has returned.
func write(t testing.TB, dst []byte, v Version, packet any) []byte {
	t.Helper()
	var err error
	switch x := packet.(type) {
	case ConnectPacket:
		dst, err = AppendConnect(dst, &x)
	case ConnackPacket:
		dst = AppendConnack(dst, v, &x)
	case PublishPacket:
		dst, err = AppendPublish(dst, v, &x)
	case AckPacket:
		dst = AppendAck(dst, v, x)
	case SubscribePacket:
		dst, err = AppendSubscribe(dst, v, &x)
	case SubackPacket:
		dst = AppendSuback(dst, v, &x)
	case UnsubscribePacket:
		dst, err = AppendUnsubscribe(dst, v, &x)
	case Kind:
		if x == Pingreq {
			dst = AppendPingreq(dst)
		} else {
			dst = AppendPingresp(dst)
		}
	case DisconnectPacket:
		dst = AppendDisconnect(dst, v, x)
	case AuthPacket:
		dst = AppendAuth(dst, x)
	}
	if err != nil {
		t.Fatalf("%+v: %v", packet, err)
	}
	return dst
}

// describe returns all that a packet holds, as one line of text.
func describe(packet any) string {
	switch x := packet.(type) {
	case ConnectPacket:
		s := fmt.Sprintf("CONNECT %v, clean start %v, keep alive %d, client %q%s", x.Version, x.CleanStart, x.KeepAlive, x.ClientID, describeProperties(x.Properties))
		if w := x.Will; w != nil {
			s += fmt.Sprintf(", will QoS %d, retain %v, on %q: %q%s", w.QoS, w.Retain, w.Topic, w.Payload, describeProperties(w.Properties))
		}
		if x.User != nil {
			s += fmt.Sprintf(", user %q", x.User)
		}
		if x.Password != nil {
			s += fmt.Sprintf(", password %q", x.Password)
		}
		return s
	case ConnackPacket:
		return fmt.Sprintf("CONNACK %v, session present %v%s", x.Code, x.SessionPresent, describeProperties(x.Properties))
	case PublishPacket:
		return fmt.Sprintf("PUBLISH QoS %d, dup %v, retain %v, id %d, on %q: %q%s", x.QoS, x.Dup, x.Retain, x.ID, x.Topic, x.Payload, describeProperties(x.Properties))
	case AckPacket:
		return fmt.Sprintf("%v id %d, %v%s", x.Kind, x.ID, x.Code, describeProperties(x.Properties))
	case SubscribePacket:
		s := fmt.Sprintf("SUBSCRIBE id %d", x.ID)
		for f := range x.Filters.All() {
			s += fmt.Sprintf(", %q QoS %d no local %v retain as published %v retain handling %d", f.Filter, f.QoS, f.NoLocal, f.RetainAsPublished, f.RetainHandling)
		}
		return s + describeProperties(x.Properties)
	case SubackPacket:
		s := fmt.Sprintf("%v id %d", x.Kind, x.ID)
		for _, c := range x.Codes {
			s += fmt.Sprintf(", %v", ReasonCode(c))
		}
		return s + describeProperties(x.Properties)
	case UnsubscribePacket:
		s := fmt.Sprintf("UNSUBSCRIBE id %d", x.ID)
		for f := range x.Topics.All() {
			s += fmt.Sprintf(", %q", f)
		}
		return s + describeProperties(x.Properties)
	case DisconnectPacket:
		return fmt.Sprintf("DISCONNECT %v%s", x.Code, describeProperties(x.Properties))
	case AuthPacket:
		return fmt.Sprintf("AUTH %v%s", x.Code, describeProperties(x.Properties))
	}
	return fmt.Sprint(packet)
}

func describeProperties(ps Properties) string {
	var b strings.Builder
	for p := range ps.All() {
		switch p.ID.form() {
		case textForm, binaryForm:
			fmt.Fprintf(&b, ", %v %q", p.ID, p.Text)
		case pairForm:
			fmt.Fprintf(&b, ", %v %q %q", p.ID, p.Name, p.Text)
		default:
			fmt.Fprintf(&b, ", %v %d", p.ID, p.Uint)
		}
	}
	return b.String()
}

// whole returns the packet that data consists of.
func whole(t testing.TB, data []byte, l Limits) (Packet, any) {
	t.Helper()
	p, need, err := Next(data, l)
	if err != nil || need != 0 || p.Size != len(data) {
		t.Fatalf("%x: a packet of %d bytes, need %d, %v; want %d bytes", data, p.Size, need, err, len(data))
	}
	packet, err := parse(p)
	if err != nil {
		t.Fatalf("%x: %v", data, err)
	}
	return p, packet
}

// asError returns the *Error that every error of the package must be.
func asError(t testing.TB, err error) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Reason == "" || !e.Code.Failed() {
		t.Fatalf("%#v is not an *Error with a code and a reason", err)
	}
	return e
}
