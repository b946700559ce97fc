package mqtt

import (
	"encoding/binary"
)

// ConnectPacket is a client's first packet. Section 3.1. Its slices are views.
type ConnectPacket struct {
	Version    Version
	CleanStart bool   // begin with a new session; in 3.1.1, also end the session with the connection
	KeepAlive  uint16 // longest time between two packets of the client, in seconds; 0 means any time
	ClientID   []byte // empty: the server chooses one
	Properties Properties
	Will       *Will  // nil: none
	User       []byte // nil: none
	Password   []byte // nil: none
}

// Will is the message that the server publishes if the client leaves without DISCONNECT.
type Will struct {
	QoS        byte
	Retain     bool
	Topic      []byte
	Payload    []byte
	Properties Properties
}

// The protocol names.
const (
	protocolName   = "MQTT"
	protocolName31 = "MQIsdp" // MQTT 3.1
)

// Flags of CONNECT. Section 3.1.2.3.
const (
	flagCleanStart = 0x02
	flagWill       = 0x04
	flagWillRetain = 0x20
	flagPassword   = 0x40
	flagUser       = 0x80
)

// ParseConnect reads a CONNECT. After an error, Version is the version of the response: 0 if the peer does not speak MQTT.
func ParseConnect(p Packet) (ConnectPacket, error) {
	r := bodyReader{b: p.Body, kind: Connect}
	c := ConnectPacket{}
	name := r.binary("protocol name")
	level := Version(r.u8("protocol level"))
	switch {
	case r.err != nil:
		return c, r.err
	case string(name) == protocolName31:
		c.Version = V311
		return c, violation(Connect, UnsupportedProtocolVersion, "MQTT 3.1: the client must use 3.1.1 or 5.0")
	case string(name) != protocolName:
		return c, violation(Connect, UnsupportedProtocolVersion, "protocol %.20q: does the peer speak MQTT?", name)
	case level != V311 && level != V5:
		const bridge = 0x80 // of mosquitto: a bridge that is refused in its version connects again without this bit
		c.Version = min(max(level&^bridge, V311), V5)
		return c, violation(Connect, UnsupportedProtocolVersion, "protocol level %d: the client must use %d (3.1.1) or %d (5.0)", level, V311, V5)
	}
	c.Version = level
	flags := r.u8("flags")
	c.CleanStart = flags&flagCleanStart != 0
	c.KeepAlive = r.u16("keep alive")
	if r.err == nil {
		r.err = checkConnectFlags(flags, level)
	}
	if r.err != nil {
		return c, r.err
	}
	if level == V5 {
		c.Properties, _ = r.properties(inConnect, false)
	}
	c.ClientID = r.text("client identifier")
	if flags&flagWill != 0 {
		c.Will = r.will(flags, level)
	}
	if flags&flagUser != 0 {
		c.User = r.text("user name")
	}
	if flags&flagPassword != 0 {
		c.Password = r.binary("password")
	}
	if err := r.end(); err != nil {
		return c, err
	}
	if level == V311 && len(c.ClientID) == 0 && !c.CleanStart { // MQTT 3.1.1, section 3.1.3.1
		return c, violation(Connect, ClientIdentifierNotValid, "a client without an identifier must ask for a clean session")
	}
	return c, nil
}

// checkConnectFlags checks the flags of a CONNECT. Sections 3.1.2.3 to 3.1.2.9.
func checkConnectFlags(flags byte, v Version) *Error {
	qos := flags >> 3 & 3
	switch {
	case flags&1 != 0:
		return violation(Connect, MalformedPacket, "the reserved flag is set")
	case qos == 3:
		return violation(Connect, MalformedPacket, "the QoS of the will is 3")
	case flags&flagWill == 0 && (qos != 0 || flags&flagWillRetain != 0):
		return violation(Connect, MalformedPacket, "flags of a will are set, and there is none")
	case v == V311 && flags&(flagUser|flagPassword) == flagPassword:
		return violation(Connect, MalformedPacket, "there is a password without a user name")
	}
	return nil
}

func (r *bodyReader) will(flags byte, v Version) *Will {
	w := &Will{QoS: flags >> 3 & 3, Retain: flags&flagWillRetain != 0}
	if v == V5 {
		w.Properties, _ = r.properties(inWill, false)
	}
	w.Topic = r.text("topic of the will")
	if r.err == nil {
		if e := checkTopic(w.Topic); e != nil {
			r.fail(e.Code, "will: %s", e.Reason)
		}
	}
	w.Payload = r.binary("payload of the will")
	return w
}

// AppendConnect appends a CONNECT. It returns an *Error if a field is too long.
func AppendConnect(dst []byte, c *ConnectPacket) ([]byte, error) {
	var flags byte
	length := len(protocolName) + 2 + 1 + 1 + 2 + 2 + len(c.ClientID)
	longest := len(c.ClientID)
	if c.CleanStart {
		flags |= flagCleanStart
	}
	if w := c.Will; w != nil {
		flags |= flagWill | w.QoS<<3&0x18
		if w.Retain {
			flags |= flagWillRetain
		}
		length += 4 + len(w.Topic) + len(w.Payload)
		longest = max(longest, len(w.Topic), len(w.Payload))
		if c.Version == V5 {
			length += propertiesSize(w.Properties)
		}
	}
	if c.User != nil {
		flags |= flagUser
		length += 2 + len(c.User)
	}
	if c.Password != nil {
		flags |= flagPassword
		length += 2 + len(c.Password)
	}
	if c.Version == V5 {
		length += propertiesSize(c.Properties)
	}
	if max(longest, len(c.User), len(c.Password)) > MaxText || length > maxVarint {
		return dst, &Error{Code: PacketTooLarge, Kind: Connect, Reason: "a field has more than 65535 bytes"}
	}
	dst = appendPrefixed(appendHeader(dst, Connect, length), protocolName)
	dst = binary.BigEndian.AppendUint16(append(dst, byte(c.Version), flags), c.KeepAlive)
	if c.Version == V5 {
		dst = appendProperties(dst, c.Properties)
	}
	dst = appendPrefixed(dst, c.ClientID)
	if w := c.Will; w != nil {
		if c.Version == V5 {
			dst = appendProperties(dst, w.Properties)
		}
		dst = appendPrefixed(appendPrefixed(dst, w.Topic), w.Payload)
	}
	if c.User != nil {
		dst = appendPrefixed(dst, c.User)
	}
	if c.Password != nil {
		dst = appendPrefixed(dst, c.Password)
	}
	return dst, nil
}
