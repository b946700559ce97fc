package mqtt

import (
	"encoding/binary"
	"fmt"
	"iter"
)

// PropertyID identifies a property. Section 2.2.2.2.
type PropertyID uint8

// The properties.
const (
	PayloadFormatIndicator           PropertyID = 1
	MessageExpiryInterval            PropertyID = 2 // seconds
	ContentType                      PropertyID = 3
	ResponseTopic                    PropertyID = 8
	CorrelationData                  PropertyID = 9
	SubscriptionIdentifier           PropertyID = 11
	SessionExpiryInterval            PropertyID = 17 // seconds
	AssignedClientIdentifier         PropertyID = 18
	ServerKeepAlive                  PropertyID = 19 // seconds
	AuthenticationMethod             PropertyID = 21
	AuthenticationData               PropertyID = 22
	RequestProblemInformation        PropertyID = 23
	WillDelayInterval                PropertyID = 24 // seconds
	RequestResponseInformation       PropertyID = 25
	ResponseInformation              PropertyID = 26
	ServerReference                  PropertyID = 28
	ReasonString                     PropertyID = 31
	ReceiveMaximum                   PropertyID = 33
	TopicAliasMaximum                PropertyID = 34
	TopicAlias                       PropertyID = 35
	MaximumQoS                       PropertyID = 36
	RetainAvailable                  PropertyID = 37
	UserProperty                     PropertyID = 38
	MaximumPacketSize                PropertyID = 39 // bytes
	WildcardSubscriptionAvailable    PropertyID = 40
	SubscriptionIdentifiersAvailable PropertyID = 41
	SharedSubscriptionAvailable      PropertyID = 42
)

// form is how the value of a property is encoded.
type form uint8

const (
	flagForm   form = iota + 1 // a byte that is 0 or 1
	twoForm                    // two byte integer
	fourForm                   // four byte integer
	varForm                    // variable byte integer
	textForm                   // UTF-8 string
	binaryForm                 // binary data
	pairForm                   // UTF-8 string pair
)

// Sets of kinds. The properties of a will have the bit of the reserved kind 0.
const (
	inWill      = 1 << 0
	inConnect   = 1 << Connect
	inPublish   = 1 << Publish
	inSubscribe = 1 << Subscribe
	inAll       = inWill | inConnect | inConnack | inPublish | inPublished | inReleased | inSubscribe | inSuback | 1<<Unsubscribe | inUnsuback | inDisconnect | inAuth
)

// properties has the name and the form of each property, and the kinds of packets that may carry it. Section 2.2.2.2, table 2-4.
var properties = [...]struct {
	name string
	form form
	in   uint16
}{
	PayloadFormatIndicator:           {"payload format indicator", flagForm, inPublish | inWill},
	MessageExpiryInterval:            {"message expiry interval", fourForm, inPublish | inWill},
	ContentType:                      {"content type", textForm, inPublish | inWill},
	ResponseTopic:                    {"response topic", textForm, inPublish | inWill},
	CorrelationData:                  {"correlation data", binaryForm, inPublish | inWill},
	SubscriptionIdentifier:           {"subscription identifier", varForm, inPublish | inSubscribe},
	SessionExpiryInterval:            {"session expiry interval", fourForm, inConnect | inConnack | inDisconnect},
	AssignedClientIdentifier:         {"assigned client identifier", textForm, inConnack},
	ServerKeepAlive:                  {"server keep alive", twoForm, inConnack},
	AuthenticationMethod:             {"authentication method", textForm, inConnect | inConnack | inAuth},
	AuthenticationData:               {"authentication data", binaryForm, inConnect | inConnack | inAuth},
	RequestProblemInformation:        {"request problem information", flagForm, inConnect},
	WillDelayInterval:                {"will delay interval", fourForm, inWill},
	RequestResponseInformation:       {"request response information", flagForm, inConnect},
	ResponseInformation:              {"response information", textForm, inConnack},
	ServerReference:                  {"server reference", textForm, inConnack | inDisconnect},
	ReasonString:                     {"reason string", textForm, inConnack | inPublished | inReleased | inSuback | inUnsuback | inDisconnect | inAuth},
	ReceiveMaximum:                   {"receive maximum", twoForm, inConnect | inConnack},
	TopicAliasMaximum:                {"topic alias maximum", twoForm, inConnect | inConnack},
	TopicAlias:                       {"topic alias", twoForm, inPublish},
	MaximumQoS:                       {"maximum QoS", flagForm, inConnack},
	RetainAvailable:                  {"retain available", flagForm, inConnack},
	UserProperty:                     {"user property", pairForm, inAll},
	MaximumPacketSize:                {"maximum packet size", fourForm, inConnect | inConnack},
	WildcardSubscriptionAvailable:    {"wildcard subscription available", flagForm, inConnack},
	SubscriptionIdentifiersAvailable: {"subscription identifiers available", flagForm, inConnack},
	SharedSubscriptionAvailable:      {"shared subscription available", flagForm, inConnack},
}

