package bolt

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"

	wire "example.com/ferry/protocol/bolt"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/upstream"
)

// Nothing is written between two pieces of a large frame: no heartbeat that becomes due during a slow upload, and no
// response to a heartbeat of the server.
func TestNothingBetweenPieces(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	const beat = 300 * time.Millisecond
	p := start(t, nil, nil, []route.Rule{{Name: "all", Cluster: "c"}},
		upstream.Config{Name: "c", Endpoints: []upstream.EndpointConfig{{Address: ln.Addr().String()}}, Heartbeat: beat})
	c := p.dial()
	content := filled(2 * largeFrame)
	frame, err := wire.Append(nil, call(wire.V2CRC, 9, "any", content))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.write(frame[:largeFrame]); err != nil {
		t.Fatal(err)
	}
	conn, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	s := &peer{Conn: conn, t: t}
	begun := make([]byte, largeFrame)
	if _, err := io.ReadFull(s, begun); err != nil {
		t.Fatal(err)
	}
	question, _ := wire.AppendHeartbeat(nil, wire.V2CRC, 1<<31)
	if err := s.write(question); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * beat) // long enough for heartbeats, which must not be sent
	if err := c.write(frame[largeFrame:]); err != nil {
		t.Fatal(err)
	}

	f, err := readFrame(io.MultiReader(bytes.NewReader(begun), s))
	if err == nil {
		err = f.CheckCRC()
	}
	if err != nil {
		t.Fatalf("the frame arrives damaged: %v", err)
	}
	s.echoed(f, content)
	if f := s.status(1<<31, wire.StatusSuccess); f.Command() != wire.CommandHeartbeat {
		t.Errorf("%v comes after the frame, want the heartbeat's answer", f.Command())
	}
	s.send(reply(f, numbered(1)))
	if f := c.status(9, wire.StatusSuccess); string(f.Content()) != string(numbered(1)) {
		t.Errorf("the answer is %q", f.Content())
	}
}
