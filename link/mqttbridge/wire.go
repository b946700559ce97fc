package mqttbridge

import (
	"net"
	"sync"
	"time"

	"example.com/ferry/protocol/mqtt"
)

// wire is the connection that the client library uses. It passes on only whole packets that protocol/mqtt has checked, so that the
// library parses nothing malformed or unbounded. It writes a packet, or many of them, with one write.
type wire struct {
	net.Conn
	largest int // bytes of the largest packet that the broker takes; 0: any

	limits  mqtt.Limits
	buf     []byte
	at      int // buf[:at] is read
	checked int // buf[at:checked] is whole packets

	mu      sync.Mutex // held from Lock to Unlock
	out     []byte
	corked  bool
	timeout time.Duration
	err     error // of a write
}

const (
	readSize  = 16 << 10
	writeSize = 64 << 10
)

func newWire(c net.Conn, maxPacket int, timeout time.Duration) *wire {
	return &wire{Conn: c, limits: mqtt.Limits{Version: mqtt.V5, FromServer: true, MaxPacket: maxPacket}, timeout: timeout}
}

// Read returns bytes of checked packets.
func (w *wire) Read(p []byte) (int, error) {
	for w.at == w.checked {
		if err := w.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, w.buf[w.at:w.checked])
	w.at += n
	return n, nil
}

// fill reads and checks. On return there is a checked packet, or an error, or more of a packet.
func (w *wire) fill() error {
	rest := copy(w.buf, w.buf[w.at:])
	w.buf, w.at, w.checked = w.buf[:rest], 0, 0
	need, err := w.check()
	if err != nil || w.checked > 0 {
		return err
	}
	if size := max(need, readSize); cap(w.buf) < size {
		w.buf = append(make([]byte, 0, size), w.buf...)
	} else if rest == 0 && cap(w.buf) > 4*readSize {
		w.buf = make([]byte, 0, readSize) // a large packet has passed
	}
	n, err := w.Conn.Read(w.buf[len(w.buf):cap(w.buf)])
	w.buf = w.buf[:len(w.buf)+n]
	if n > 0 {
		_, err = w.check()
	}
	return err
}

// check checks the packets of buf from checked on.
func (w *wire) check() (need int, err error) {
	for {
		p, need, err := mqtt.Next(w.buf[w.checked:], w.limits)
		if err != nil || need > 0 {
			return need, err
		}
		if err := checkPacket(p); err != nil {
			return 0, err
		}
		w.checked += p.Size
	}
}

// checkPacket checks a packet of a server.
func checkPacket(p mqtt.Packet) (err error) {
	switch p.Kind {
	case mqtt.Connack:
		_, err = mqtt.ParseConnack(p)
	case mqtt.Publish:
		_, err = mqtt.ParsePublish(p)
	case mqtt.Puback, mqtt.Pubrec, mqtt.Pubrel, mqtt.Pubcomp:
		_, err = mqtt.ParseAck(p)
	case mqtt.Suback, mqtt.Unsuback:
		_, err = mqtt.ParseSuback(p)
	case mqtt.Disconnect:
		_, err = mqtt.ParseDisconnect(p)
	case mqtt.Auth:
		_, err = mqtt.ParseAuth(p)
	}
	return err
}

// Lock begins a packet.
func (w *wire) Lock() { w.mu.Lock() }

// Write appends a part of a packet. The lock is held.
func (w *wire) Write(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	w.out = append(w.out, p...)
	return len(p), nil
}

// Unlock ends a packet and writes it, unless the wire is corked and little waits.
func (w *wire) Unlock() {
	if !w.corked || len(w.out) >= writeSize {
		w.flush()
	}
	w.mu.Unlock()
}

// cork lets packets wait until uncork.
func (w *wire) cork() {
	w.mu.Lock()
	w.corked = true
	w.mu.Unlock()
}

func (w *wire) uncork() {
	w.mu.Lock()
	w.corked = false
	w.flush()
	w.mu.Unlock()
}

// flush writes what waits. After an error the connection is closed. The lock is held.
func (w *wire) flush() {
	if len(w.out) == 0 || w.err != nil {
		return
	}
	_ = w.SetWriteDeadline(time.Now().Add(w.timeout))
	if _, w.err = w.Conn.Write(w.out); w.err != nil {
		_ = w.Close()
	}
	if w.out = w.out[:0]; cap(w.out) > 4*writeSize {
		w.out = nil
	}
}
