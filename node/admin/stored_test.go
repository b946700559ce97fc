package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.com/ferry"
	"example.com/ferry/engine"
	"example.com/ferry/format/all"
	"example.com/ferry/protocol/native"
)

// fakeStreams are two streams: orders, and dead with dead letters.
type fakeStreams struct {
	streams map[string]engine.Stream
	err     error
	calls   []string
}

func (f *fakeStreams) State(context.Context) (StreamsState, error) {
	return StreamsState{
		Now: 5, Engine: StreamEngine{Name: "nats", Address: "embedded", Durable: true, Sync: "always", MaxReplicas: 1},
		Streams: []StoredState{
			{Name: "dead", Tags: []string{"dead/#"}, Error: "the disk is full", Pending: 70},
			{
				Name: "orders", Tags: []string{"orders/#"}, Records: 3, Bytes: 512, First: 1, Last: 3, Appended: 3, Dropped: 1, Duplicates: 2,
				Replicas: []StreamReplica{{Name: "a", Leader: true, Current: true}, {Name: "b", Behind: 4}},
				Durables: []DurableState{{Name: "billing", Lag: 2, Held: 1, HeldBytes: 40, Waiting: 1, Delivered: 9, Redelivered: 3, DeadLetters: 1, Members: []MemberState{{Client: "c"}, {Client: "d"}}}},
			},
		},
	}, f.err
}

func (f *fakeStreams) Stream(name string) (engine.Stream, bool) {
	s, ok := f.streams[name]
	return s, ok
}

func (f *fakeStreams) Replay(_ context.Context, stream string, sequences []uint64) (int, error) {
	f.calls = append(f.calls, fmt.Sprint("replay ", stream, sequences))
	if stream != "dead" {
		return 0, ErrNoStream
	}
	if slices.Contains(sequences, 99) {
		return 0, fmt.Errorf("99: %w", engine.ErrNoRecord)
	}
	return len(sequences), nil
}

func (f *fakeStreams) DeleteDurable(_ context.Context, stream, durable string) error {
	f.calls = append(f.calls, "delete "+stream+" "+durable)
	switch durable {
	case "none":
		return ErrNoDurable
	case "used":
		return ErrInUse
	}
	return nil
}

func (f *fakeStreams) ResetDurable(_ context.Context, stream, durable string, from engine.Start) error {
	f.calls = append(f.calls, fmt.Sprint("reset ", stream, " ", durable, from))
	return nil
}

// purgeable is a stream that notes what is purged.
type purgeable struct {
	*fakeStream
	calls *[]string
}

func (p purgeable) Purge(_ context.Context, filter string, before uint64) (uint64, error) {
	*p.calls = append(*p.calls, fmt.Sprintf("purge %q %d", filter, before))
	return 7, nil
}

func newFakeStreams(t *testing.T) *fakeStreams {
	f := &fakeStreams{}
	orders := gappy(t, 3, 1, 2, 3)
	orders.records[0] = engine.Record{Sequence: 1, Stored: 1_700_000_000_123_456_789, Time: 1_600_000_000_000_000_000, Tag: "orders/1", Type: ferry.JSON, Payload: []byte(`{"id":1602168089665565200}`), ID: "a-1"}
	orders.records[0].Extension = native.AppendTLV(nil, native.TLVKey, "customer 7")
	orders.records[1].Payload = []byte("plain text")
	orders.records[2].Payload = []byte{0xff, 0x00}
	dead := gappy(t, 1, 1)
	dead.records[0].Extension = native.AppendDeadLetter(nil, native.DeadLetter{Stream: "orders", Sequence: 17, Tag: "orders/9", Deliveries: 5, Reason: "no such <customer>"})
	f.streams = map[string]engine.Stream{"orders": purgeable{orders, &f.calls}, "dead": dead}
	return f
}

