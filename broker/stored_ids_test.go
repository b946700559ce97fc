package broker_test

import (
	"crypto/tls"
	"fmt"
	"testing"
	"time"

	"example.com/ferry/broker"
	"example.com/ferry/protocol/native"
)

// publishID publishes a message with an ID and waits until it is stored.
func (p *peer) publishID(tag uint32, id string) {
	p.t.Helper()
	h := native.PubHeader{Tag: tag, Source: p.id, Time: time.Now().UnixNano()}
	p.write(native.AppendPing(native.AppendExtendedPub(nil, h, native.AppendTLV(nil, native.TLVID, id), []byte("x")), false, 7))
	for {
		f := p.read()
		if f == nil || f.Kind() == native.Notice {
			p.t.Fatalf("got %x", []byte(f))
		}
		if f.Kind() == native.Ping {
			return
		}
	}
}

// TestIDsOfOtherIdentities: a client that may publish on its own tag cannot take the IDs of a client that publishes on another tag of
// the stream. What is stored already is counted apart.
func TestIDsOfOtherIdentities(t *testing.T) {
	s := openStream(t, newEngine(t), "orders", "orders/#")
	identify := func(token []byte, _ *tls.ConnectionState) (*broker.Identity, error) {
		return &broker.Identity{Name: string(token), Publish: []string{"orders/" + string(token)}}, nil
	}
	b, addr := serve(t, broker.Config{Stored: []broker.Stored{s}, Identify: identify})
	mallory, victim := greetAs(t, addr, "mallory", 2), greetAs(t, addr, "victim", 2)
	taken, tag := mallory.tag("orders/mallory"), victim.tag("orders/victim")
	const n = 10
	for i := range n {
		mallory.publishID(taken, fmt.Sprint("order-", i))
	}
	for range 2 {
		for i := range n {
			victim.publishID(tag, fmt.Sprint("order-", i))
		}
	}
	if info, err := s.Stream.Info(t.Context()); err != nil || info.Records != 2*n {
		t.Errorf("%d records are stored, %v, want %d", info.Records, err, 2*n)
	}
	if st := streamStats(t, b, "orders"); st.Stored.Messages != 2*n || st.Duplicates != n {
		t.Errorf("%d messages count as stored and %d as duplicates, want %d and %d", st.Stored.Messages, st.Duplicates, 2*n, n)
	}
}
