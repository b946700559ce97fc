package mqtt

import "fmt"

// ReasonCode is the result of a request, or the reason why a connection ends. Section 2.4. Codes from 0x80 on are failures.
type ReasonCode uint8

// The reason codes. Success has other names in SUBACK (GrantedQoS0) and in DISCONNECT (NormalDisconnection).
const (
	Success                             ReasonCode = 0x00
	NormalDisconnection                 ReasonCode = 0x00
	GrantedQoS0                         ReasonCode = 0x00
	GrantedQoS1                         ReasonCode = 0x01
	GrantedQoS2                         ReasonCode = 0x02
	DisconnectWithWill                  ReasonCode = 0x04
	NoMatchingSubscribers               ReasonCode = 0x10
	NoSubscriptionExisted               ReasonCode = 0x11
	ContinueAuthentication              ReasonCode = 0x18
	Reauthenticate                      ReasonCode = 0x19
	UnspecifiedError                    ReasonCode = 0x80
	MalformedPacket                     ReasonCode = 0x81
	ProtocolError                       ReasonCode = 0x82
	ImplementationSpecificError         ReasonCode = 0x83
	UnsupportedProtocolVersion          ReasonCode = 0x84
	ClientIdentifierNotValid            ReasonCode = 0x85
	BadUserNameOrPassword               ReasonCode = 0x86
	NotAuthorized                       ReasonCode = 0x87
	ServerUnavailable                   ReasonCode = 0x88
	ServerBusy                          ReasonCode = 0x89
	Banned                              ReasonCode = 0x8A
	ServerShuttingDown                  ReasonCode = 0x8B
	BadAuthenticationMethod             ReasonCode = 0x8C
	KeepAliveTimeout                    ReasonCode = 0x8D
	SessionTakenOver                    ReasonCode = 0x8E
	TopicFilterInvalid                  ReasonCode = 0x8F
	TopicNameInvalid                    ReasonCode = 0x90
	PacketIdentifierInUse               ReasonCode = 0x91
	PacketIdentifierNotFound            ReasonCode = 0x92
	ReceiveMaximumExceeded              ReasonCode = 0x93
	TopicAliasInvalid                   ReasonCode = 0x94
	PacketTooLarge                      ReasonCode = 0x95
	MessageRateTooHigh                  ReasonCode = 0x96
	QuotaExceeded                       ReasonCode = 0x97
	AdministrativeAction                ReasonCode = 0x98
	PayloadFormatInvalid                ReasonCode = 0x99
	RetainNotSupported                  ReasonCode = 0x9A
	QoSNotSupported                     ReasonCode = 0x9B
	UseAnotherServer                    ReasonCode = 0x9C
	ServerMoved                         ReasonCode = 0x9D
	SharedSubscriptionsNotSupported     ReasonCode = 0x9E
	ConnectionRateExceeded              ReasonCode = 0x9F
	MaximumConnectTime                  ReasonCode = 0xA0
	SubscriptionIdentifiersNotSupported ReasonCode = 0xA1
	WildcardSubscriptionsNotSupported   ReasonCode = 0xA2
)

// Sets of kinds, one bit for each.
const (
	inConnack    = 1 << Connack
	inPublished  = 1<<Puback | 1<<Pubrec
	inReleased   = 1<<Pubrel | 1<<Pubcomp
	inSuback     = 1 << Suback
	inUnsuback   = 1 << Unsuback
	inDisconnect = 1 << Disconnect
	inAuth       = 1 << Auth
)

