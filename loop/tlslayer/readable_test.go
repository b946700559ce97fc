package tlslayer

import (
	"bytes"
	"crypto/tls"
	"net"
	"testing"
	"time"

	"example.com/ferry/loop"
)

// tap keeps what is written to it, for the test to send.
type tap struct {
	net.Conn
	hold bool
	kept bytes.Buffer
}

func (t *tap) Write(p []byte) (int, error) {
	if t.hold {
		return t.kept.Write(p)
	}
	return t.Conn.Write(p)
}

// readableHandler reports the bytes of each Data, and whether more may follow.
type readableHandler struct {
	loop.Base
	seen chan seenData
}

type seenData struct {
	text     string
	readable bool
}

func (h readableHandler) Data(c *loop.Conn, p []byte) int {
	h.seen <- seenData{string(p), c.Readable()}
	return len(p)
}

// TestReadable: Readable is exact within Data: a part of another record counts.
func TestReadable(t *testing.T) {
	server, client := newAuthority(t).configs(t)
	both(t, func(t *testing.T, cfg *loop.Config) {
		r := newRig(t, cfg, nil, server)
		h := readableHandler{seen: make(chan seenData, 10)}
		at, err := loop.ParseAddr("127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		bound := r.layers.Bound()
		r.listener, err = r.group.Listen(at, func(c *loop.Conn) loop.Handler {
			c.SetLayer(r.layers.Server(c.Loop(), server, bound), nil)
			return h
		})
		if err != nil {
			t.Fatal(err)
		}
		wire := &tap{Conn: r.dial(t)}
		conn := tls.Client(wire, client)
		if err := conn.Handshake(); err != nil {
			t.Fatal(err)
		}
		wire.hold = true
		record := func(text string) []byte {
			t.Helper()
			wire.kept.Reset()
			if _, err := conn.Write([]byte(text)); err != nil {
				t.Fatal(err)
			}
			return bytes.Clone(wire.kept.Bytes())
		}
		one, two, three, four := record("one"), record("two"), record("three"), record("four")
		for _, step := range []struct {
			bytes []byte
			want  seenData
		}{
			{one, seenData{"one", false}},
			{append(two, three[:9]...), seenData{"two", true}},
			{three[9:], seenData{"three", false}},
			{append(four, record("five")...), seenData{"fourfive", false}},
		} {
			if _, err := wire.Conn.Write(step.bytes); err != nil {
				t.Fatal(err)
			}
			select {
			case got := <-h.seen:
				if got != step.want {
					t.Errorf("got %+v, want %+v", got, step.want)
				}
			case <-time.After(time.Minute):
				t.Fatalf("Data is not called: want %+v", step.want)
			}
		}
	})
}
