package h2conn

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	xhttp2 "golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"example.com/ferry/protocol/http2"
)

// framer is a peer made of frames.
type framer struct {
	*xhttp2.Framer
	t  *testing.T
	nc net.Conn
}

// frames returns a peer at the other end of nc. A client's preface is written.
func frames(t *testing.T, nc net.Conn, settings ...xhttp2.Setting) *framer {
	t.Helper()
	if _, err := nc.Write([]byte(xhttp2.ClientPreface)); err != nil {
		t.Fatal(err)
	}
	f := &framer{xhttp2.NewFramer(nc, nc), t, nc}
	f.must(f.WriteSettings(settings...))
	return f
}

func (f *framer) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *framer) request(stream uint32, end bool, fields ...string) {
	f.t.Helper()
	var block bytes.Buffer
	enc := hpack.NewEncoder(&block)
	fields = append([]string{":method", "POST", ":scheme", "http", ":path", "/", ":authority", "a"}, fields...)
	for i := 0; i < len(fields); i += 2 {
		f.must(enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}))
	}
	f.must(f.WriteHeaders(xhttp2.HeadersFrameParam{StreamID: stream, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: end}))
}

// until returns the next frame for which is returns true, and the number of bytes of DATA before it.
func (f *framer) until(is func(xhttp2.Frame) bool) (found xhttp2.Frame, data int) {
	f.t.Helper()
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			f.t.Fatalf("the frame does not arrive: %v after %d bytes of DATA", err, data)
		}
		if is(frame) {
			return frame, data
		}
		if d, ok := frame.(*xhttp2.DataFrame); ok {
			data += len(d.Data())
		}
	}
}

func kind[F xhttp2.Frame](frame xhttp2.Frame) bool {
	_, ok := frame.(F)
	return ok
}

// TestZeroWindow has a client that accepts no DATA. The heads and the response without a body pass; DATA passes when a window comes.
func TestZeroWindow(t *testing.T) {
	t.Parallel()
	s := listen(t, nil, nil)
	nc, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	_ = nc.SetDeadline(time.Now().Add(patience))
	f := frames(t, nc, xhttp2.Setting{ID: xhttp2.SettingInitialWindowSize, Val: 0})
	f.request(1, true, "x-size", "200000")
	f.request(3, true, "x-size", "0")
	ended := func(stream uint32) func(xhttp2.Frame) bool {
		return func(frame xhttp2.Frame) bool {
			h, ok := frame.(*xhttp2.HeadersFrame)
			return ok && h.StreamID == stream && h.StreamEnded()
		}
	}
	if _, n := f.until(ended(3)); n != 0 {
		t.Errorf("%d bytes of DATA came without a window", n)
	}
	f.must(f.WritePing(false, [8]byte{1}))
	if _, n := f.until(kind[*xhttp2.PingFrame]); n != 0 {
		t.Errorf("%d bytes of DATA came without a window", n)
	}
	f.must(f.WriteWindowUpdate(1, 200_000))
	f.must(f.WriteWindowUpdate(0, 200_000))
	if _, n := f.until(ended(1)); n != 200_000 {
		t.Errorf("%d bytes of DATA, want 200000", n)
	}
}

// TestConnError ends the connection with GOAWAY, which the peer can read although it continues to write.
func TestConnError(t *testing.T) {
	t.Parallel()
	s := listen(t, nil, nil)
	nc, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	_ = nc.SetDeadline(time.Now().Add(patience))
	f := frames(t, nc)
	f.must(f.WriteData(5, false, make([]byte, 1000)))
	for range 50 {
		f.must(f.WriteData(5, false, make([]byte, 1000)))
	}
	frame, _ := f.until(kind[*xhttp2.GoAwayFrame])
	if code := frame.(*xhttp2.GoAwayFrame).ErrCode; code != xhttp2.ErrCodeProtocol {
		t.Errorf("GOAWAY with %v, want PROTOCOL_ERROR", code)
	}
	_ = nc.Close()
	s.close()
	var wrong *http2.ConnError
	if len(s.why) != 1 || !errors.As(s.why[0], &wrong) {
		t.Errorf("Serve = %v, want a ConnError", s.why)
	}
}

// TestFlood closes the socket of a peer that does not stop to write after GOAWAY.
func TestFlood(t *testing.T) {
	t.Parallel()
	s := listen(t, &Config{Linger: time.Hour}, nil)
	nc, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	_ = nc.SetDeadline(time.Now().Add(patience))
	f := frames(t, nc)
	for err == nil {
		err = f.WriteData(5, false, make([]byte, 16<<10))
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the flood ended with %v, want a reset by the server", err)
	}
	s.close()
}

