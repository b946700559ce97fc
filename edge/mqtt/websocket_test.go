package mqtt_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/ferry/broker"
	"example.com/ferry/edge"
	"example.com/ferry/edge/mqtt"
	"example.com/ferry/internal/certs/certstest"
	wire "example.com/ferry/protocol/mqtt"
)

// newTLSRig returns a rig whose clients connect by WebSocket over TLS, with a certificate.
func newTLSRig(t *testing.T) *rig {
	ids, err := broker.NewIdentities([]broker.Credential{{Identity: broker.Identity{Name: "machine", Publish: []string{"#"}, Subscribe: []string{"#"}}, CommonName: "machine"}})
	if err != nil {
		t.Fatal(err)
	}
	ca := certstest.NewCA(t, "ca")
	server := ca.Issue(t, certstest.Leaf{CommonName: "server", Names: []string{"127.0.0.1"}})
	r := newRig(t, setup{
		broker: broker.Config{Identify: ids.Identify}, streams: map[string]broker.Stored{"s": stored(t, "s/#")},
		listener: mqtt.ListenerConfig{WebSocket: true, Config: edge.Config{TLS: &tls.Config{
			MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{server.TLS(t)}, ClientAuth: tls.VerifyClientCertIfGiven, ClientCAs: ca.Pool(),
		}}},
	})
	client := ca.Issue(t, certstest.Leaf{CommonName: "machine"})
	r.over = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: ca.Pool(), Certificates: []tls.Certificate{client.TLS(t)}}
	return r
}

// TestWebSocketSession: a session is the same over WebSocket and over TCP, and packets longer than a read pass both ways.
func TestWebSocketSession(t *testing.T) {
	r := newRig(t, setup{listener: mqtt.ListenerConfig{WebSocket: true}, broker: broker.Config{MaxFrame: 1 << 20, Window: 4 << 20, Queue: 4 << 20}, server: mqtt.Config{Queue: 4 << 20}})
	plain, err := r.server.Listen(mqtt.ListenerConfig{Config: edge.Config{Address: "127.0.0.1:0"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = plain.Drain(t.Context()) })
	tcp := *r
	tcp.listener, tcp.socket = plain, false
	for _, v := range versions {
		id := fmt.Sprint("device of ", v)
		device := r.connect(v, id, lasting)
		device.sub("a", 1)
		device.disconnect()
		if device = tcp.connect(v, id, lasting); !device.connack.SessionPresent {
			t.Errorf("%v: over TCP, the session is gone", v)
		}
		other := r.connect(v, "other")
		long := strings.Repeat("x", 300_000)
		other.publish("a", long)
		device.want("a", long, 1)
		device.sendAck(wire.Puback, 1)
		device = r.connect(v, id, lasting)
		other.publish("a", long)
		device.message()
		other.quiet()
	}
}

// masked returns a frame of a client with less than 126 bytes.
func masked(first byte, payload []byte) []byte {
	mask := [4]byte{1, 2, 3, 4}
	frame := append([]byte{first, 0x80 | byte(len(payload))}, mask[:]...)
	for i, c := range payload {
		frame = append(frame, c^mask[i%4])
	}
	return frame
}

const upgrade = "GET /any HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"

// rawSocket is a WebSocket of which a test writes and reads each frame.
type rawSocket struct {
	t *testing.T
	net.Conn
	in *bufio.Reader
}

// raw opens a WebSocket. behind is sent together with the request.
func (r *rig) raw(t *testing.T, behind []byte) *rawSocket {
	t.Helper()
	plain := *r
	plain.socket, plain.conns = false, nil
	k := &rawSocket{t: t, Conn: plain.open(t)}
	k.in = bufio.NewReader(k.Conn)
	k.send(append([]byte(upgrade+"Sec-WebSocket-Protocol: x\r\nSec-WebSocket-Protocol: mqtt\r\n\r\n"), behind...))
	res, err := http.ReadResponse(k.in, nil)
	if err != nil || res.StatusCode != 101 || res.Header.Get("Sec-WebSocket-Accept") != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" || res.Header.Get("Sec-WebSocket-Protocol") != "mqtt" {
		t.Fatalf("%+v, %v", res, err)
	}
	return k
}

