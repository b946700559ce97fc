package node

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"testing"
	"time"

	"example.com/ferry/internal/certs/certstest"
	"example.com/ferry/internal/pki"
	"example.com/ferry/node/config"
	"example.com/ferry/protocol/mqtt"
)

// device is an MQTT 5 client of a listener.
type device struct {
	t    *testing.T
	conn net.Conn
	buf  []byte
}

// newDevice connects. certificate is nil for a cleartext listener. code is that of CONNACK; without one, the handshake has failed.
func newDevice(t *testing.T, n *Node, addr string, certificate *tls.Certificate) (d *device, code mqtt.ReasonCode, connected bool) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	if certificate != nil {
		security, err := pki.ClientTLS(filepath.Join(n.config().DataDir, pki.CAFile))
		if err != nil {
			t.Fatal(err)
		}
		security.ServerName = "127.0.0.1"
		security.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return certificate, nil }
		conn = tls.Client(conn, security)
	}
	d = &device{t: t, conn: conn}
	connect, err := mqtt.AppendConnect(nil, &mqtt.ConnectPacket{
		Version: mqtt.V5, ClientID: []byte("device"), Properties: mqtt.AppendUint(nil, mqtt.SessionExpiryInterval, 600),
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write(connect); err != nil {
		return d, 0, false
	}
	p, ok := d.read()
	if !ok {
		return d, 0, false
	}
	v, err := mqtt.ParseConnack(p)
	if err != nil {
		t.Fatal(err)
	}
	return d, v.Code, true
}

// read reads a packet. ok is false at the end of the connection.
func (d *device) read() (p mqtt.Packet, ok bool) {
	d.t.Helper()
	for {
		p, need, err := mqtt.Next(d.buf, mqtt.Limits{Version: mqtt.V5, FromServer: true})
		if err != nil {
			d.t.Fatal(err)
		}
		if need == 0 {
			d.buf = d.buf[p.Size:]
			return p, true
		}
		var b [4096]byte
		n, err := d.conn.Read(b[:])
		if d.buf = append(d.buf, b[:n]...); n == 0 {
			var timeout net.Error
			if errors.As(err, &timeout) && timeout.Timeout() {
				d.t.Fatal("the listener sends nothing")
			}
			return p, false
		}
	}
}

// publish publishes a message with QoS 1 and returns the code of PUBACK.
func (d *device) publish(topic string) mqtt.ReasonCode {
	d.t.Helper()
	return d.send(mqtt.PublishPacket{Topic: []byte(topic), Payload: []byte("1")})
}

// send is publish for any message.
func (d *device) send(m mqtt.PublishPacket) mqtt.ReasonCode {
	d.t.Helper()
	m.QoS, m.ID = 1, 1
	b, err := mqtt.AppendPublish(nil, mqtt.V5, &m)
	if err == nil {
		_, err = d.conn.Write(b)
	}
	if err != nil {
		d.t.Fatal(err)
	}
	p, ok := d.read()
	if !ok {
		d.t.Fatal(io.ErrUnexpectedEOF)
	}
	a, err := mqtt.ParseAck(p)
	if err != nil {
		d.t.Fatal(err)
	}
	return a.Code
}

// TestMQTTSCertificates: a certificate identifies the client of an mqtts listener until the client CAs change.
func TestMQTTSCertificates(t *testing.T) {
	dir := t.TempDir()
	before, after := certstest.NewCA(t, "before"), certstest.NewCA(t, "after")
	listener := config.Listener{Address: "mqtts://127.0.0.1:0", ClientCAFile: before.Write(t, dir, "before")}
	cfg := quiet(t)
	cfg.Listeners = []config.Listener{listener}
	cfg.Identities = []config.Identity{{Name: "pump", CommonName: "pump-1", Publish: []string{"plant/pump"}}}
	n := build(t, cfg)
	run(t, n)
	addr := addressOf(t, n, listener.Address)
	with := func(ca *certstest.CA, name string) *tls.Certificate {
		c := ca.Issue(t, certstest.Leaf{CommonName: name}).TLS(t)
		return &c
	}
	pump, code, _ := newDevice(t, n, addr, with(before, "pump-1"))
	if code != mqtt.Success {
		t.Fatalf("pump is refused: %v", code)
	}
	if code := pump.publish("plant/pump"); code != mqtt.Success {
		t.Errorf("plant/pump: %v", code)
	}
	if code := pump.publish("plant/valve"); code != mqtt.NotAuthorized {
		t.Errorf("plant/valve: %v", code)
	}
	if _, code, _ := newDevice(t, n, addr, with(before, "stranger")); code != mqtt.BadUserNameOrPassword {
		t.Errorf("an unknown name: %v", code)
	}
	if _, _, connected := newDevice(t, n, addr, with(after, "pump-1")); connected {
		t.Error("a client of another CA is connected")
	}
	apply(t, n, func(c *config.Config) {
		listener.ClientCAFile = after.Write(t, dir, "after")
		c.Listeners = []config.Listener{listener}
	})
	for {
		if _, ok := pump.read(); !ok {
			break
		}
	}
	if _, code, connected := newDevice(t, n, addr, with(after, "pump-1")); code != mqtt.Success || !connected {
		t.Errorf("a client of the new CA: %v", code)
	}
}

// TestMQTTListeners: sessions belong to all listeners, each with a validation of its own, which a reload changes.
func TestMQTTListeners(t *testing.T) {
	strict := config.Listener{Address: "mqtt://127.0.0.1:0", Anonymous: "guest", Validate: config.ValidateFull}
	cfg := quiet(t)
	cfg.Listeners = []config.Listener{strict}
	cfg.Identities = []config.Identity{{Name: "guest", Publish: []string{"#"}}}
	n := build(t, cfg)
	run(t, n)
	first, _, _ := newDevice(t, n, addressOf(t, n, strict.Address), nil)
	declared := mqtt.AppendText(nil, mqtt.ContentType, "application/json")
	publish := func(d *device) mqtt.ReasonCode {
		t.Helper()
		return d.send(mqtt.PublishPacket{Topic: []byte("a"), Properties: declared, Payload: []byte("{not json")})
	}
	if code := publish(first); code != mqtt.PayloadFormatInvalid {
		t.Errorf("a strict listener takes invalid JSON: %v", code)
	}
	strict.Validate = config.ValidateOff
	apply(t, n, func(c *config.Config) { c.Listeners = []config.Listener{strict} })
	if code := publish(first); code != mqtt.Success {
		t.Errorf("the listener still validates: %v", code)
	}
	if stats := n.mqttServer().Stats(); stats.Sessions != 1 || stats.Connected != 1 || stats.Refused != 1 {
		t.Errorf("got %+v", stats)
	}
}

// TestMQTTIdentityShare: a reload applies what one identity may have. One that is refused changes nothing, also if it adds the first
// listener.
func TestMQTTIdentityShare(t *testing.T) {
	cfg := quiet(t)
	cfg.Listeners = []config.Listener{{Address: "http://127.0.0.1:0", Anonymous: "guest"}}
	cfg.Identities = []config.Identity{{Name: "guest", Publish: []string{"#"}}, {Name: "other", Token: "the-token-of-the-other"}}
	cfg.MQTT.Retained, cfg.MQTT.IdentityShare = 8, 50
	n := build(t, cfg)
	run(t, n)
	guests := config.Listener{Address: "mqtt://127.0.0.1:0", Anonymous: "guest"}
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = busy.Close() }()
	refused := n.Apply(changed(n, func(c *config.Config) {
		c.Listeners = append(c.Listeners[:len(c.Listeners):len(c.Listeners)], guests, config.Listener{Address: "tcp://" + busy.Addr().String()})
		c.MQTT.Retained, c.MQTT.IdentityShare = 100, 10
	}))
	if refused == nil {
		t.Fatal("two listeners have one address")
	}
	apply(t, n, func(c *config.Config) { c.Listeners = append(c.Listeners[:len(c.Listeners):len(c.Listeners)], guests) })
	guest, _, _ := newDevice(t, n, addressOf(t, n, guests.Address), nil)
	retained := 0
	check := func(step string, want int) {
		t.Helper()
		for ; guest.send(mqtt.PublishPacket{Retain: true, Topic: fmt.Appendf(nil, "t/%d", retained), Payload: []byte("1")}) == mqtt.Success; retained++ {
			if retained == want {
				t.Fatalf("%s: more than %d retained messages", step, want)
			}
		}
		if retained != want {
			t.Errorf("%s: %d retained messages, want %d", step, retained, want)
		}
	}
	check("a share of 50", 4)
	apply(t, n, func(c *config.Config) { c.MQTT.IdentityShare = 75 })
	check("a share of 75", 6)
	apply(t, n, func(c *config.Config) { c.Identities = c.Identities[:1:1] })
	check("one identity", 8)
	apply(t, n, func(c *config.Config) {
		c.Identities = append(c.Identities, config.Identity{Name: "another", Token: "the-token-of-another"})
	})
	if code := guest.send(mqtt.PublishPacket{Retain: true, Topic: []byte("t/0")}); code != mqtt.Success {
		t.Fatalf("a retained message is not removed: %v", code)
	}
	if code := guest.send(mqtt.PublishPacket{Retain: true, Topic: []byte("t/0"), Payload: []byte("1")}); code != mqtt.QuotaExceeded {
		t.Errorf("an identity above its share retains another message: %v", code)
	}
}
