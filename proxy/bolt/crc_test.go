package bolt

import (
	"testing"

	wire "example.com/ferry/protocol/bolt"
)

// TestWrongCRCHarmsOneClient: a request with a wrong CRC is not sent to the server, which would close the connection and with it end
// requests of others. The client is told.
func TestWrongCRCHarmsOneClient(t *testing.T) {
	t.Parallel()
	begun, end := make(chan bool), make(chan bool)
	s := newServer(t, func(p *peer, f wire.Frame) {
		if f.CheckCRC() != nil {
			t.Error("the server gets a damaged request")
			_ = p.Close()
			return
		}
		if len(f.Content()) > 10 { // the victim's
			begun <- true
			<-end
		}
		echo(p, f)
	})
	p := simple(t, nil, s)
	victim := p.dial()
	victim.send(call(wire.V2CRC, 1, "a", []byte("a long request")))
	<-begun
	attacker := p.dial()
	damaged, err := wire.Append(nil, call(wire.V2CRC, 9, "a", []byte("short")))
	if err != nil {
		t.Fatal(err)
	}
	damaged[len(damaged)-1] ^= 1
	if err := attacker.write(damaged); err != nil {
		t.Fatal(err)
	}
	attacker.status(9, wire.StatusCodec)
	attacker.ends()
	close(end)
	victim.status(1, wire.StatusSuccess)
	if n := s.conns.Load(); n != 1 {
		t.Errorf("%d connections to the server, want the one of the victim", n)
	}
}