func (k *rawSocket) send(p []byte) {
	k.t.Helper()
	if _, err := k.Write(p); err != nil {
		k.t.Fatal(err)
	}
}

// frame reads a frame. After the end of the connection it returns 0.
func (k *rawSocket) frame() (first byte, payload []byte) {
	k.t.Helper()
	var head [2]byte
	if _, err := io.ReadFull(k.in, head[:]); err != nil {
		return 0, nil
	}
	size := int(head[1])
	if size == 126 {
		var long [2]byte
		if _, err := io.ReadFull(k.in, long[:]); err != nil {
			return 0, nil
		}
		size = int(binary.BigEndian.Uint16(long[:]))
	}
	payload = make([]byte, size)
	if _, err := io.ReadFull(k.in, payload); err != nil || head[1] > 126 {
		k.t.Fatalf("a frame of %d bytes, %v", head[1], err)
	}
	return head[0], payload
}

func (k *rawSocket) want(first byte, payload string) {
	k.t.Helper()
	if f, p := k.frame(); f != first || !strings.HasPrefix(string(p), payload) {
		k.t.Fatalf("got frame %x with %q, want %x with %q", f, p, first, payload)
	}
}

func connectPacket(t *testing.T, id string) []byte {
	t.Helper()
	b, err := wire.AppendConnect(nil, &wire.ConnectPacket{Version: wire.V311, CleanStart: true, ClientID: []byte(id), Will: &wire.Will{Topic: []byte("will"), Payload: []byte(id)}})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestWebSocketWill: the will of a client is published after Close, and after what the client must not send, but not after DISCONNECT.
func TestWebSocketWill(t *testing.T) {
	r := newRig(t, setup{listener: mqtt.ListenerConfig{WebSocket: true}})
	watch := r.connect(wire.V5, "watch")
	watch.sub("will", 0)
	for name, frame := range map[string][]byte{"fault": masked(0x81, []byte("x")), "close": masked(0x88, nil)} {
		k := r.raw(t, masked(0x82, connectPacket(t, name)))
		k.want(0x82, "\x20\x02\x00\x00")
		k.send(frame)
		k.want(0x88, "")
		watch.want("will", name, 0)
	}
	left := r.raw(t, nil)
	left.send(masked(0x82, append(connectPacket(t, "left"), wire.AppendDisconnect(nil, wire.V311, wire.DisconnectPacket{})...)))
	left.want(0x82, "\x20\x02")
	left.want(0x88, "\x03\xe8") // the server closes after DISCONNECT
	watch.quiet()
}

// TestWebSocketLong: a long packet comes in several messages, so that what many clients receive is not copied as a whole for each of them.
func TestWebSocketLong(t *testing.T) {
	r := newRig(t, setup{listener: mqtt.ListenerConfig{WebSocket: true}, broker: broker.Config{MaxFrame: 1 << 20, Window: 4 << 20, Queue: 4 << 20}, server: mqtt.Config{Queue: 4 << 20}})
	k := r.raw(t, masked(0x82, connectPacket(t, "raw")))
	k.want(0x82, "\x20\x02\x00\x00")
	k.send(masked(0x82, []byte("\x82\x06\x00\x01\x00\x01a\x00")))
	k.want(0x82, "\x90\x03")
	long := strings.Repeat("x", 300_000)
	r.connect(wire.V5, "other").publish("a", long)
	var got []byte
	for len(got) < len(long) {
		first, p := k.frame()
		if first != 0x82 {
			t.Fatalf("got frame %x with %q", first, p)
		}
		got = append(got, p...)
	}
	if !strings.HasSuffix(string(got), "\x00\x01a"+long) {
		t.Errorf("got %d bytes", len(got))
	}
}

// TestWebSocketDrain: a client of MQTT 3.1.1, which knows no DISCONNECT of a server, learns from the Close frame that the node stops.
func TestWebSocketDrain(t *testing.T) {
	r := newRig(t, setup{listener: mqtt.ListenerConfig{WebSocket: true}})
	k := r.raw(t, masked(0x82, connectPacket(t, "raw")))
	k.want(0x82, "\x20\x02\x00\x00")
	if err := r.listener.Close(); err != nil {
		t.Fatal(err)
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		r.stop()
	}()
	k.want(0x88, "\x03\xe9")
	_ = k.Close()
	<-stopped
}

// TestWebSocketRequests: requests for anything but MQTT over WebSocket are refused, and those of pages of other sites. The client gets the response, whatever it
// sends behind the request.
func TestWebSocketRequests(t *testing.T) {
	r := newRig(t, setup{listener: mqtt.ListenerConfig{WebSocket: true, Config: edge.Config{Origins: []string{"https://app.example"}}}})
	const speaks = "Sec-WebSocket-Protocol: mqttv3.1, mqtt\r\n"
	for name, c := range map[string]struct {
		request string
		status  int
	}{
		"good":            {upgrade + speaks, 101},
		"good origin":     {upgrade + speaks + "Origin: https://app.example\r\n", 101},
		"own origin":      {upgrade + speaks + "Origin: http://127.0.0.1\r\n", 101},
		"other origin":    {upgrade + speaks + "Origin: https://evil.example\r\n", 403},
		"no subprotocol":  {upgrade, 400},
		"old subprotocol": {upgrade + "Sec-WebSocket-Protocol: mqttv3.1\r\n", 400},
		"no upgrade":      {"GET / HTTP/1.1\r\nHost: x\r\n", 426},
		"POST":            {strings.Replace(upgrade, "GET", "POST", 1) + speaks, 426},
		"version":         {strings.Replace(upgrade, "13", "8", 1) + speaks, 426},
		"key":             {strings.Replace(upgrade, "==", "", 1) + speaks, 400},
		"body":            {upgrade + speaks + "Content-Length: 1\r\n", 400},
		"no HTTP":         {"\x10\x0c\x00\x04MQTT\x04\x02\x00\x00\x00\x00\r\n", 400},
		"long":            {upgrade + "X: " + strings.Repeat("x", 20<<10), 431},
	} {
		plain := *r
		plain.socket = false
		conn := plain.open(t)
		if _, err := io.WriteString(conn, c.request+"\r\n"+strings.Repeat("early", 10_000)); err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		in := bufio.NewReader(io.TeeReader(conn, &text))
		res, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if res.StatusCode != c.status {
			t.Errorf("%s: status %d, want %d", name, res.StatusCode, c.status)
		}
		if res.StatusCode == 426 && !strings.Contains(text.String(), "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n") { // RFC 9110, section 7.8
			t.Errorf("%s: %s", name, &text)
		}
		if _, err := io.ReadAll(in); err != nil { // the connection is not reset, although the client has sent more than was read
			t.Errorf("%s: %v", name, err)
		}
		_ = res.Body.Close()
	}
}

// TestSilentWebSockets: more connections than there are places send no request, half a request, or a request and no CONNECT. A device gets in.
func TestSilentWebSockets(t *testing.T) {
	r := newRig(t, setup{listener: mqtt.ListenerConfig{WebSocket: true, Config: edge.Config{MaxConnections: 8, HandshakeTimeout: time.Hour}}})
	plain := *r
	plain.socket = false
	silence := func() {
		for i := range 48 {
			conn := plain.open(t)
			switch i % 3 {
			case 1:
				_, _ = conn.Write([]byte(upgrade))
			case 2:
				_, _ = conn.Write([]byte(upgrade + "Sec-WebSocket-Protocol: mqtt\r\n\r\n"))
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		for range 2 { // all are accepted, then some are handed to another loop. One that comes behind the device would take its place
			if err := r.listener.Turn(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	silence()
	device := r.connect(wire.V5, "device")
	device.sub("a", 1)
	silence()
	r.connect(wire.V5, "another").publish("a", "x")
	device.want("a", "x", 1)
}
