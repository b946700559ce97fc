package mqtt_test

import (
	"errors"
	"fmt"

	"example.com/ferry/protocol/mqtt"
)

// A server reads what a client sends.
func Example() {
	buf, err := mqtt.AppendConnect(nil, &mqtt.ConnectPacket{Version: mqtt.V5, CleanStart: true, KeepAlive: 60, ClientID: []byte("pump-17")})
	if err != nil {
		fmt.Println(err)
		return
	}
	properties := mqtt.AppendUser(nil, "unit", "celsius")
	buf, err = mqtt.AppendPublish(buf, mqtt.V5, &mqtt.PublishPacket{
		QoS: 1, ID: 1, Topic: []byte("plant/temperature"), Properties: properties, Payload: []byte("21.5"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	limits := mqtt.Limits{MaxPacket: 1 << 20}
	for len(buf) > 0 {
		p, need, err := mqtt.Next(buf, limits)
		if err != nil || need > 0 {
			fmt.Println("incomplete or malformed:", need, err)
			return
		}
		switch p.Kind {
		case mqtt.Connect:
			c, err := mqtt.ParseConnect(p)
			limits.Version = c.Version
			fmt.Printf("%v %v of %s: %v\n", p.Kind, c.Version, c.ClientID, err)
		case mqtt.Publish:
			m, err := mqtt.ParsePublish(p)
			fmt.Printf("%v on %s: %s, %v\n", p.Kind, m.Topic, m.Payload, err)
			for property := range m.Properties.All() {
				fmt.Printf("%v: %s=%s\n", property.ID, property.Name, property.Text)
			}
			fmt.Printf("response: %x\n", mqtt.AppendAck(nil, limits.Version, mqtt.AckPacket{Kind: mqtt.Puback, ID: m.ID}))
		}
		buf = buf[p.Size:]
	}
	// Output:
	// CONNECT 5.0 of pump-17: <nil>
	// PUBLISH on plant/temperature: 21.5, <nil>
	// user property: unit=celsius
	// response: 40020001
}

// An error has the reason code of the response.
func ExampleError_AppendResponse() {
	_, _, err := mqtt.Next([]byte{0x36}, mqtt.Limits{Version: mqtt.V5})
	fmt.Println(err)
	var e *mqtt.Error
	if errors.As(err, &e) {
		response := e.AppendResponse(nil, mqtt.V5, true)
		fmt.Printf("%x\n", response[:3])
	}
	// Output:
	// mqtt: PUBLISH: malformed packet: flags 0110: QoS is at most 2, and a DUP has QoS 1 or 2
	// e03b81
}

func ExampleParseFilter() {
	fmt.Println(mqtt.ParseFilter("plant/+/temperature"))
	fmt.Println(mqtt.ParseFilter("$share/workers/plant/#"))
	fmt.Println(mqtt.ParseFilter("plant/#/temperature"))
	// Output:
	// { plant/+/temperature} <nil>
	// {workers plant/#} <nil>
	// { plant/#/temperature} mqtt: topic filter invalid: # must be the last level
}