func TestStreamsState(t *testing.T) {
	t.Parallel()
	_, url := start(t, Config{Streams: newFakeStreams(t)})
	status, body := do(t, "GET", url+"/api/streams")
	var got StreamsState
	if err := json.Unmarshal([]byte(body), &got); err != nil || status != 200 || len(got.Streams) != 2 || got.Engine.Sync != "always" {
		t.Fatalf("got %d %s, %v", status, body, err)
	}
	for _, list := range []string{`"name":"dead","tags":["dead/#"]`, `"replicas":[]`, `"durables":[]`} {
		if !strings.Contains(body, list) {
			t.Errorf("%s is not in %s", list, body)
		}
	}
	if status, body = do(t, "GET", url+"/api/streams/orders"); status != 200 || !strings.HasPrefix(body, `{"name":"orders",`) {
		t.Errorf("one stream: got %d %s", status, body)
	}
	for path, want := range map[string]int{"/api/streams/none": 404, "/api/streams/none/messages": 404} {
		if status, body = do(t, "GET", url+path); status != want {
			t.Errorf("%s: got %d %s, want %d", path, status, body, want)
		}
	}
	_, without := start(t, Config{})
	if status, _ = do(t, "GET", without+"/api/streams"); status != 404 {
		t.Errorf("a node without streams: got %d, want 404", status)
	}
}

func TestStoredMessages(t *testing.T) {
	t.Parallel()
	_, url := start(t, Config{Streams: newFakeStreams(t), Formats: all.Formats()})
	get := func(path string) (p storedPage) {
		t.Helper()
		status, body := do(t, "GET", url+"/api/streams/"+path)
		if err := json.Unmarshal([]byte(body), &p); err != nil || status != 200 {
			t.Fatalf("%s: got %d %s, %v", path, status, body, err)
		}
		return p
	}
	p := get("orders/messages")
	if p.First != 1 || p.Last != 3 || p.From != 1 || p.To != 3 || len(p.Messages) != 3 {
		t.Fatalf("got %+v", p)
	}
	want := storedMessage{
		Sequence: 1, Stored: 1_700_000_000_123.456, Time: 1_600_000_000_000, Tag: "orders/1", Type: "json", Size: 26, ID: "a-1", Key: "customer 7",
		As: "json", Payload: `{"id":1602168089665565200}`,
	}
	if p.Messages[0] != want {
		t.Errorf("got %+v, want %+v", p.Messages[0], want)
	}
	if m := p.Messages[1]; m.As != "text" || m.Payload != "plain text" || m.Type != "raw" {
		t.Errorf("text: got %+v", m)
	}
	if m := p.Messages[2]; m.As != "hex" || m.Payload != "ff00" {
		t.Errorf("bytes: got %+v", m)
	}
	if p = get("orders/messages?from=2&limit=1"); len(p.Messages) != 1 || p.Messages[0].Sequence != 2 {
		t.Errorf("from 2: got %+v", p)
	}
	if p = get("orders/messages?before=3&filter=orders/%2B"); len(p.Messages) != 1 || p.Messages[0].Sequence != 1 {
		t.Errorf("with a filter: got %+v", p)
	}
	p = get("dead/messages")
	if d := p.Messages[0].DeadLetter; d == nil || *d != (deadLetter{Stream: "orders", Sequence: 17, Tag: "orders/9", Deliveries: 5, Reason: "no such <customer>"}) {
		t.Errorf("a dead letter: got %+v", d)
	}
	for _, query := range []string{"from=-1", "before=x", "limit=many", "from=1&before=2", "filter=a/%23/b"} {
		if status, body := do(t, "GET", url+"/api/streams/orders/messages?"+query); status != 400 {
			t.Errorf("%s: got %d %s, want 400", query, status, body)
		}
	}
}

