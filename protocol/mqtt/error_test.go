package mqtt

import (
	"encoding/hex"
	"strings"
	"testing"
)

// TestViolations has bytes that the standard forbids, with the reason code of the response and a part of the reason.
func TestViolations(t *testing.T) {
	server311, server5, client5 := Limits{Version: V311}, Limits{Version: V5}, Limits{Version: V5, FromServer: true}
	for _, row := range []struct {
		name   string
		limits Limits
		packet string
		code   ReasonCode
		reason string
	}{
		{"reserved type", server5, "0000", MalformedPacket, "reserved"},
		{"AUTH in 3.1.1", server311, "f000", MalformedPacket, "reserved"},
		{"first packet is not CONNECT", Limits{}, "c000", ProtocolError, "speak MQTT"},
		{"HTTP", Limits{}, hex.EncodeToString([]byte("GET / HTTP/1.1")), ProtocolError, "speak MQTT"},
		{"second CONNECT", server5, "1000", ProtocolError, "one CONNECT"},
		{"SUBACK of a client", server5, "9000", ProtocolError, "clients do not send it"},
		{"SUBSCRIBE of a server", client5, "8200", ProtocolError, "servers do not send it"},
		{"DISCONNECT of a server of 3.1.1", Limits{Version: V311, FromServer: true}, "e000", ProtocolError, "servers do not send it"},
		{"flags of SUBSCRIBE", server5, "8000", MalformedPacket, "flags 0000"},
		{"flags of PINGREQ", server5, "c100", MalformedPacket, "flags 0001"},
		{"PUBLISH with QoS 3", server5, "3600", MalformedPacket, "QoS is at most 2"},
		{"DUP with QoS 0", server5, "3800", MalformedPacket, "DUP"},
		{"five bytes of length", server5, "30ffffffff01", MalformedPacket, "more than four bytes"},
		{"length with a byte too many", server5, "308000", MalformedPacket, "as few as possible"},
		{"above the limit", Limits{Version: V5, MaxPacket: 100}, "3063", PacketTooLarge, "101 bytes: at most 100"},
		{"PINGREQ with a body", server5, "c00100", MalformedPacket, "none are expected"},

		{"MQTT 3.1", Limits{}, "101000064d514973647003020000000263 31", UnsupportedProtocolVersion, "3.1"},
		{"protocol name", Limits{}, "100c00044d515455 050200000000", UnsupportedProtocolVersion, "speak MQTT"},
		{"protocol level", Limits{}, "100d00044d51545406020000000000", UnsupportedProtocolVersion, "level 6"},
		{"CONNECT ends early", Limits{}, "100600044d515454", MalformedPacket, "before the protocol level"},
		{"CONNECT goes on", Limits{}, "100d00044d51545404020000000000", MalformedPacket, "1 bytes follow"},
		{"reserved flag of CONNECT", Limits{}, "100c00044d515454040300000000", MalformedPacket, "reserved flag"},
		{"QoS of the will is 3", Limits{}, "100c00044d515454041e00000000", MalformedPacket, "will is 3"},
		{"retain without a will", Limits{}, "100c00044d515454042200000000", MalformedPacket, "there is none"},
		{"password without a user in 3.1.1", Limits{}, "100c00044d515454044200000000", MalformedPacket, "without a user name"},
		{"wildcard in the topic of the will", Limits{}, "101100044d5154540406000000000001230000", TopicNameInvalid, "wildcard"},
		{"no identifier and no clean session", Limits{}, "100c00044d515454040000000000", ClientIdentifierNotValid, "clean session"},
		{"identifier is not UTF-8", Limits{}, "100d00044d5154540402000000 01ff", MalformedPacket, "not UTF-8"},
		{"identifier with NUL", Limits{}, "100d00044d5154540402000000 0100", MalformedPacket, "U+0000"},
		{"receive maximum 0", Limits{}, "101000044d5154540502000003210000 0000", ProtocolError, "receive maximum is 0"},
		{"data without a method", Limits{}, "101000044d5154540502000003160000 0000", ProtocolError, "authentication data without"},

		{"flags of CONNACK", client5, "2003020000", MalformedPacket, "upper seven"},
		{"session after a failure", client5, "2003018000", ProtocolError, "after a failure"},
		{"return code", Limits{Version: V311, FromServer: true}, "20020006", MalformedPacket, "return code 6"},
		{"reason code of another packet", client5, "2003009300", ProtocolError, "reason code 0x93"},

		{"PUBLISH without a topic in 3.1.1", server311, "30020000", TopicNameInvalid, "empty"},
		{"PUBLISH with neither topic nor alias", server5, "3003000000", ProtocolError, "neither a topic"},
		{"wildcard in a topic", server5, "30070004612f2b6200", TopicNameInvalid, "wildcard"},
		{"NUL in a topic", server5, "30050002610000", MalformedPacket, "U+0000"},
		{"topic is not UTF-8", server5, "3005000261ff00", MalformedPacket, "not UTF-8"},
		{"surrogate in a topic", server5, "30060003eda08000", MalformedPacket, "not UTF-8"},
		{"topic ends early", server5, "3003000261", MalformedPacket, "within the topic"},
		{"no packet identifier", server5, "3204000161 00", MalformedPacket, "before the packet identifier"},
		{"packet identifier 0", server5, "3206000161000000", ProtocolError, "identifier is 0"},
		{"alias 0", server5, "300700016103230000", TopicAliasInvalid, "topic alias is 0"},
		{"alias twice", server5, "300a000161 06230001230001", ProtocolError, "topic alias is there twice"},
		{"subscription identifier of a client", server5, "3006000161020b01", ProtocolError, "clients send no"},
		{"subscription identifier 0", client5, "3006000161020b00", ProtocolError, "is 0"},
		{"unknown property", server5, "3006000161020400", MalformedPacket, "property 4 is unknown"},
		{"property of another packet", server5, "3007000161032100 01", MalformedPacket, "no receive maximum"},
		{"property ends early", server5, "3006000161022300", MalformedPacket, "within the topic alias"},
		{"properties end early", server5, "3006000161052300", MalformedPacket, "within its properties"},
		{"length of properties with a byte too many", server5, "30050001618000", MalformedPacket, "as few as possible"},
		{"format is neither 0 nor 1", server5, "3006000161020102", ProtocolError, "want 0 or 1"},
		{"wildcard in the response topic", server5, "3008000161 0408000123", ProtocolError, "response topic"},
		{"user property is not UTF-8", server5, "300a000161 06260001ff0000", MalformedPacket, "user property"},
		{"subscription identifier of five bytes", client5, "300a000161060bffffffff01", MalformedPacket, "more than four bytes"},

		{"PUBACK of 3.1.1 with a code", server311, "4003000100", MalformedPacket, "1 bytes follow"},
		{"PUBACK with packet identifier 0", server5, "40020000", ProtocolError, "identifier is 0"},
		{"PUBACK with a code of PUBREL", server5, "4003000192", ProtocolError, "0x92"},

		{"SUBSCRIBE without a filter", server5, "8203000100", ProtocolError, "no filter"},
		{"SUBSCRIBE without options", server5, "820600010000 0161", MalformedPacket, "before the options"},
		{"QoS 3", server5, "8207000100000161 03", ProtocolError, "at most 2"},
		{"retain handling 3", server5, "820700010000016130", ProtocolError, "at most 2"},
		{"reserved options", server5, "820700010000016140", MalformedPacket, "reserved"},
		{"options of 5.0 in 3.1.1", server311, "82060001000161 04", MalformedPacket, "at most 2"},
		{"no local on a shared subscription", server5, "8211000100000b" + hex.EncodeToString([]byte("$share/g/ab")) + "04", ProtocolError, "shared subscription"},
		{"two subscription identifiers", server5, "820b0001040b010b0200016100", ProtocolError, "twice"},
		{"UNSUBSCRIBE without a filter", server311, "a2020001", ProtocolError, "no filter"},
		{"SUBACK without a code", client5, "9003000100", MalformedPacket, "no reason code"},
		{"SUBACK with a code of UNSUBACK", client5, "900400010011", ProtocolError, "0x11"},
		{"SUBACK of 3.1.1 with a code of 5.0", Limits{Version: V311, FromServer: true}, "9003000187", ProtocolError, "0x87"},

		{"DISCONNECT of 3.1.1 with a code", server311, "e00100", MalformedPacket, "1 bytes follow"},
		{"DISCONNECT with a code of CONNACK", server5, "e00184", ProtocolError, "0x84"},
		{"DISCONNECT of a server with the client's code", client5, "e00104", ProtocolError, "0x04"},
		{"session expiry interval of a server", client5, "e007000511000000 01", ProtocolError, "servers send no"},
		{"AUTH without a method", server5, "f00118", ProtocolError, "no authentication method"},
	} {
		t.Run(row.name, func(t *testing.T) {
			data, err := hex.DecodeString(strings.ReplaceAll(row.packet, " ", ""))
			if err != nil {
				t.Fatal(err)
			}
			p, need, err := Next(data, row.limits)
			if err == nil && need != 0 {
				t.Fatalf("%d bytes: need %d", len(data), need)
			}
			if err == nil {
				_, err = parse(p)
			}
			e := asError(t, err)
			if e.Code != row.code || !strings.Contains(e.Error(), row.reason) || !e.Close {
				t.Errorf("got code 0x%02x, close %v: %v; want 0x%02x: %s", uint8(e.Code), e.Close, e, uint8(row.code), row.reason)
			}
		})
	}
}

