//go:build linux

package faults

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"time"

	"example.com/ferry/protocol/mqtt"
)

var quiet = slog.New(slog.DiscardHandler)

// device is an MQTT client that publishes, one message at a time. It connects again after an error.
type device struct {
	addr, token string
	conn        net.Conn
	buf         []byte
}

// publish publishes a message with QoS 1 and waits for PUBACK.
func (d *device) publish(ctx context.Context) (err error) {
	defer func() {
		if err != nil && d.conn != nil {
			_ = d.conn.Close()
			d.conn = nil
		}
	}()
	if d.conn == nil {
		if err := d.connect(ctx); err != nil {
			return err
		}
	}
	deadline, _ := ctx.Deadline()
	_ = d.conn.SetDeadline(deadline)
	b, err := mqtt.AppendPublish(nil, mqtt.V5, &mqtt.PublishPacket{QoS: 1, ID: 1, Topic: []byte("plant/a"), Payload: []byte("1")})
	if err != nil {
		return err
	}
	p, err := d.exchange(b)
	if err != nil {
		return err
	}
	a, err := mqtt.ParseAck(p)
	if err == nil && a.Code >= 0x80 {
		err = fmt.Errorf("PUBACK %v", a.Code)
	}
	return err
}

func (d *device) connect(ctx context.Context) (err error) {
	if d.conn, err = new(net.Dialer).DialContext(ctx, "tcp", d.addr); err != nil {
		return err
	}
	d.buf = nil
	_ = d.conn.SetDeadline(time.Now().Add(5 * time.Second))
	b, err := mqtt.AppendConnect(nil, &mqtt.ConnectPacket{Version: mqtt.V5, CleanStart: true, ClientID: []byte("device"), Password: []byte(d.token)})
	if err != nil {
		return err
	}
	p, err := d.exchange(b)
	if err != nil {
		return err
	}
	v, err := mqtt.ParseConnack(p)
	if err == nil && v.Code != mqtt.Success {
		err = fmt.Errorf("CONNACK %v", v.Code)
	}
	return err
}

// exchange writes a packet and reads one.
func (d *device) exchange(b []byte) (mqtt.Packet, error) {
	if _, err := d.conn.Write(b); err != nil {
		return mqtt.Packet{}, err
	}
	for {
		p, need, err := mqtt.Next(d.buf, mqtt.Limits{Version: mqtt.V5, FromServer: true})
		if err != nil {
			return p, err
		}
		if need == 0 {
			d.buf = d.buf[p.Size:]
			return p, nil
		}
		var chunk [4096]byte
		n, err := d.conn.Read(chunk[:])
		if d.buf = append(d.buf, chunk[:n]...); n == 0 && err == nil {
			err = io.ErrNoProgress
		}
		if err != nil && n == 0 {
			return p, err
		}
	}
}