func TestStoredActions(t *testing.T) {
	t.Parallel()
	f := newFakeStreams(t)
	_, url := start(t, Config{Streams: f})
	many := strings.Repeat("&sequence=1", maxReplay+1)
	for _, c := range []struct {
		path   string
		status int
		body   string // part of it
	}{
		{"dead/replay", 200, `{"replayed":0}`},
		{"dead/replay?sequence=4&sequence=5", 200, `{"replayed":2}`},
		{"dead/replay?sequence=99", 404, "99"},
		{"dead/replay?sequence=0", 400, "sequence"},
		{"dead/replay?sequence=x", 400, "sequence"},
		{"dead/replay?" + many[1:], 400, "at most 1000"},
		{"none/replay", 404, "no such stream"},
		{"orders/purge?filter=orders/7&before=8", 200, `{"removed":7}`},
		{"orders/purge?filter=%23/a", 400, "filter"},
		{"none/purge", 404, "no such stream"},
		{"orders/durables/billing/delete", 200, "{}"},
		{"orders/durables/none/delete", 404, "no such durable"},
		{"orders/durables/used/delete", 409, "in use"},
		{"orders/durables/billing/reset?from=first", 200, "{}"},
		{"orders/durables/billing/reset?from=7", 200, "{}"},
		{"orders/durables/billing/reset?from=1970-01-01T00:00:00.000000009Z", 200, "{}"},
		{"orders/durables/billing/reset", 400, "from"},
		{"orders/durables/billing/reset?from=0", 400, "from"},
	} {
		if status, body := do(t, "POST", url+"/api/streams/"+c.path); status != c.status || !strings.Contains(body, c.body) {
			t.Errorf("%.60s: got %d %s, want %d %s", c.path, status, body, c.status, c.body)
		}
	}
	want := []string{
		"replay dead[]", "replay dead[4 5]", "replay dead[99]", "replay none[]", `purge "orders/7" 8`, "delete orders billing", "delete orders none", "delete orders used",
		"reset orders billing{1 0 0}", "reset orders billing{2 7 0}", "reset orders billing{3 0 9}",
	}
	if !slices.Equal(f.calls, want) {
		t.Errorf("got calls %q, want %q", f.calls, want)
	}
	if status, _ := do(t, "GET", url+"/api/streams/dead/replay"); status == 200 {
		t.Error("GET replays")
	}
	_, guarded := start(t, Config{Streams: f, LocalToken: "local-token-0123"})
	for _, path := range []string{"dead/replay", "orders/purge", "orders/durables/billing/delete", "orders/durables/billing/reset?from=first"} {
		if status, _ := do(t, "POST", guarded+"/api/streams/"+path); status != 401 {
			t.Errorf("%s without the token: got %d, want 401", path, status)
		}
		if status, _ := do(t, "POST", guarded+"/api/streams/"+path, "Authorization", "Bearer local-token-0123"); status != 200 {
			t.Errorf("%s with the token: got %d, want 200", path, status)
		}
	}
	if status, _ := do(t, "GET", guarded+"/api/streams/orders/messages"); status != 200 {
		t.Errorf("looking at messages: got %d, want 200", status)
	}
	if status, _ := do(t, "POST", url+"/api/streams/dead/replay", "Origin", "http://evil.example"); status != 403 {
		t.Errorf("a page of another site: got %d, want 403", status)
	}
}

func TestStoredMetrics(t *testing.T) {
	t.Parallel()
	f := newFakeStreams(t)
	_, url := start(t, Config{Streams: f})
	_, body := do(t, "GET", url+"/metrics")
	for _, want := range []string{
		`ferry_stream_records{stream="orders"} 3`,
		`ferry_stream_bytes{stream="orders"} 512`,
		`ferry_stream_last_sequence{stream="orders"} 3`,
		`ferry_stream_appended_total{stream="orders"} 3`,
		`ferry_stream_dropped_total{stream="orders"} 1`,
		`ferry_stream_duplicates_total{stream="orders"} 2`,
		`ferry_stream_replicas{state="current",stream="orders"} 1`,
		`ferry_stream_replicas{state="behind",stream="orders"} 1`,
		`ferry_stream_store_failing{stream="dead"} 1`,
		`ferry_stream_store_failing{stream="orders"} 0`,
		`ferry_stream_pending_bytes{stream="dead"} 70`,
		`ferry_durable_lag{durable="billing",stream="orders"} 2`,
		`ferry_durable_held_messages{durable="billing",stream="orders"} 1`,
		`ferry_durable_held_bytes{durable="billing",stream="orders"} 40`,
		`ferry_durable_waiting_messages{durable="billing",stream="orders"} 1`,
		`ferry_durable_members{durable="billing",stream="orders"} 2`,
		`ferry_durable_delivered_total{durable="billing",stream="orders"} 9`,
		`ferry_durable_redelivered_total{durable="billing",stream="orders"} 3`,
		`ferry_durable_dead_letters_total{durable="billing",stream="orders"} 1`,
		`ferry_stream_state_errors_total 0`,
	} {
		if !strings.Contains(body, want+"\n") {
			t.Errorf("missing %s", want)
		}
	}
	f.err = errors.New("the cluster has no leader")
	if _, body = do(t, "GET", url+"/metrics"); !strings.Contains(body, "ferry_stream_state_errors_total 1\n") {
		t.Error("an engine that does not respond is not counted")
	}
}