// reasons has the name of each code, and the kinds of packets that may carry it. Section 2.4, table 2-6.
var reasons = [...]struct {
	name string
	in   uint16
}{
	Success:                             {"success", inConnack | inPublished | inReleased | inSuback | inUnsuback | inDisconnect | inAuth},
	GrantedQoS1:                         {"granted QoS 1", inSuback},
	GrantedQoS2:                         {"granted QoS 2", inSuback},
	DisconnectWithWill:                  {"disconnect with will message", inDisconnect},
	NoMatchingSubscribers:               {"no matching subscribers", inPublished},
	NoSubscriptionExisted:               {"no subscription existed", inUnsuback},
	ContinueAuthentication:              {"continue authentication", inAuth},
	Reauthenticate:                      {"re-authenticate", inAuth},
	UnspecifiedError:                    {"unspecified error", inConnack | inPublished | inSuback | inUnsuback | inDisconnect},
	MalformedPacket:                     {"malformed packet", inConnack | inDisconnect},
	ProtocolError:                       {"protocol error", inConnack | inDisconnect},
	ImplementationSpecificError:         {"implementation specific error", inConnack | inPublished | inSuback | inUnsuback | inDisconnect},
	UnsupportedProtocolVersion:          {"unsupported protocol version", inConnack},
	ClientIdentifierNotValid:            {"client identifier not valid", inConnack},
	BadUserNameOrPassword:               {"bad user name or password", inConnack},
	NotAuthorized:                       {"not authorized", inConnack | inPublished | inSuback | inUnsuback | inDisconnect},
	ServerUnavailable:                   {"server unavailable", inConnack},
	ServerBusy:                          {"server busy", inConnack | inDisconnect},
	Banned:                              {"banned", inConnack},
	ServerShuttingDown:                  {"server shutting down", inDisconnect},
	BadAuthenticationMethod:             {"bad authentication method", inConnack | inDisconnect},
	KeepAliveTimeout:                    {"keep alive timeout", inDisconnect},
	SessionTakenOver:                    {"session taken over", inDisconnect},
	TopicFilterInvalid:                  {"topic filter invalid", inSuback | inUnsuback | inDisconnect},
	TopicNameInvalid:                    {"topic name invalid", inConnack | inPublished | inDisconnect},
	PacketIdentifierInUse:               {"packet identifier in use", inPublished | inSuback | inUnsuback},
	PacketIdentifierNotFound:            {"packet identifier not found", inReleased},
	ReceiveMaximumExceeded:              {"receive maximum exceeded", inDisconnect},
	TopicAliasInvalid:                   {"topic alias invalid", inDisconnect},
	PacketTooLarge:                      {"packet too large", inConnack | inDisconnect},
	MessageRateTooHigh:                  {"message rate too high", inDisconnect},
	QuotaExceeded:                       {"quota exceeded", inConnack | inPublished | inSuback | inDisconnect},
	AdministrativeAction:                {"administrative action", inDisconnect},
	PayloadFormatInvalid:                {"payload format invalid", inConnack | inPublished | inDisconnect},
	RetainNotSupported:                  {"retain not supported", inConnack | inDisconnect},
	QoSNotSupported:                     {"QoS not supported", inConnack | inDisconnect},
	UseAnotherServer:                    {"use another server", inConnack | inDisconnect},
	ServerMoved:                         {"server moved", inConnack | inDisconnect},
	SharedSubscriptionsNotSupported:     {"shared subscriptions not supported", inSuback | inDisconnect},
	ConnectionRateExceeded:              {"connection rate exceeded", inConnack | inDisconnect},
	MaximumConnectTime:                  {"maximum connect time", inDisconnect},
	SubscriptionIdentifiersNotSupported: {"subscription identifiers not supported", inSuback | inDisconnect},
	WildcardSubscriptionsNotSupported:   {"wildcard subscriptions not supported", inSuback | inDisconnect},
}

// String returns the name of the code in the standard.
func (c ReasonCode) String() string {
	if int(c) < len(reasons) && reasons[c].name != "" {
		return reasons[c].name
	}
	return fmt.Sprintf("reason code 0x%02x", uint8(c))
}

// Failed reports whether the code is a failure.
func (c ReasonCode) Failed() bool { return c >= 0x80 }

// allowedIn reports whether a packet of kind k may carry the code.
func (c ReasonCode) allowedIn(k Kind) bool {
	return int(c) < len(reasons) && reasons[c].in>>k&1 != 0
}

// Return returns the return code of a CONNACK of 3.1.1 that is closest to c. MQTT 3.1.1, section 3.2.2.3.
func (c ReasonCode) Return() byte {
	switch c {
	case Success:
		return 0
	case UnsupportedProtocolVersion:
		return 1
	case ClientIdentifierNotValid:
		return 2
	case BadUserNameOrPassword:
		return 4
	case NotAuthorized, Banned, BadAuthenticationMethod:
		return 5
	}
	return 3 // server unavailable
}

// returnCodes has the reason code of each return code of 3.1.1.
var returnCodes = [...]ReasonCode{
	Success, UnsupportedProtocolVersion, ClientIdentifierNotValid, ServerUnavailable, BadUserNameOrPassword, NotAuthorized,
}
