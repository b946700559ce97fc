package broker_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"testing"
	"time"

	"example.com/ferry"
	"example.com/ferry/broker"
	"example.com/ferry/format"
	"example.com/ferry/format/cbor"
	"example.com/ferry/protocol/native"
	"example.com/ferry/transport/tcp"
)

// serve runs a broker and returns it with its address.
func serve(t *testing.T, cfg broker.Config) (*broker.Broker, string) {
	t.Helper()
	if cfg.Identify == nil {
		cfg.Identify = broker.Anyone
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Formats == nil {
		cfg.Formats = []format.Format{cbor.Format{}}
	}
	h, err := broker.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	l, err := tcp.New(nil).Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- h.Serve(context.Background(), l, broker.ValidateFull) }()
	t.Cleanup(func() {
		_ = l.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond) // the clients of these tests never say GOAWAY
		defer cancel()
		_ = h.Shutdown(ctx)
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return h, l.Addr().String()
}

// peer is a client that writes and reads single frames.
type peer struct {
	t    *testing.T
	conn net.Conn
	buf  []byte
	id   ferry.SourceID
}

func connect(t *testing.T, addr string) *peer {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	return &peer{t: t, conn: conn}
}

func greet(t *testing.T, addr string) *peer {
	t.Helper()
	p := connect(t, addr)
	p.write(native.AppendHello(nil, native.HelloFrame{MinVersion: 1, MaxVersion: 1, Name: "test"}))
	w, err := native.ParseWelcome(p.read())
	if err != nil {
		t.Fatal(err)
	}
	p.id = ferry.SourceID(w.Source)
	return p
}

func (p *peer) write(b []byte) {
	p.t.Helper()
	if _, err := p.conn.Write(b); err != nil {
		p.t.Fatal(err)
	}
}

// read returns the next frame, or nil at the end of the connection.
func (p *peer) read() native.Frame {
	p.t.Helper()
	for {
		f, err := native.Split(p.buf, native.DefaultMaxFrame)
		if err != nil {
			p.t.Fatal(err)
		}
		if f != nil {
			p.buf = p.buf[len(f):]
			return f
		}
		b := make([]byte, 64<<10)
		n, err := p.conn.Read(b)
		p.buf = append(p.buf, b[:n]...)
		if err != nil && n == 0 {
			var timeout net.Error
			if errors.As(err, &timeout) && timeout.Timeout() {
				p.t.Fatal(err)
			}
			return nil
		}
	}
}

// goaway reads until the end of the connection and returns the last GOAWAY.
func (p *peer) goaway() native.GoawayFrame {
	p.t.Helper()
	for {
		f := p.read()
		if f == nil {
			return native.GoawayFrame{Reason: "closed without GOAWAY"}
		}
		if f.Kind() == native.Goaway {
			g, err := native.ParseGoaway(f)
			if err != nil {
				p.t.Fatal(err)
			}
			return g
		}
	}
}

func (p *peer) tag(name string) uint32 {
	p.t.Helper()
	p.write(native.AppendTag(nil, native.TagFrame{Ref: 1, Name: name}))
	v, err := native.ParseResult(p.read())
	if err != nil || v.Code != native.CodeOK {
		p.t.Fatal(v, err)
	}
	return v.Value
}

func (p *peer) subscribe(v native.SubFrame) {
	p.t.Helper()
	p.write(native.AppendSub(nil, v))
	if v, err := native.ParseResult(p.read()); err != nil || v.Code != native.CodeOK {
		p.t.Fatal(v, err)
	}
}

func (p *peer) pub(tag uint32, payload []byte) []byte {
	return native.AppendPub(nil, native.PubHeader{Tag: tag, Source: p.id, Time: time.Now().UnixNano()}, payload)
}

// witness returns a function that publishes through the same broker over other connections. It fails if the message
// does not arrive.
func witness(t *testing.T, addr string) (check func()) {
	t.Helper()
	sub, src := greet(t, addr), greet(t, addr)
	sub.subscribe(native.SubFrame{ID: 1, Window: 1 << 20, Filter: "witness"})
	tag := src.tag("witness")
	return func() {
		t.Helper()
		src.write(src.pub(tag, []byte("I am here")))
		for {
			f := sub.read()
			if f == nil {
				t.Fatal("another connection was ended")
			}
			if f.Kind() == native.Pub {
				if string(f.Payload()) != "I am here" {
					t.Errorf("the witness got %q", f.Payload())
				}
				return
			}
		}
	}
}
