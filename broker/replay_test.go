package broker_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/ferry"
	"example.com/ferry/broker"
	"example.com/ferry/protocol/native"
)

// TestReplay: a subscription without a durable reads a stream from the place that it names, as far as its credit allows.
func TestReplay(t *testing.T) {
	s := openStream(t, newEngine(t), "orders", "orders/#")
	b, addr := serve(t, broker.Config{Stored: []broker.Stored{s}})
	src := greet2(t, addr)
	tag := src.tag("orders/1")
	src.publish(tag, orders(2)...)
	time.Sleep(2 * time.Millisecond)
	middle := time.Now()
	src.publish(tag, "order 3")
	src.publish(src.tag("orders/2"), "order 4")
	for _, row := range []struct {
		name  string
		start native.Start
		value uint64
		tags  string
		want  []string
	}{
		{"first", native.StartFirst, 0, "orders/#", orders(5)},
		{"sequence", native.StartSequence, 2, "orders/#", orders(5)[1:]},
		{"time", native.StartTime, uint64(middle.UnixNano()), "orders/#", orders(5)[2:]},
		{"filter", native.StartFirst, 0, "orders/2", []string{"order 4"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := greet2(t, addr)
			if v := p.subscribeStored(native.SubFrame{Filter: row.tags, Start: row.start, Value: row.value}); v.Code != native.CodeOK {
				t.Fatal(v)
			}
			want := slices.DeleteFunc(slices.Clone(row.want), func(s string) bool { return s == "order 5" })
			p.expectMessages(want...)
		})
	}
	p := greet2(t, addr)
	p.subscribeStored(native.SubFrame{Filter: "orders/#", Start: native.StartNew, Window: 100})
	eventually(t, "the replays of before have ended", func() bool { return len(streamStats(t, b, "orders").Replays) == 1 })
	src.publish(tag, orders(10)...)
	for i := 0; i < 10; i += 2 { // the window takes two messages: the second one exceeds it
		got := p.expectMessages(orders(10)[i : i+2]...)
		p.silent()
		p.credit(got...)
	}
	eventually(t, "all is counted", func() bool {
		r := streamStats(t, b, "orders").Replays[0]
		return r.Out.Messages == 10 && r.Sequence == 14
	})
	p.write(native.AppendUnsub(nil, 1))
	eventually(t, "the replay has ended", func() bool { return len(streamStats(t, b, "orders").Replays) == 0 })
}

// TestReplayWhere: the broker sends only the messages for which the predicate is true, to a replay and to a durable.
func TestReplayWhere(t *testing.T) {
	s := openStream(t, newEngine(t), "orders", "orders/#")
	b, addr := serve(t, broker.Config{Stored: []broker.Stored{s}})
	src := greet2(t, addr)
	tag := src.tag("orders/1")
	var frames []byte
	for v := range byte(20) {
		frames = native.AppendPub(frames, native.PubHeader{Type: ferry.CBOR, Tag: tag, Source: src.id}, []byte{0xa1, 0x61, 'v', v})
	}
	src.write(native.AppendPing(frames, false, 1))
	for src.read().Kind() != native.Ping {
	}
	for _, durable := range []string{"", "work"} {
		p := greet2(t, addr)
		p.subscribeStored(native.SubFrame{Filter: "orders/#", Start: native.StartFirst, Where: "v > 16", Durable: durable})
		got := p.expectMessages("\xa1av\x11", "\xa1av\x12", "\xa1av\x13")
		if got[0].Sequence != 18 {
			t.Errorf("got %+v", got[0])
		}
		p.ack(got...)
	}
	eventually(t, "all is done", func() bool { return workStats(t, b).Floor == 20 })
	if d := workStats(t, b); d.Skipped != 17 || d.Where != "v > 16" {
		t.Errorf("%+v", d)
	}
}

// TestManyTags: a replay of more tags than Config.MaxTags needs no tag.
func TestManyTags(t *testing.T) {
	s := openStream(t, newEngine(t), "orders", "orders/#")
	b, addr := serve(t, broker.Config{Stored: []broker.Stored{s}, MaxTags: 4})
	for i := range 20 {
		src := greet2(t, addr)
		src.publish(src.tag(fmt.Sprintf("orders/%d", i)), "x")
		_ = src.conn.Close()
		eventually(t, "the tag is freed", func() bool { return len(b.Snapshot().Tags) == 0 })
	}
	p := greet2(t, addr)
	p.subscribeStored(native.SubFrame{Filter: "orders/#", Start: native.StartFirst})
	for i := range 20 {
		if m := p.nextStored(); string(m.Tag) != fmt.Sprintf("orders/%d", i) {
			t.Fatalf("got %+v", m)
		}
	}
	if tags := b.Snapshot().Tags; len(tags) != 0 {
		t.Errorf("tags %+v", tags)
	}
}

// TestStoredSubRefused: a SUB of a stream that the broker cannot honour is refused with the reason.
func TestStoredSubRefused(t *testing.T) {
	e := newEngine(t)
	logs := openStream(t, e, "logs", "logs/#")
	logs.AtLeastOnce = false
	_, addr := serve(t, broker.Config{Stored: []broker.Stored{openStream(t, e, "orders", "orders/#"), logs}})
	first := greet2(t, addr)
	first.subscribeStored(native.SubFrame{Filter: "orders/#", Durable: "work", Where: "v > 1"})
	for _, row := range []struct {
		sub  native.SubFrame
		want string
	}{
		{native.SubFrame{Filter: "#", Start: native.StartFirst}, "orders (orders/#), logs (logs/#)"},
		{native.SubFrame{Filter: "orders/#/x", Start: native.StartFirst}, "last level"},
		{native.SubFrame{Filter: "orders/#", Start: native.StartFirst, Group: "g"}, "durable instead"},
		{native.SubFrame{Filter: "orders/#", Start: native.StartFirst, Addressed: true}, "addressed"},
		{native.SubFrame{Filter: "orders/#", Start: native.StartFirst, Where: "v >"}, "predicate"},
		{native.SubFrame{Filter: "orders/#", Durable: "a b"}, "letters, digits"},
		{native.SubFrame{Filter: "logs/#", Durable: "work"}, "at-most-once"},
		{native.SubFrame{Filter: "orders/1", Durable: "work", Where: "v > 1"}, `filter "orders/#"`},
		{native.SubFrame{Filter: "orders/#", Durable: "work", Where: "v > 2"}, `predicate "v > 1"`},
	} {
		p := greet2(t, addr)
		if v := p.subscribeStored(row.sub); v.Code != native.CodeBadRequest || !strings.Contains(v.Reason, row.want) {
			t.Errorf("%+v: got %v %q, want %q", row.sub, v.Code, v.Reason, row.want)
		}
	}
	first.write(native.AppendSub(nil, native.SubFrame{ID: 1, Filter: "live", Window: 1}))
	if v, err := native.ParseResult(first.expect(native.Result)); err != nil || v.Code != native.CodeBadRequest {
		t.Errorf("an id that is in use: got %+v, %v", v, err)
	}
}