// String returns the name of the property in the standard.
func (id PropertyID) String() string {
	if id.form() != 0 {
		return properties[id].name
	}
	return fmt.Sprintf("property %d", uint8(id))
}

// form returns 0 for a property that the standard does not have.
func (id PropertyID) form() form {
	if int(id) < len(properties) {
		return properties[id].form
	}
	return 0
}

// Properties has the encoded properties of a packet, without their length. In 3.1.1 there are none.
type Properties []byte

// Property is one property. Name and Text are views.
type Property struct {
	ID   PropertyID
	Uint uint32 // the value of an integer
	Text []byte // the value of a string or of binary data
	Name []byte // the name of a user property
}

// Uint returns the value of the first property id, which is an integer. Without one, ok is false.
func (ps Properties) Uint(id PropertyID) (value uint32, ok bool) {
	p, ok := ps.find(id)
	return p.Uint, ok
}

// Text returns the value of the first property id, which is a string or binary data, as a view. Without one, ok is false.
func (ps Properties) Text(id PropertyID) (value []byte, ok bool) {
	p, ok := ps.find(id)
	return p.Text, ok
}

// All returns the properties in their order. It ends at bytes that are not a property; a Parse function has refused them.
func (ps Properties) All() iter.Seq[Property] {
	return func(yield func(Property) bool) {
		for len(ps) > 0 {
			p, n := ps.first()
			if n <= 0 || !yield(p) {
				return
			}
			ps = ps[n:]
		}
	}
}

func (ps Properties) find(id PropertyID) (Property, bool) {
	for len(ps) > 0 {
		p, n := ps.first()
		if n <= 0 {
			break
		}
		if p.ID == id {
			return p, true
		}
		ps = ps[n:]
	}
	return Property{}, false
}

// first reads the first property, which has n bytes. n is 0 if the property ends early, -1 if its integer has too many bytes,
// and -2 if the standard does not have it. Section 2.2.2.2: all identifiers have one byte.
func (ps Properties) first() (p Property, n int) {
	p.ID = PropertyID(ps[0])
	b := ps[1:]
	switch f := p.ID.form(); f {
	case flagForm:
		if len(b) < 1 {
			return p, 0
		}
		p.Uint, n = uint32(b[0]), 1
	case twoForm:
		if len(b) < 2 {
			return p, 0
		}
		p.Uint, n = uint32(binary.BigEndian.Uint16(b)), 2
	case fourForm:
		if len(b) < 4 {
			return p, 0
		}
		p.Uint, n = binary.BigEndian.Uint32(b), 4
	case varForm:
		v, size := varint(b)
		if size <= 0 {
			return p, size
		}
		p.Uint, n = uint32(v), size
	case textForm, binaryForm, pairForm:
		if f == pairForm {
			if p.Name, n = lengthPrefixed(b); n == 0 {
				return p, 0
			}
		}
		text, size := lengthPrefixed(b[n:])
		if size == 0 {
			return p, 0
		}
		p.Text, n = text, n+size
	default:
		return p, -2
	}
	return p, 1 + n
}

// lengthPrefixed returns the bytes after a length of two bytes, and the size of both. size is 0 if b ends early.
func lengthPrefixed(b []byte) (text []byte, size int) {
	if len(b) < 2 {
		return nil, 0
	}
	end := 2 + int(binary.BigEndian.Uint16(b))
	if len(b) < end {
		return nil, 0
	}
	return b[2:end:end], end
}

// AppendUint appends a property with an integer.
func AppendUint(ps Properties, id PropertyID, value uint32) Properties {
	ps = append(ps, byte(id))
	switch id.form() {
	case twoForm:
		return binary.BigEndian.AppendUint16(ps, uint16(value))
	case fourForm:
		return binary.BigEndian.AppendUint32(ps, value)
	case varForm:
		return appendVarint(ps, int(min(value, maxVarint)))
	}
	return append(ps, byte(value))
}

// AppendText appends a property with a string or binary data. It leaves out a value longer than MaxText bytes.
func AppendText[T string | []byte](ps Properties, id PropertyID, value T) Properties {
	if len(value) > MaxText {
		return ps
	}
	return appendPrefixed(append(ps, byte(id)), value)
}

// AppendUser appends a user property. It leaves it out if the name or the value is longer than MaxText bytes.
func AppendUser[T string | []byte](ps Properties, name, value T) Properties {
	if len(name) > MaxText || len(value) > MaxText {
		return ps
	}
	return appendPrefixed(appendPrefixed(append(ps, byte(UserProperty)), name), value)
}

// AppendProperty appends a property that All has returned.
func AppendProperty(ps Properties, p Property) Properties {
	switch p.ID.form() {
	case pairForm:
		return AppendUser(ps, p.Name, p.Text)
	case textForm, binaryForm:
		return AppendText(ps, p.ID, p.Text)
	}
	return AppendUint(ps, p.ID, p.Uint)
}
