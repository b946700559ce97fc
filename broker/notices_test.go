package broker_test

import (
	"fmt"
	"slices"
	"testing"

	"example.com/ferry"
	"example.com/ferry/broker"
	"example.com/ferry/protocol/native"
)

// TestNoticesAreGathered: a client that publishes refused messages on many tags by turns gets few NOTICEs, which count all of them.
func TestNoticesAreGathered(t *testing.T) {
	_, addr := serve(t, broker.Config{})
	p := greet(t, addr)
	var tags []uint32
	for i := range 100 {
		tags = append(tags, p.tag(fmt.Sprintf("events/%d", i)))
	}
	var all []byte
	for range 20 {
		for _, tag := range tags {
			all = native.AppendPub(all, native.PubHeader{Type: ferry.CBOR, Tag: tag, Source: p.id}, []byte{0xff})
		}
	}
	p.write(native.AppendPing(all, false, 1))
	counts, several, notices := map[uint32]uint32{}, uint32(0), 0
	for f := p.read(); f.Kind() != native.Ping; f = p.read() {
		if f.Kind() != native.Notice {
			continue
		}
		v, err := native.ParseNotice(f)
		if err != nil || v.Code != native.CodeInvalid || v.Tag != native.ByName && !slices.Contains(tags, v.Tag) {
			t.Fatalf("got %+v, %v", v, err)
		}
		notices++
		if v.Tag == native.ByName {
			several += v.Count
		}
		counts[v.Tag] += v.Count
	}
	sum := uint32(0)
	for _, n := range counts {
		sum += n
	}
	if sum != 2000 || several == 0 || notices > 400 { // 34, and 33 for each second that this takes
		t.Errorf("%d NOTICEs of %d messages, %d of them on several tags: want few NOTICEs of 2000", notices, sum, several)
	}
}

// TestNoticesOfStoredTags: refused messages between stored ones do not cost a client its connection, even if it does not read for a
// while: their NOTICEs wait.
func TestNoticesOfStoredTags(t *testing.T) {
	const pairs = 60_000
	s := openStream(t, newEngine(t), "orders", "orders/#")
	b, addr := serve(t, broker.Config{Stored: []broker.Stored{s}, Window: 64 << 20, StoreQueue: 64 << 20})
	p := greet2(t, addr)
	tag := p.tag("orders/1")
	good := p.pub(tag, []byte("good"))
	bad := native.AppendPub(nil, native.PubHeader{Type: ferry.CBOR, Tag: tag, Source: p.id}, []byte{0xff})
	pair := slices.Concat(bad, good)
	for range pairs / 100 {
		p.write(slices.Repeat(pair, 100))
	}
	eventually(t, "all are routed", func() bool {
		now := b.Snapshot()
		return now.Dropped["invalid"] == pairs && streamStats(t, b, "orders").Stored.Messages == pairs || now.Connections == 0
	})
	if b.Snapshot().Connections != 1 {
		t.Fatal("the broker has ended the connection")
	}
	order := 0 // each NOTICE comes between the CREDIT of the messages around it
	for notices := 0; notices < 400; {
		switch f := p.read(); {
		case f == nil:
			t.Fatal("the connection was ended")
		case f.Kind() == native.Notice:
			if v, err := native.ParseNotice(f); err != nil || v.Count != 1 || order%len(pair) != 0 {
				t.Fatalf("NOTICE %+v, %v after CREDIT for %d bytes, want one after each %d", v, err, order, len(pair))
			}
			notices++
		case f.Kind() == native.Credit:
			v, err := native.ParseCredit(f)
			if err != nil {
				t.Fatal(err)
			}
			order += int(v.Bytes)
		}
	}
}