// timed runs a server at one end of a pipe in a bubble of virtual time, and play at the other end. It returns what Serve returned,
// and when.
func timed(t *testing.T, cfg *Config, play func(f *framer, s *Conn)) (after time.Duration, why error) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		e := &echo{}
		c := Server(far, cfg, e)
		e.conn = c
		start := time.Now()
		done := make(chan struct{})
		go func() {
			why = c.Serve()
			after = time.Since(start)
			close(done)
		}()
		f := &framer{xhttp2.NewFramer(near, near), t, near}
		play(f, c)
		<-done
		_ = near.Close()
		e.calls.Wait()
	})
	return after, why
}

// discard reads all that the server writes, and acknowledges PINGs while ack returns true. It notes when PINGs arrive.
func (f *framer) discard(start time.Time, ack func() bool, pings *[]time.Duration) {
	acks := xhttp2.NewFramer(f.nc, nil)
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return
		}
		p, ok := frame.(*xhttp2.PingFrame)
		if !ok || p.IsAck() {
			continue
		}
		*pings = append(*pings, time.Since(start))
		if ack() {
			_ = acks.WritePing(true, p.Data)
		}
	}
}

// start is the client's first flight.
func (f *framer) start() {
	f.t.Helper()
	_, err := f.nc.Write([]byte(xhttp2.ClientPreface))
	f.must(err)
	f.must(f.WriteSettings())
}

// TestHeaderTimeout ends connections whose client sends no preface, no SETTINGS, or only a part of a head.
func TestHeaderTimeout(t *testing.T) {
	t.Parallel()
	for name, play := range map[string]func(f *framer){
		"silence": func(*framer) {},
		"preface": func(f *framer) {
			_, err := f.nc.Write([]byte(xhttp2.ClientPreface))
			f.must(err)
		},
		"part of a head": func(f *framer) {
			f.start()
			f.must(f.WriteHeaders(xhttp2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x82}}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			after, why := timed(t, &Config{HeaderTimeout: 5 * time.Second}, func(f *framer, _ *Conn) {
				go f.discard(time.Now(), func() bool { return true }, new([]time.Duration))
				play(f)
			})
			if why == nil || after < 5*time.Second || after > 10*time.Second {
				t.Errorf("Serve = %v after %v, want an error after 5 to 10 s", why, after)
			}
		})
	}
}

// TestHeadsInParts completes a head of several frames each second for longer than the timeout.
func TestHeadsInParts(t *testing.T) {
	t.Parallel()
	after, why := timed(t, &Config{HeaderTimeout: 3 * time.Second}, func(f *framer, c *Conn) {
		go f.discard(time.Now(), func() bool { return true }, new([]time.Duration))
		f.start()
		for i := range uint32(20) {
			f.must(f.WriteHeaders(xhttp2.HeadersFrameParam{StreamID: 2*i + 1, BlockFragment: []byte{0x83, 0x86}, EndStream: true}))
			time.Sleep(1100 * time.Millisecond) // the timer always sees a part of a head
			f.must(f.WriteContinuation(2*i+1, true, []byte{0x84, 0x41, 1, 'a'}))
		}
		c.Drain()
	})
	if why != nil || after < 20*time.Second {
		t.Errorf("Serve = %v after %v, want nil after more than 20 s", why, after)
	}
}

// TestKeepAlive sends PING in growing pauses while a stream is silent, and ends the connection when the client does not respond.
func TestKeepAlive(t *testing.T) {
	t.Parallel()
	var pings []time.Duration
	after, why := timed(t, &Config{KeepAlive: 10 * time.Second, KeepAliveTimeout: 5 * time.Second}, func(f *framer, _ *Conn) {
		go f.discard(time.Now(), func() bool { return len(pings) < 3 }, &pings)
		f.start()
		f.request(1, false)
	})
	want := []time.Duration{10 * time.Second, 50 * time.Second, 210 * time.Second}
	if len(pings) != len(want) {
		t.Fatalf("PINGs at %v, want %v", pings, want)
	}
	for i := range want {
		if off := pings[i] - want[i]; off < 0 || off > 10*time.Second {
			t.Errorf("PINGs at %v, want about %v", pings, want)
		}
	}
	if off := after - pings[2]; why == nil || off < 5*time.Second || off > 10*time.Second {
		t.Errorf("Serve = %v %v after the last PING, want an error after 5 s", why, off)
	}
}

