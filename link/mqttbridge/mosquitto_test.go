package mqttbridge_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"example.com/ferry/internal/needs"
	"example.com/ferry/link/mqttbridge"
	"example.com/ferry/protocol/mqtt"
)

// mosquitto is a broker that listens on a Unix socket and keeps its sessions when it is restarted.
type mosquitto struct {
	t       *testing.T
	program string
	dir     string
	cmd     *exec.Cmd
}

func newMosquitto(t *testing.T) *mosquitto {
	t.Helper()
	if runtime.GOOS == "windows" {
		needs.Missing(t, "mosquitto with Unix sockets", "run it on Linux")
	}
	m := &mosquitto{t: t, program: needs.Program(t, "mosquitto")}
	var err error
	if m.dir, err = os.MkdirTemp("", "mq"); err != nil { //nolint:usetesting // t.TempDir may be too long for the address of a socket
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(m.dir) })
	config := fmt.Sprintf("listener 0 %s\nallow_anonymous true\npersistence true\npersistence_location %s/\nmax_inflight_messages 0\nmax_queued_messages 0\n", m.socket(), m.dir)
	if os.Geteuid() == 0 {
		config += "user root\n"
	}
	if err := os.WriteFile(filepath.Join(m.dir, "conf"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	m.start()
	t.Cleanup(m.stop)
	return m
}

func (m *mosquitto) socket() string { return filepath.Join(m.dir, "socket") }

func (m *mosquitto) start() {
	m.t.Helper()
	m.cmd = exec.Command(m.program, "-c", filepath.Join(m.dir, "conf"))
	if err := m.cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	eventually(m.t, "mosquitto listens", func() bool {
		c, err := m.dial(m.t.Context())
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
}

// stop ends the process, which writes its sessions.
func (m *mosquitto) stop() {
	if m.cmd == nil {
		return
	}
	_ = m.cmd.Process.Signal(os.Interrupt)
	_ = m.cmd.Wait()
	m.cmd = nil
}

func (m *mosquitto) dial(ctx context.Context) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "unix", m.socket())
}

// device is a client of mosquitto.
type device struct {
	t        *testing.T
	conn     net.Conn
	received *list
	acks     *list
}

// device connects a client with a clean session, which subscribes to a filter.
func (m *mosquitto) device(filter string) *device {
	m.t.Helper()
	c, err := m.dial(m.t.Context())
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = c.Close() })
	d := &device{t: m.t, conn: c, received: newList(m.t), acks: newList(m.t)}
	b, err := mqtt.AppendConnect(nil, &mqtt.ConnectPacket{Version: mqtt.V5, CleanStart: true})
	if err != nil {
		m.t.Fatal(err)
	}
	filters := mqtt.AppendFilter(nil, mqtt.Subscription{Filter: []byte(filter), QoS: 1})
	if b, err = mqtt.AppendSubscribe(b, mqtt.V5, &mqtt.SubscribePacket{ID: 1, Filters: filters}); err != nil {
		m.t.Fatal(err)
	}
	if _, err := c.Write(b); err != nil {
		m.t.Fatal(err)
	}
	go d.read()
	d.acks.await(1) // SUBACK
	return d
}

func (d *device) read() {
	var buf []byte
	chunk := make([]byte, 64<<10)
	for {
		n, err := d.conn.Read(chunk)
		if err != nil {
			return
		}
		buf = append(buf, chunk[:n]...)
		for {
			p, need, err := mqtt.Next(buf, mqtt.Limits{Version: mqtt.V5, FromServer: true})
			if err != nil {
				d.t.Errorf("mosquitto has sent %x: %v", buf, err)
				return
			}
			if need > 0 {
				break
			}
			buf = buf[p.Size:]
			switch p.Kind {
			case mqtt.Publish:
				m, err := mqtt.ParsePublish(p)
				if err != nil {
					d.t.Error(err)
				}
				if m.QoS == 1 {
					_, _ = d.conn.Write(mqtt.AppendAck(nil, mqtt.V5, mqtt.AckPacket{Kind: mqtt.Puback, ID: m.ID}))
				}
				d.received.add(string(m.Topic) + " " + string(m.Payload))
			case mqtt.Suback, mqtt.Puback:
				d.acks.add(p.Kind.String())
			}
		}
	}
}

// publish publishes messages from %d to %d with QoS 1 on a topic, and waits for their PUBACKs.
func (d *device) publish(topic string, from, to int) (want []string) {
	d.t.Helper()
	before := len(d.acks.get())
	var b []byte
	for i := from; i < to; i++ {
		var err error
		payload := fmt.Sprintf(`{"v":%d}`, i)
		if b, err = mqtt.AppendPublish(b, mqtt.V5, &mqtt.PublishPacket{QoS: 1, ID: uint16(i + 1), Topic: []byte(topic), Payload: []byte(payload)}); err != nil {
			d.t.Fatal(err)
		}
		want = append(want, topic+" "+payload)
	}
	if _, err := d.conn.Write(b); err != nil {
		d.t.Fatal(err)
	}
	d.acks.await(before + to - from)
	return want
}

// TestMosquitto: messages pass in both directions, with mosquitto as the other broker. While it is away, those to it wait. While the
// bridge is away, mosquitto keeps those for it. None is lost, and none comes back.
func TestMosquitto(t *testing.T) {
	m := newMosquitto(t)
	n := newNode(t)
	got := n.subscribe()
	dir := t.TempDir()
	with := func(c *mqttbridge.Config) { c.Spool.Dir = dir }
	b := n.bridge(m.dial, with)
	connected(t, b)
	c := n.client()

	d := m.device("site/#")
	d.received.expect(n.publish(c, 0, 200)...)
	var want []string
	in := func(from, to int) {
		for _, each := range d.publish("in/1", from, to) {
			want = append(want, "cloud/"+each)
		}
	}
	in(0, 200)
	got.expect(want...)

	m.stop()
	eventually(t, "the connection is lost", func() bool { return !b.Stats().Connected })
	n.publish(c, 200, 400)
	m.start()
	d = m.device("site/#")
	eventually(t, "the bridge has sent what waited", func() bool { s := b.Stats(); return s.Connected && s.Spool.Messages == 0 && s.Confirmed >= 400 })
	connected(t, b)
	in(200, 300)
	got.expectEach(want...)

	closeBridge(b)
	in(300, 500)
	b = n.bridge(m.dial, with)
	got.expectEach(want...)
	connected(t, b)
	before := len(d.received.get())
	last := n.publish(c, 400, 500)
	if all := d.received.await(before + 100)[before:]; !slices.Equal(all, last) {
		t.Errorf("the device got %d messages, from %q on; want those from %q on", len(all), all[0], last[0])
	}
	eventually(t, "all are confirmed", func() bool { return b.Stats().Confirmed == 100 })
	if s := b.Stats(); s.Received < 200 || len(s.Dropped) != 0 {
		t.Errorf("got %+v", s)
	}
}
