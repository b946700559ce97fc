package mqtt

import "fmt"

// Version is the protocol level in CONNECT.
type Version uint8

// The versions that this package speaks.
const (
	V311 Version = 4 // MQTT 3.1.1
	V5   Version = 5 // MQTT 5.0
)

// String returns the version as "3.1.1" or "5.0".
func (v Version) String() string {
	switch v {
	case V311:
		return "3.1.1"
	case V5:
		return "5.0"
	}
	return fmt.Sprintf("level %d", uint8(v))
}

// Kind is the type of a control packet. Section 2.1.2.
type Kind uint8

// The kinds.
const (
	Connect     Kind = 1  // client: the first packet of a connection
	Connack     Kind = 2  // server: response to CONNECT
	Publish     Kind = 3  // either: one message
	Puback      Kind = 4  // either: response to a PUBLISH with QoS 1
	Pubrec      Kind = 5  // either: response to a PUBLISH with QoS 2
	Pubrel      Kind = 6  // either: response to PUBREC
	Pubcomp     Kind = 7  // either: response to PUBREL
	Subscribe   Kind = 8  // client: request to subscribe
	Suback      Kind = 9  // server: response to SUBSCRIBE
	Unsubscribe Kind = 10 // client: end of subscriptions
	Unsuback    Kind = 11 // server: response to UNSUBSCRIBE
	Pingreq     Kind = 12 // client
	Pingresp    Kind = 13 // server: response to PINGREQ
	Disconnect  Kind = 14 // client, in 5.0 either: the connection ends
	Auth        Kind = 15 // either, 5.0 only: a step of an extended authentication
)

var kindNames = [...]string{
	Connect: "CONNECT", Connack: "CONNACK", Publish: "PUBLISH", Puback: "PUBACK", Pubrec: "PUBREC", Pubrel: "PUBREL",
	Pubcomp: "PUBCOMP", Subscribe: "SUBSCRIBE", Suback: "SUBACK", Unsubscribe: "UNSUBSCRIBE", Unsuback: "UNSUBACK",
	Pingreq: "PINGREQ", Pingresp: "PINGRESP", Disconnect: "DISCONNECT", Auth: "AUTH",
}

// String returns the name of the kind in the standard.
func (k Kind) String() string {
	if int(k) < len(kindNames) && kindNames[k] != "" {
		return kindNames[k]
	}
	return fmt.Sprintf("packet type %d", uint8(k))
}

// flags returns the low four bits of the first byte of every packet of the kind, but PUBLISH. Section 2.1.3.
func (k Kind) flags() byte {
	if k == Pubrel || k == Subscribe || k == Unsubscribe {
		return 2
	}
	return 0
}

// Who sends packets of a kind.
const (
	byClient = 1 << iota
	byServer
)

var senders = [...]uint8{
	Connect: byClient, Connack: byServer, Publish: byClient | byServer, Puback: byClient | byServer, Pubrec: byClient | byServer,
	Pubrel: byClient | byServer, Pubcomp: byClient | byServer, Subscribe: byClient, Suback: byServer, Unsubscribe: byClient,
	Unsuback: byServer, Pingreq: byClient, Pingresp: byServer, Disconnect: byClient | byServer, Auth: byClient | byServer,
}
