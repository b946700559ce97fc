// Package mqtt reads and writes the packets of MQTT 3.1.1 and MQTT 5.0, for servers and for clients.
//
// The package has no socket, no goroutine and no clock. Next cuts received bytes into packets. The Parse functions check a
// packet and return views of its bytes, without copying them. The Append functions write packets. Properties stay encoded: a
// Parse function has checked them, and Uint, Text and All read them in place.
//
//	p, need, err := mqtt.Next(buf, mqtt.Limits{Version: mqtt.V5, MaxPacket: 1 << 20})
//	if err == nil && need == 0 && p.Kind == mqtt.Publish {
//		m, err := mqtt.ParsePublish(p) // m.Topic and m.Payload are parts of buf
//	}
//
// A violation of the standard is an *Error. It has the reason code that the receiver sends, and says whether the connection
// must end. The state of a session is not part of this package: packet identifiers in use, receive maximum, aliases of topics,
// keep alive.
//
// The sections in comments are those of MQTT 5.0, OASIS standard of 7 March 2019, unless they name 3.1.1.
package mqtt

// Files: MQTT 3.1.1 and 5.0, both sides: packet.go cuts bytes into packets, a file for each packet reads and writes it in
// place (publish.go, connect.go ...), property.go and property_check.go are the properties of 5.0, reason.go the reason
// codes, error.go what is sent after a violation, topic.go topics, filters and shared subscriptions.
