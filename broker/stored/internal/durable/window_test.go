package durable

import (
	"testing"

	"example.com/ferry/engine"
	"example.com/ferry/internal/bufpool"
)

// TestMembersTakeTurns: members that ack at once get as many records.
func TestMembersTakeTurns(t *testing.T) {
	w := New(Config{MaxBytes: 1 << 20, AckWait: 1}, engine.Position{})
	var members [3]*Member
	for i := range members {
		members[i] = &Member{Credit: 1 << 20}
		w.Join(members[i])
	}
	for i := range uint64(300) {
		content := bufpool.Get(100)
		content.B = append(content.B, make([]byte, 100)...)
		w.Add(Record{Sequence: i + 1, Key: i, Content: content})
		d, ok := w.Next(0)
		if !ok || w.Ack(d.Member, d.Sequence, 1, 0) != 1 {
			t.Fatalf("record %d was not delivered", i+1)
		}
	}
	for i, m := range members {
		if m.Acked != 100 {
			t.Errorf("member %d got %d records of 300", i, m.Acked)
		}
	}
}

// BenchmarkWindow measures what a record costs the Window, of 1000 that are in flight: 1000 keys, one member, acks of 100 records.
func BenchmarkWindow(b *testing.B) {
	w := New(Config{MaxBytes: 1 << 30, AckWait: 1 << 40}, engine.Position{})
	m := &Member{Credit: 1 << 62}
	w.Join(m)
	content := bufpool.Get(100)
	content.B = append(content.B, make([]byte, 100)...)
	b.ReportAllocs()
	for i := range uint64(b.N) {
		content.Retain()
		w.Add(Record{Sequence: i + 1, Key: i % 1000, Content: content})
		if _, ok := w.Next(int64(i)); !ok {
			b.Fatal("no delivery")
		}
		if n := i + 1; n >= 1000 && n%100 == 0 {
			w.Ack(m, n-999, 100, int64(i))
		}
	}
}
