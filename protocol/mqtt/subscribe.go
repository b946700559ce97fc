package mqtt

import (
	"bytes"
	"encoding/binary"
	"iter"
)

// SubscribePacket is a request to subscribe. Section 3.8. Its slices are views.
type SubscribePacket struct {
	ID         uint16
	Properties Properties
	Filters    Filters
}

// Filters has the encoded subscriptions of a SUBSCRIBE.
type Filters []byte

// Subscription is a filter with its options. Section 3.8.3.1. The options but QoS need 5.0.
type Subscription struct {
	Filter            []byte // ParseFilter checks it
	QoS               byte   // the highest QoS of the deliveries
	NoLocal           bool   // leave out what the client itself publishes
	RetainAsPublished bool   // deliver the retain flag as it was published
	RetainHandling    byte   // 0: deliver retained messages; 1: only if the subscription is new; 2: none
}

// Options of a subscription.
const (
	optionNoLocal           = 0x04
	optionRetainAsPublished = 0x08
)

// All returns the subscriptions in their order.
func (fs Filters) All() iter.Seq[Subscription] {
	return func(yield func(Subscription) bool) {
		for len(fs) > 0 {
			filter, n := lengthPrefixed(fs)
			if n == 0 || n == len(fs) {
				return
			}
			o := fs[n]
			s := Subscription{
				Filter: filter, QoS: o & 3, NoLocal: o&optionNoLocal != 0,
				RetainAsPublished: o&optionRetainAsPublished != 0, RetainHandling: o >> 4 & 3,
			}
			if !yield(s) {
				return
			}
			fs = fs[n+1:]
		}
	}
}

// Len returns the number of subscriptions.
func (fs Filters) Len() int {
	count := 0
	for range fs.All() {
		count++
	}
	return count
}

// AppendFilter appends a subscription. It leaves out a filter longer than MaxText bytes, which ParseFilter refuses.
func AppendFilter(fs Filters, s Subscription) Filters {
	if len(s.Filter) > MaxText {
		return fs
	}
	o := s.QoS&3 | s.RetainHandling&3<<4
	if s.NoLocal {
		o |= optionNoLocal
	}
	if s.RetainAsPublished {
		o |= optionRetainAsPublished
	}
	return append(appendPrefixed(fs, s.Filter), o)
}

// ParseSubscribe reads a SUBSCRIBE. The filters are UTF-8 strings, and their options are valid. ParseFilter checks their
// wildcards: the response to a wrong one is a SUBACK.
func ParseSubscribe(p Packet) (SubscribePacket, error) {
	r := bodyReader{b: p.Body, kind: Subscribe}
	s := SubscribePacket{ID: r.id()}
	if p.Version == V5 {
		s.Properties, _ = r.properties(inSubscribe, p.FromServer)
	}
	s.Filters = Filters(r.b)
	if len(s.Filters) == 0 {
		r.fail(ProtocolError, "there is no filter") // section 3.8.3
	}
	for len(r.b) > 0 {
		filter := r.text("filter")
		r.options(filter, r.u8("options"), p.Version)
	}
	return s, r.end()
}

// options checks the options of a subscription.
func (r *bodyReader) options(filter []byte, o byte, v Version) {
	switch {
	case v != V5 && o > 2: // MQTT 3.1.1, section 3.8.3
		r.fail(MalformedPacket, "options %08b: want a QoS of at most 2", o)
	case o&0xc0 != 0:
		r.fail(MalformedPacket, "options %08b: the upper two bits are reserved", o)
	case o&3 == 3, o>>4&3 == 3:
		r.fail(ProtocolError, "options %08b: QoS and retain handling are at most 2", o)
	case o&optionNoLocal != 0 && bytes.HasPrefix(filter, []byte(SharePrefix)): // section 3.8.3.1
		r.fail(ProtocolError, "a shared subscription cannot leave out the client's own messages")
	}
}

// AppendSubscribe appends a SUBSCRIBE. It returns an *Error if the packet is too long.
func AppendSubscribe(dst []byte, v Version, s *SubscribePacket) ([]byte, error) {
	return appendRequest(dst, v, Subscribe, s.ID, s.Properties, s.Filters)
}

// appendRequest appends a SUBSCRIBE or UNSUBSCRIBE.
func appendRequest(dst []byte, v Version, k Kind, id uint16, ps Properties, payload []byte) ([]byte, error) {
	length := 2 + len(payload)
	if v == V5 {
		length += propertiesSize(ps)
	}
	if length > maxVarint {
		return dst, &Error{Code: PacketTooLarge, Kind: k, Reason: "the packet has more than 268435460 bytes"}
	}
	dst = binary.BigEndian.AppendUint16(appendHeader(dst, k, length), id)
	if v == V5 {
		dst = appendProperties(dst, ps)
	}
	return append(dst, payload...), nil
}

// SubackPacket is a SUBACK or UNSUBACK, as Kind says. Sections 3.9 and 3.11. Its slices are views.
type SubackPacket struct {
	Kind       Kind
	ID         uint16
	Properties Properties
	Codes      []byte // a ReasonCode for each filter of the request; UNSUBACK of 3.1.1 has none
}

// ParseSuback reads a SUBACK or UNSUBACK.
func ParseSuback(p Packet) (SubackPacket, error) {
	r := bodyReader{b: p.Body, kind: p.Kind}
	s := SubackPacket{Kind: p.Kind, ID: r.id()}
	if p.Version == V5 {
		s.Properties, _ = r.properties(1<<p.Kind, p.FromServer)
	}
	if p.Kind == Unsuback && p.Version != V5 {
		return s, r.end()
	}
	s.Codes, r.b = r.b, nil
	if len(s.Codes) == 0 {
		r.fail(MalformedPacket, "there is no reason code")
	}
	for _, c := range s.Codes {
		if !ReasonCode(c).allowedIn(p.Kind) || p.Version != V5 && c > byte(GrantedQoS2) && c != byte(UnspecifiedError) {
			r.fail(ProtocolError, "reason code 0x%02x", c)
		}
	}
	return s, r.end()
}

// AppendSuback appends a SUBACK or UNSUBACK. In 3.1.1, all failures of a SUBACK have the code 0x80.
func AppendSuback(dst []byte, v Version, s *SubackPacket) []byte {
	length, codes := 2, s.Codes
	switch {
	case v == V5:
		length += propertiesSize(s.Properties)
	case s.Kind == Unsuback:
		codes = nil
	}
	dst = binary.BigEndian.AppendUint16(appendHeader(dst, s.Kind, length+len(codes)), s.ID)
	if v == V5 {
		return append(appendProperties(dst, s.Properties), codes...)
	}
	for _, c := range codes {
		dst = append(dst, min(c, byte(UnspecifiedError)))
	}
	return dst
}