// TestNoPing leaves a connection without streams silent.
func TestNoPing(t *testing.T) {
	t.Parallel()
	var pings []time.Duration
	_, why := timed(t, nil, func(f *framer, c *Conn) {
		go f.discard(time.Now(), func() bool { return true }, &pings)
		f.start()
		time.Sleep(10 * time.Minute)
		if len(pings) > 0 {
			t.Errorf("PINGs at %v, want none", pings)
		}
		_ = f.nc.Close()
	})
	if !errors.Is(why, io.EOF) {
		t.Errorf("Serve = %v, want io.EOF", why)
	}
}

// TestIdleTimeout drains a connection after its last stream.
func TestIdleTimeout(t *testing.T) {
	t.Parallel()
	after, why := timed(t, &Config{IdleTimeout: time.Minute}, func(f *framer, _ *Conn) {
		go f.discard(time.Now(), func() bool { return true }, new([]time.Duration))
		f.start()
		time.Sleep(50 * time.Second)
		f.request(1, true, "x-size", "10")
	})
	if why != nil || after < 110*time.Second || after > 120*time.Second {
		t.Errorf("Serve = %v after %v, want nil after 110 to 120 s", why, after)
	}
}

// TestWriteTimeout ends a connection whose client reads nothing.
func TestWriteTimeout(t *testing.T) {
	t.Parallel()
	after, why := timed(t, &Config{WriteTimeout: 20 * time.Second}, func(f *framer, _ *Conn) {
		_, err := f.nc.Write([]byte(xhttp2.ClientPreface))
		f.must(err)
		f.must(f.WriteSettings())
	})
	if why == nil || after < 20*time.Second || after > 30*time.Second {
		t.Errorf("Serve = %v after %v, want an error after 20 to 30 s", why, after)
	}
}

// TestDrain serves streams that were on their way when the server began to drain, and names the last one.
func TestDrain(t *testing.T) {
	t.Parallel()
	for _, acknowledges := range []bool{true, false} {
		var last []uint32
		_, why := timed(t, nil, func(f *framer, c *Conn) {
			f.start()
			f.request(1, false)
			synctest.Wait()
			go c.Drain()
			for len(last) < 2 {
				frame, err := f.ReadFrame()
				f.must(err)
				switch frame := frame.(type) {
				case *xhttp2.GoAwayFrame:
					last = append(last, frame.LastStreamID)
					if len(last) == 1 {
						f.request(3, false)
					}
				case *xhttp2.PingFrame:
					if acknowledges {
						f.must(f.WritePing(true, frame.Data))
					}
				}
			}
			f.must(f.WriteData(3, true, []byte("last")))
			if _, n := f.until(func(frame xhttp2.Frame) bool {
				h, ok := frame.(*xhttp2.HeadersFrame)
				return ok && h.StreamID == 3 && h.StreamEnded()
			}); n != 4 {
				t.Errorf("%d bytes of DATA, want 4", n)
			}
			f.must(f.WriteData(1, true, nil))
			go f.discard(time.Now(), func() bool { return false }, new([]time.Duration))
		})
		if why != nil || last[0] != 1<<31-1 || last[1] != 3 {
			t.Errorf("Serve = %v, GOAWAY with %v, want 2^31-1 and 3", why, last)
		}
	}
}

// TestClientDrains ends a client with its last stream, by its own will or by the server's.
func TestClientDrains(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"client", "server"} {
		s := listen(t, nil, nil)
		h, done := dial(t, s.addr, nil)
		wantEcho(t, h, 10)
		h.conn.Lock()
		v, err := h.open(nil, false)
		h.conn.Unlock()
		if err != nil {
			t.Fatal(err)
		}
		if by == "client" {
			h.conn.Drain()
		} else {
			s.each((*Conn).Drain)
		}
		h.conn.Lock()
		for limit := time.Now().Add(patience); h.conn.HTTP2().CanOpen() && time.Now().Before(limit); {
			h.conn.Unlock()
			time.Sleep(time.Millisecond)
			h.conn.Lock()
		}
		if _, err := h.open(nil, false); err == nil {
			t.Errorf("%s: a stream was opened on a connection that drains", by)
		}
		v.stream.Write([]byte("rest"), true)
		var got []byte
		for err == nil {
			var p []byte
			p, err = v.receive()
			got = append(got, p...)
		}
		v.release()
		h.conn.Unlock()
		if !errors.Is(err, io.EOF) || string(got) != "rest" {
			t.Errorf("%s: the open stream ended with %v and %q", by, err, got)
		}
		if why := <-done; why != nil {
			t.Errorf("%s: Serve = %v, want nil", by, why)
		}
	}
}