func TestAppendResponse(t *testing.T) {
	malformed, version := violation(Publish, MalformedPacket, "m"), violation(Connect, UnsupportedProtocolVersion, "v")
	for _, row := range []struct {
		name      string
		err       *Error
		version   Version
		connected bool
		want      string // what the client reads; "" means nothing
	}{
		{"not MQTT", version, 0, false, ""},
		{"5.0, before CONNACK", malformed, V5, false, `CONNACK malformed packet, session present false, reason string "m"`},
		{"5.0, after CONNACK", malformed, V5, true, `DISCONNECT malformed packet, reason string "m"`},
		{"5.0, a code that DISCONNECT has not", version, V5, true, `DISCONNECT protocol error, reason string "v"`},
		{"5.0, a code that CONNACK has not", violation(Connect, TopicAliasInvalid, "a"), V5, false, `CONNACK protocol error, session present false, reason string "a"`},
		{"5.0, without a reason", &Error{Code: PacketTooLarge}, V5, false, "CONNACK packet too large, session present false"},
		{"5.0, after CONNACK without a reason", &Error{Code: PacketTooLarge}, V5, true, "DISCONNECT packet too large"},
		{"3.1.1, before CONNACK", malformed, V311, false, ""},
		{"3.1.1, a code that it has", version, V311, false, "CONNACK unsupported protocol version, session present false"},
		{"3.1.1, after CONNACK", malformed, V311, true, ""},
	} {
		got := row.err.AppendResponse(nil, row.version, row.connected)
		text := ""
		if len(got) > 0 {
			_, packet := whole(t, got, Limits{Version: row.version, FromServer: true})
			text = describe(packet)
		}
		if text != row.want {
			t.Errorf("%s: got %q, want %q", row.name, text, row.want)
		}
	}
}

