package mqtt

import (
	"bytes"
	"testing"
)

func message(qos byte) *PublishPacket {
	m := &PublishPacket{QoS: qos, Topic: []byte("plant/hall-3/pump-17/temperature"), Payload: bytes.Repeat([]byte("x"), 256)}
	if qos > 0 {
		m.ID = 4711
	}
	return m
}

func BenchmarkParsePublish(b *testing.B) {
	for _, v := range []Version{V311, V5} {
		b.Run(v.String(), func(b *testing.B) {
			buf, err := AppendPublish(nil, v, message(1))
			if err != nil {
				b.Fatal(err)
			}
			l := Limits{Version: v, MaxPacket: 1 << 20}
			b.ReportAllocs()
			for b.Loop() {
				p, _, err := Next(buf, l)
				if err != nil {
					b.Fatal(err)
				}
				if m, err := ParsePublish(p); err != nil || len(m.Payload) != 256 {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAppendPublish(b *testing.B) {
	m := message(1)
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if buf, err = AppendPublish(buf[:0], V5, m); err != nil {
			b.Fatal(err)
		}
	}
}

// TestAllocs: a message and its acknowledgement are read and written without allocation.
func TestAllocs(t *testing.T) {
	m := message(1)
	m.Properties = AppendUser(AppendUint(AppendText(nil, ContentType, "application/json"), TopicAlias, 7), "a", "b")
	l := Limits{Version: V5}
	buf, ack := make([]byte, 0, 1024), make([]byte, 0, 16)
	allocs := testing.AllocsPerRun(100, func() {
		buf, _ = AppendPublish(buf[:0], V5, m)
		p, _, _ := Next(buf, l)
		got, err := ParsePublish(p)
		alias, ok := got.Properties.Uint(TopicAlias)
		if err != nil || !ok || alias != 7 {
			t.Fatalf("alias %d, %v", alias, err)
		}
		ack = AppendAck(ack[:0], V5, AckPacket{Kind: Puback, ID: got.ID})
		p, _, _ = Next(ack, l)
		if a, err := ParseAck(p); err != nil || a.ID != m.ID {
			t.Fatalf("id %d, %v", a.ID, err)
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations, want 0", allocs)
	}
}
