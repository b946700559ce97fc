package bolt

import (
	"fmt"
	"strings"
	"testing"

	wire "example.com/ferry/protocol/bolt"
	"example.com/ferry/proxy/proxytest"
	"example.com/ferry/proxy/route"
)

// A payload of 65,533 to 65,535 bytes is shorter than route.MaxPayload, but its frame is longer because of the CRC.
// The route must be found before the CRC has arrived. The next request, of another client, must be routed by its own
// payload.
func TestRouteBeforeTheCRCArrives(t *testing.T) {
	t.Parallel()
	named := func(name string) *server {
		return newServer(t, func(p *peer, f wire.Frame) { p.send(reply(f, []byte(name))) })
	}
	alarms, others := named("alarms"), named("others")
	byPayload := route.Rule{Name: "alarms", Cluster: "alarms"}
	byPayload.Match.Payload = &route.Payload{Format: "json", Where: `kind == "alarm"`}
	p := start(t, nil, nil, []route.Rule{byPayload, {Name: "all", Cluster: "others"}},
		cluster("alarms", alarms), cluster("others", others))
	for _, size := range []int{route.MaxPayload - 4, route.MaxPayload - 3, route.MaxPayload - 2, route.MaxPayload - 1, route.MaxPayload} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			content := []byte(`{"more":"` + strings.Repeat("x", size-9)) // the payload must be read to its end to see that it has no field kind
			frame, err := wire.Append(nil, call(wire.V2CRC, 1, "a", content))
			if err != nil {
				t.Fatal(err)
			}
			first, second := p.dial(), p.dial()
			before := p.bytesIn()
			if err := first.write(frame[:len(frame)-1]); err != nil {
				t.Fatal(err)
			}
			proxytest.Eventually(t, "the proxy has read all but one byte", func() bool { return p.bytesIn()-before == int64(len(frame)-1) })
			second.send(call(wire.V2CRC, 2, "a", []byte(`{"kind":"alarm"}`)))
			second.echoed(second.status(2, wire.StatusSuccess), []byte("alarms"))
			if err := first.write(frame[len(frame)-1:]); err != nil {
				t.Fatal(err)
			}
			first.echoed(first.status(1, wire.StatusSuccess), []byte("others"))
		})
	}
}

// bytesIn returns the number of bytes that the loops have read.
func (p *proxy) bytesIn() int64 {
	sum, _ := p.group.Stats()
	return sum.BytesIn
}