// TestVersionOfResponse: after an error, ParseConnect says in which version the client reads the response.
func TestVersionOfResponse(t *testing.T) {
	for packet, want := range map[string]Version{
		"101000064d51497364700302000000026331": V311, // MQTT 3.1
		"100d00044d51545406020000000000":       V5,   // level 6
		"100c00044d515454010200000000":         V311, // level 1
		"100c00044d515455050200000000":         0,    // another protocol
	} {
		data, err := hex.DecodeString(packet)
		if err != nil {
			t.Fatal(err)
		}
		p, _, err := Next(data, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if c, err := ParseConnect(p); err == nil || c.Version != want {
			t.Errorf("%s: got version %v, %v, want %v", packet, c.Version, err, want)
		}
	}
}

func TestCheckProperties(t *testing.T) {
	good := AppendUser(AppendText(nil, ContentType, "text/plain"), "a", "b")
	if err := CheckProperties(Publish, good); err != nil {
		t.Error(err)
	}
	for _, bad := range []Properties{good[:len(good)-1], AppendUint(nil, ReceiveMaximum, 1), AppendUint(nil, SubscriptionIdentifier, 1)} {
		if err := CheckProperties(Publish, bad); err == nil {
			t.Errorf("%x is accepted", bad)
		} else if e := asError(t, err); e.Kind != Publish {
			t.Errorf("%x: %v", bad, e)
		}
	}
}

// TestBridgeLevel: a bridge of mosquitto, which sets a bit of the protocol level, is refused in its own version.
func TestBridgeLevel(t *testing.T) {
	for level, want := range map[string]Version{"83": V311, "84": V311, "85": V5, "06": V5, "02": V311} {
		p, err := hex.DecodeString("100d00044d515454" + level + "020000000000")
		if err != nil {
			t.Fatal(err)
		}
		packet, _, err := Next(p, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if c, err := ParseConnect(packet); err == nil || c.Version != want {
			t.Errorf("level %s: version %v, %v, want %v", level, c.Version, err, want)
		}
	}
}
