package peerloop_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"example.com/ferry/internal/bufpool"
	"example.com/ferry/internal/peer"
	"example.com/ferry/internal/peerloop"
	"example.com/ferry/loop"
	"example.com/ferry/protocol/native"
)

// receiver responds to TAG with the same TAG, from a goroutine of its own.
type receiver struct{ c *peer.Conn }

func (*receiver) BatchBegins()           {}
func (*receiver) BatchEnds()             {}
func (*receiver) BeforePong(uint64) bool { return true }

func (*receiver) Pubs([]byte, *bufpool.Buf) (int, error) { return 0, errors.New("no streams here") }

var table = peer.Table[*receiver]{
	native.Tag: {Handle: func(r *receiver, f native.Frame) error {
		v, err := native.ParseTag(f)
		go r.c.Tell(func(b []byte) []byte { return native.AppendTag(b, v) })
		return err
	}},
}

// client is the server's side of a test's connection.
type client struct{ ended chan error }

// Identify refuses clients without a name, later and on another goroutine.
func (*client) Identify(_ *peer.Conn, h native.HelloFrame, identified func(error)) {
	var err error
	if h.Name == "" {
		err = &native.Error{Code: native.CodeUnauthenticated, Reason: "no name"}
	}
	time.AfterFunc(time.Millisecond, func() { identified(err) })
}

func (*client) Welcome(c *peer.Conn) (*receiver, error) {
	c.Welcome(native.WelcomeFrame{Source: 1, MaxFrame: 1 << 16, Heartbeat: 1000})
	return &receiver{c}, nil
}

// serve returns the address of a loop that drives connections, and the reasons why they ended.
func serve(t *testing.T, cfg peerloop.Config[*receiver]) (addr string, ended chan error) {
	t.Helper()
	cfg.Table, cfg.MaxFrame = &table, 1<<16
	for _, d := range []*time.Duration{&cfg.HandshakeTimeout, &cfg.Silence, &cfg.Write} {
		if *d == 0 {
			*d = time.Minute
		}
	}
	group, err := loop.New(&loop.Config{Loops: 1})
	if err != nil {
		t.Fatal(err)
	}
	ended = make(chan error, 10)
	l, err := group.Listen(loop.Addr{TCP: netip.MustParseAddrPort("127.0.0.1:0")}, func(c *loop.Conn) loop.Handler {
		return peerloop.New(c, &cfg, peer.Config{Remote: "client", OnClosing: func(why error) { ended <- why }}, &client{ended})
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := group.Shutdown(ctx); err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String(), ended
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	return c
}

// frames reads n frames and returns their kinds.
func frames(t *testing.T, c net.Conn, n int) string {
	t.Helper()
	var kinds []string
	in := peer.NewFrameReader(c, native.MaxHandshake)
	defer in.Close()
	for range n {
		f, err := in.First()
		if err != nil {
			kinds = append(kinds, "end")
			break
		}
		kind := f.Kind().String()
		if g, err := native.ParseGoaway(f); err == nil && f.Kind() == native.Goaway {
			kind += " " + g.Code.String()
		}
		kinds = append(kinds, kind)
	}
	return strings.Join(kinds, ", ")
}

var hello = native.AppendHello(nil, native.HelloFrame{MinVersion: 1, MaxVersion: native.Version, Name: "test"})

// TestBytesOneByOne sends each byte in a segment of its own.
func TestBytesOneByOne(t *testing.T) {
	addr, ended := serve(t, peerloop.Config[*receiver]{})
	c := dial(t, addr)
	all := append([]byte{}, hello...)
	for i := range 3 {
		all = native.AppendTag(all, native.TagFrame{Ref: uint32(i), Name: fmt.Sprint("tag/", i)})
	}
	all = native.AppendGoaway(native.AppendPing(all, false, 9), native.GoawayFrame{})
	go func() {
		for i := range all {
			if _, err := c.Write(all[i : i+1]); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	// The responses to TAG come from goroutines, so the one to PING may overtake them.
	got := frames(t, c, 6)
	if !strings.HasPrefix(got, "WELCOME, ") || !strings.Contains(got, "PING") || !strings.HasSuffix(got, "end") {
		t.Errorf("got %s", got)
	}
	if why := <-ended; !peer.IsClean(why) {
		t.Errorf("the connection ended because of %v", why)
	}
}

func TestRefusals(t *testing.T) {
	patient, _ := serve(t, peerloop.Config[*receiver]{})
	impatient, _ := serve(t, peerloop.Config[*receiver]{HandshakeTimeout: 100 * time.Millisecond})
	for _, each := range []struct {
		name  string
		bytes []byte
		want  string
	}{
		{"nothing", nil, "GOAWAY timeout, end"},
		{"half a HELLO", hello[:9], "GOAWAY timeout, end"},
		{"HTTP", []byte("GET / HTTP/1.1\r\n\r\n"), "GOAWAY protocol error, end"},
		{"PING first", native.AppendPing(nil, false, 1), "GOAWAY protocol error, end"},
		{"no identity", native.AppendHello(nil, native.HelloFrame{MinVersion: 1, MaxVersion: 1}), "GOAWAY unauthenticated, end"},
		{"a later version", native.AppendHello(nil, native.HelloFrame{MinVersion: 200, MaxVersion: 200, Name: "x"}), "GOAWAY version mismatch, end"},
	} {
		addr := patient
		if strings.Contains(each.want, "timeout") {
			addr = impatient
		}
		c := dial(t, addr)
		if _, err := c.Write(each.bytes); err != nil {
			t.Fatal(err)
		}
		if got := frames(t, c, 2); got != each.want {
			t.Errorf("%s: got %s, want %s", each.name, got, each.want)
		}
	}
}

func TestProgress(t *testing.T) {
	t.Run("silence", func(t *testing.T) {
		addr, ended := serve(t, peerloop.Config[*receiver]{Silence: 100 * time.Millisecond})
		c := dial(t, addr)
		_, _ = c.Write(hello)
		if got := frames(t, c, 3); got != "WELCOME, GOAWAY timeout, end" {
			t.Errorf("got %s", got)
		}
		if why := <-ended; why == nil || !strings.Contains(why.Error(), "nothing was heard") {
			t.Errorf("got %v", why)
		}
	})
	t.Run("client that does not read", func(t *testing.T) {
		addr, ended := serve(t, peerloop.Config[*receiver]{Write: 200 * time.Millisecond})
		c := dial(t, addr)
		_, _ = c.Write(hello)
		tag := native.AppendTag(nil, native.TagFrame{Name: strings.Repeat("x", 60_000)})
		go func() {
			for range 500 { // 30 MB, or until the server resets the connection
				if _, err := c.Write(tag); err != nil {
					return
				}
			}
		}()
		if why := <-ended; why == nil || !strings.Contains(why.Error(), "has read too little") {
			t.Errorf("got %v", why)
		}
	})
	t.Run("client that resets", func(t *testing.T) {
		addr, ended := serve(t, peerloop.Config[*receiver]{})
		c := dial(t, addr)
		_, _ = c.Write(append(append([]byte{}, hello...), 0, 0))
		if got := frames(t, c, 1); got != "WELCOME" {
			t.Fatalf("got %s", got)
		}
		_ = c.(*net.TCPConn).SetLinger(0)
		_ = c.Close()
		if why := <-ended; why == nil || errors.Is(why, context.Canceled) {
			t.Errorf("got %v, want the reset", why)
		}
	})
}
