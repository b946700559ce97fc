package operator_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/ferry"
	"example.com/ferry/broker"
	"example.com/ferry/codec/cbor"
	"example.com/ferry/engine"
	"example.com/ferry/engine/memory"
	"example.com/ferry/format/all"
	"example.com/ferry/stream"
	"example.com/ferry/stream/operator"
	streamtransport "example.com/ferry/transport/memory"
)

// dialNode starts a node that stores readings/# and the last message of each tag below state/. It returns what dials it.
func dialNode(t *testing.T) (dial func() *stream.Client) {
	t.Helper()
	e := memory.New()
	t.Cleanup(func() { _ = e.Close(context.Background()) })
	var stored []broker.Stored
	for _, c := range []engine.Config{
		{Name: "readings", Tags: []string{"readings/#"}, InMemory: true},
		{Name: "state", Tags: []string{"state/#"}, InMemory: true, MaxPerTag: 1},
	} {
		s, err := e.Open(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, broker.Stored{Stream: s, Config: c, AtLeastOnce: true})
	}
	node, err := broker.New(broker.Config{Identify: broker.Anyone, Formats: all.Formats(), Stored: stored})
	if err != nil {
		t.Fatal(err)
	}
	network := streamtransport.New(nil)
	l, err := network.Listen(t.Context(), "node")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = node.Serve(context.Background(), l, broker.ValidateFull) }()
	t.Cleanup(func() {
		_ = l.Close()
		_ = node.Shutdown(context.Background())
	})
	return func() *stream.Client {
		c, err := stream.Dial(t.Context(), network, "node", nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
}

func load(t *testing.T, s operator.Store) map[string]string {
	t.Helper()
	values, err := s.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for k, v := range values {
		texts[k] = string(v)
	}
	return texts
}

func TestTagStore(t *testing.T) {
	t.Parallel()
	dial := dialNode(t)
	client := dial()
	s := operator.NewTagStore(client, "state/test")
	if got := load(t, s); len(got) > 0 {
		t.Fatalf("got %v of a new store", got)
	}
	expected := map[string]string{}
	for i := range 20 {
		changed := map[string][]byte{}
		for j := range 10 {
			key := fmt.Sprint("key", (i+j*7)%30)
			if (i+j)%4 == 0 {
				changed[key] = nil
				delete(expected, key)
			} else {
				changed[key] = fmt.Append(nil, i, j)
				expected[key] = string(changed[key])
			}
		}
		if err := s.Commit(t.Context(), changed); err != nil {
			t.Fatal(err)
		}
		if i%5 == 0 {
			s = operator.NewTagStore(dial(), "state/test")
			if got := load(t, s); !maps.Equal(got, expected) {
				t.Fatalf("after commit %d: got %v, want %v", i, got, expected)
			}
		}
	}
}

// A commit that has written parts, but not that they are current, changes nothing.
func TestTagStoreAfterKill(t *testing.T) {
	t.Parallel()
	client := dialNode(t)()
	s := operator.NewTagStore(client, "state/test")
	load(t, s)
	expected := map[string]string{}
	values := map[string][]byte{}
	for i := range 200 {
		expected[fmt.Sprint("key", i)] = "old"
		values[fmt.Sprint("key", i)] = []byte("old")
	}
	if err := s.Commit(t.Context(), values); err != nil {
		t.Fatal(err)
	}
	// The first commit of a part writes b, so the next one writes a.
	garbage, err := cbor.Codec{}.Marshal(map[string]any{"Commit": 2, "Values": map[string][]byte{"key1": []byte("new")}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 64 {
		if err := client.SendStored(t.Context(), ferry.Message{Tag: fmt.Sprintf("state/test/%d/a", i), Type: ferry.CBOR, Payload: garbage}); err != nil {
			t.Fatal(err)
		}
	}
	if got := load(t, operator.NewTagStore(client, "state/test")); !maps.Equal(got, expected) {
		t.Errorf("got %v, want the %d old values", got, len(expected))
	}
}

func decode(m *ferry.Message) (r reading, err error) {
	return r, json.Unmarshal(m.Payload, &r)
}

func encode(r reading) ([]byte, error) { return json.Marshal(r) }

// TestRestart runs operators on a stored stream, ends them in the middle, and starts them again with what they have stored on the node.
func TestRestart(t *testing.T) {
	t.Parallel()
	dial := dialNode(t)
	publisher := dial()
	readings := unsettled()
	for i := range readings {
		readings[i].At += 1000 // a message with time 0 gets the time of the clock
	}
	publish := func(some []reading) {
		t.Helper()
		for _, r := range some {
			payload, err := encode(r)
			if err == nil {
				err = publisher.SendStored(t.Context(), ferry.Message{Tag: "readings/" + r.Device, Type: ferry.JSON, Payload: payload, Time: at(r)})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	results := make(chan string, 1000)
	run := func() (r *operator.Running, client *stream.Client) {
		t.Helper()
		client = dial()
		in := operator.FromTag(client, stream.Function{Observe: []string{"readings/#"}, From: stream.FromFirst()}, decode)
		timed := operator.EventTime(in, nil, operator.Disorder{Bound: 2 * time.Second})
		each := operator.Map(operator.GroupBy(timed, device, sums, operator.Groups{}), keyed)
		r, err := operator.Start(t.Context(), &operator.Config{Store: operator.NewTagStore(client, "state/sums")}, operator.Each(each, func(_ context.Context, v string, _ int64) error {
			results <- v
			return nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		return r, client
	}
	whole, err := part(t, nil, func(in operator.Stream[reading]) operator.Stream[string] {
		return operator.Map(operator.GroupBy(in, device, sums, operator.Groups{}), keyed)
	}, readings, 0, len(readings))
	if err != nil {
		t.Fatal(err)
	}
	open := 0 // the last windows of the three groups stay open
	for _, each := range whole {
		if strings.Contains(each, "[1050,1060)") {
			open++
		}
	}
	wanted := whole[:len(whole)-open]

	publish(readings[:25])
	first, client := run()
	var got []string
	gather := func(r *operator.Running, n int) {
		t.Helper()
		for len(got) < n {
			select {
			case v := <-results:
				got = append(got, v)
			case <-r.Done():
				t.Fatal(r.Err())
			}
		}
	}
	gather(first, 5)
	first.Stop()
	_ = client.Close()
	publish(readings[25:])
	second, _ := run()
	gather(second, len(wanted))
	second.Stop()
	close(results)
	for v := range results {
		got = append(got, v)
	}
	if inGroups(got) != inGroups(wanted) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(wanted, "\n"))
	}
}

// What is published reaches the node before the state is stored, and what cannot be decoded is counted.
func TestPublish(t *testing.T) {
	t.Parallel()
	client := dialNode(t)()
	var once sync.Once
	arrived := make(chan string, 10)
	hot, err := client.Start(t.Context(), stream.Function{Observe: []string{"hot"}, Handler: stream.Sink(func(_ context.Context, m *ferry.Message) error {
		arrived <- fmt.Sprintf("%s at %d", m.Payload, m.Time)
		return nil
	})})
	if err != nil {
		t.Fatal(err)
	}
	defer hot.Stop()
	in := operator.Filter(operator.FromTag(client, stream.Function{Observe: []string{"live"}}, decode), func(r reading) bool { return r.Value > 30 })
	timed := operator.EventTime(in, nil, operator.Disorder{})
	r, err := operator.Start(t.Context(), nil, operator.Publish(timed, client, func(r reading) (ferry.Message, error) {
		payload, err := encode(r)
		return ferry.Message{Tag: "hot", Type: ferry.JSON, Payload: payload}, err
	}))
	if err != nil {
		t.Fatal(err)
	}
	// The run subscribes in the background.
	for i := int64(1); ; i++ {
		for _, payload := range []string{`{"Value":20}`, `{"Value":"x"}`, `{"Value":40}`} {
			if err := client.Send(t.Context(), ferry.Message{Tag: "live", Type: ferry.JSON, Payload: []byte(payload), Time: i}); err != nil {
				t.Fatal(err)
			}
		}
		select {
		case got := <-arrived:
			once.Do(func() {
				if !strings.HasPrefix(got, `{"Device":"","Value":40,"At":0} at `) || strings.HasSuffix(got, " at 0") {
					t.Errorf("got %s", got)
				}
			})
			if stats := r.Stats(); stats.Malformed == 0 {
				t.Errorf("no malformed message was counted: %+v", stats)
			}
			r.Stop()
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// TestShorterStream starts a run again on a stream that ends before the last message of the state, as after a restored backup.
func TestShorterStream(t *testing.T) {
	t.Parallel()
	store := newMapStore()
	for _, least := range []int{20, 21} { // the counts before and after
		client := dialNode(t)()
		results := make(chan int, 100)
		in := operator.FromTag(client, stream.Function{Observe: []string{"readings/#"}, From: stream.FromFirst()}, decode)
		counted := operator.Scan(in, 0, func(n int, _ reading) int { return n + 1 })
		r, err := operator.Start(t.Context(), &operator.Config{Store: store}, operator.Each(counted, func(_ context.Context, n int, _ int64) error {
			results <- n
			return nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		for n := 0; n < least; { // the run subscribes in the background
			if err := client.SendStored(t.Context(), ferry.Message{Tag: "readings/a", Type: ferry.JSON, Payload: []byte(`{}`)}); err != nil {
				t.Fatal(err)
			}
			select {
			case n = <-results:
			case <-r.Done():
				t.Fatal(r.Err())
			case <-time.After(10 * time.Millisecond):
			}
		}
		if s := r.Stats(); s.Repeated > 0 {
			t.Errorf("%d messages were skipped", s.Repeated)
		}
		r.Stop()
		_ = client.Close()
	}
}
