package stream_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/ferry"
	"example.com/ferry/protocol/native"
	"example.com/ferry/stream"
)

var errNoCustomer = errors.New("no customer")

// durable returns a function of the durable d that handles one message at a time.
func durable(handler ferry.Handler) stream.Function {
	return stream.Function{Observe: []string{"orders/#"}, Durable: "d", Concurrency: 1, Handler: handler}
}

// byPayload returns a handler whose result depends on the payload.
func byPayload(results map[string]error) ferry.Handler {
	return stream.Sink(func(_ context.Context, in *ferry.Message) error {
		if err := results[string(in.Payload)]; err != nil {
			return err
		}
		return nil
	})
}

func TestFates(t *testing.T) {
	s := newScript(t)
	_, sub := s.start(durable(byPayload(map[string]error{
		"2": errNoCustomer,
		"4": stream.Retry(errNoCustomer, 1500*time.Millisecond),
		"5": fmt.Errorf("wrapped: %w", stream.Reject(errNoCustomer)),
	})))
	if sub.Durable != "d" || sub.Start != native.StartLive {
		t.Errorf("got %+v", sub)
	}
	s.deliver(message{1, "orders/1", "", 0}, message{2, "orders/2", "", 0}, message{3, "orders/3", "", 0}, message{4, "orders/4", "", 0}, message{5, "orders/5", "", 0})
	s.wantFates(map[uint64]string{
		1: "done",
		2: "failed: no customer, again in 0 ms",
		3: "done",
		4: "failed: no customer, again in 1500 ms",
		5: "rejected: wrapped: no customer",
	})
	if st := s.client.Stats(); st.Handled != 5 || st.Failed != 3 {
		t.Errorf("%d of %d failed, want 3 of 5", st.Failed, st.Handled)
	}
}

// TestManyRanges acknowledges more messages, none behind the other, than one frame names.
func TestManyRanges(t *testing.T) {
	s := newScript(t)
	failing := map[string]error{}
	want := map[uint64]string{}
	var all []message
	for i := range uint64(1000) {
		n := 3*i + 1
		want[n], want[n+1] = "done", "failed: no customer, again in 0 ms"
		failing[fmt.Sprint(n+1)] = errNoCustomer
		all = append(all, message{sequence: n, tag: fmt.Sprint("orders/", n)}, message{sequence: n + 1, tag: fmt.Sprint("orders/", n+1)})
	}
	s.start(durable(byPayload(failing)))
	s.deliver(all...)
	s.wantFates(want)
}

func TestPanicIsAFailure(t *testing.T) {
	s := newScript(t)
	s.start(durable(stream.Sink(func(context.Context, *ferry.Message) error { panic("no \xff customer") })))
	s.deliver(message{sequence: 1})
	if got := s.fates(1)[1]; !strings.HasPrefix(got, "failed: panic: no  customer") {
		t.Errorf("got %.100q", got)
	}
}

// TestOrderAfterAFailure: later messages of a key that has failed are refused until the node delivers a message again. Other keys go on.
func TestOrderAfterAFailure(t *testing.T) {
	s := newScript(t)
	var mu sync.Mutex
	var handled []string
	failing := true
	s.start(durable(stream.Sink(func(_ context.Context, in *ferry.Message) error {
		mu.Lock()
		defer mu.Unlock()
		handled = append(handled, string(in.Payload))
		if failing && in.Sequence == 2 {
			return errNoCustomer
		}
		return nil
	})))
	s.deliver(message{1, "", "k", 0}, message{2, "", "k", 0}, message{3, "", "other", 0}, message{4, "", "k", 0})
	s.wantFates(map[uint64]string{1: "done", 2: "failed: no customer, again in 0 ms", 3: "done", 4: "not tried"})
	s.deliver(message{5, "", "k", 0}, message{6, "", "other", 0}) // these were on their way
	s.wantFates(map[uint64]string{5: "not tried", 6: "done"})
	mu.Lock()
	failing = false
	mu.Unlock()
	s.deliver(message{2, "", "k", 1}, message{4, "", "k", 0}, message{5, "", "k", 0})
	s.wantFates(map[uint64]string{2: "done", 4: "done", 5: "done"})
	if want := []string{"1", "2", "3", "6", "2", "4", "5"}; !slices.Equal(handled, want) {
		t.Errorf("handled %v, want %v", handled, want)
	}
}

// TestOrderAfterALateFailure: the node drops an output of a message after its handler has returned. Messages of its key that are
// handled later wait until it is delivered again.
func TestOrderAfterALateFailure(t *testing.T) {
	s := newScript(t)
	s.source("bills", true)
	var mu sync.Mutex
	var called []string
	s.start(durable(ferry.HandlerFunc(func(ctx context.Context, in *ferry.Message, out ferry.Sender) error {
		mu.Lock()
		called = append(called, string(in.Payload))
		mu.Unlock()
		if in.Sequence > 1 {
			return nil
		}
		return out.Send(ctx, ferry.Message{Tag: "bills", Payload: in.Payload})
	})))
	s.deliver(message{1, "", "k", 0})
	size := s.pubs("1")
	s.node.write(native.AppendNotice(nil, native.NoticeFrame{Tag: 5, Count: 1, Code: native.CodeInvalid, Reason: "not json"}))
	s.credit(size)
	s.wantFates(map[uint64]string{1: "failed: native: invalid payload: not json, again in 0 ms"})
	s.deliver(message{2, "", "k", 0}, message{3, "", "other", 0}, message{4, "", "k", 0}) // these were on their way
	s.wantFates(map[uint64]string{2: "not tried", 3: "done", 4: "not tried"})
	s.deliver(message{1, "", "k", 1}, message{2, "", "k", 0}, message{4, "", "k", 0})
	s.credit(s.pubs("1"))
	s.wantFates(map[uint64]string{1: "done", 2: "done", 4: "done"})
	if want := []string{"1", "3", "1", "2", "4"}; !slices.Equal(called, want) {
		t.Errorf("handled %v, want %v", called, want)
	}
}

// TestKeyThatWentElsewhere: the message that has failed is not delivered here again. A later one is refused once at most.
func TestKeyThatWentElsewhere(t *testing.T) {
	s := newScript(t)
	s.start(durable(byPayload(map[string]error{"1": errNoCustomer})))
	s.deliver(message{1, "", "k", 0})
	s.wantFates(map[uint64]string{1: "failed: no customer, again in 0 ms"})
	s.deliver(message{7, "", "k", 0})
	s.wantFates(map[uint64]string{7: "not tried"})
	s.deliver(message{7, "", "k", 0}, message{8, "", "k", 0})
	s.wantFates(map[uint64]string{7: "done", 8: "done"})
}

type batchFunc func(in []ferry.Message, out ferry.Sender) error

func (f batchFunc) Handle(_ context.Context, in *ferry.Message, out ferry.Sender) error {
	return f([]ferry.Message{*in}, out)
}

func (f batchFunc) HandleBatch(_ context.Context, in []ferry.Message, out ferry.Sender) error {
	return f(in, out)
}

func TestBatchOfADurable(t *testing.T) {
	s := newScript(t)
	var results []error
	var tags []string
	s.start(durable(batchFunc(func(in []ferry.Message, _ ferry.Sender) error {
		for _, m := range in {
			tags = append(tags, m.Tag)
		}
		clear(in) // the batch is the handler's own
		err := results[0]
		results = results[1:]
		return err
	})))
	results = []error{ferry.BatchError{1: errNoCustomer, 2: ferry.ErrNotTried}, errNoCustomer, nil}
	s.deliver(message{1, "orders/1", "", 0}, message{2, "orders/2", "", 0}, message{3, "orders/2", "", 0}, message{4, "orders/4", "", 0})
	s.wantFates(map[uint64]string{1: "done", 2: "failed: no customer, again in 0 ms", 3: "not tried", 4: "done"})
	s.deliver(message{2, "orders/2", "", 1}, message{3, "orders/2", "", 0}, message{5, "orders/4", "", 0})
	s.wantFates(map[uint64]string{2: "failed: no customer, again in 0 ms", 3: "failed: no customer, again in 0 ms", 5: "failed: no customer, again in 0 ms"})
	s.deliver(message{2, "orders/2", "", 2}, message{3, "orders/2", "", 1})
	s.wantFates(map[uint64]string{2: "done", 3: "done"})
	if want := []string{"orders/1", "orders/2", "orders/2", "orders/4", "orders/2", "orders/2", "orders/4", "orders/2", "orders/2"}; !slices.Equal(tags, want) {
		t.Errorf("got the tags %v, want %v", tags, want)
	}
	if st := s.client.Stats(); st.Failed != 2 {
		t.Errorf("%d failures, want one of the first batch and the second batch", st.Failed)
	}
}

// TestInProgress: a handler that runs for longer than the node waits does not lose its message.
func TestInProgress(t *testing.T) {
	s := newScript(t)
	release := make(chan struct{})
	started := make(chan *stream.Running, 1)
	go func() {
		r, err := s.client.Start(t.Context(), durable(stream.Sink(func(context.Context, *ferry.Message) error {
			<-release
			return nil
		})))
		if err != nil {
			t.Error(err)
		}
		started <- r
	}()
	sub := s.subscribed(30)
	<-started
	s.deliver(message{sequence: 1})
	for range 3 {
		if v, err := native.ParseAck(s.node.expect(native.Ack)); err != nil || !v.InProgress || v.Sub != sub.ID {
			t.Fatalf("got %+v, %v", v, err)
		}
	}
	close(release)
	for {
		v, err := native.ParseAck(s.node.expect(native.Ack))
		if err != nil {
			t.Fatal(err)
		}
		if !v.InProgress {
			break
		}
	}
}

// TestAckWaitsForOutputs: a message is acknowledged when what its handler has sent is stored. If that was dropped, the message has failed.
func TestAckWaitsForOutputs(t *testing.T) {
	s := newScript(t)
	s.source("bills", true)
	s.start(durable(ferry.HandlerFunc(func(ctx context.Context, in *ferry.Message, out ferry.Sender) error {
		if in.Sequence == 4 {
			return nil
		}
		return out.Send(ctx, ferry.Message{Tag: "bills", Payload: in.Payload})
	})))
	s.deliver(message{1, "orders/1", "", 0}, message{2, "orders/2", "", 0}, message{3, "orders/3", "", 0}, message{4, "orders/4", "", 0})
	size := 0
	var got map[uint64]string
	for range 3 { // the ACK of message 4 comes at some time
		f := s.node.next()
		if f.Kind() == native.Ack {
			v, _ := native.ParseAck(f)
			got = map[uint64]string{}
			for r := range native.RangesOf(v.Ranges) {
				got[r.First] = "done"
			}
			f = s.node.next()
		}
		size = len(f)
	}
	if got == nil {
		got = s.fates(1)
	}
	if fmt.Sprint(got) != fmt.Sprint(map[uint64]string{4: "done"}) {
		t.Errorf("before the outputs are stored: got %v, want message 4", got)
	}
	s.credit(size)
	s.wantFates(map[uint64]string{1: "done"})
	s.node.write(native.AppendNotice(nil, native.NoticeFrame{Tag: 5, Count: 1, Code: native.CodeInvalid, Reason: "not json"}))
	s.credit(2 * size)
	s.wantFates(map[uint64]string{2: "failed: native: invalid payload: not json, again in 0 ms", 3: "done"})
}

// TestDurableAfterALostConnection: what an earlier connection has delivered is neither handled nor acknowledged on the next one. The
// handler that runs meanwhile does not overlap with the one for the same key.
func TestDurableAfterALostConnection(t *testing.T) {
	s := newScript(t)
	calls, results := make(chan uint64), make(chan error)
	s.start(durable(stream.Sink(func(_ context.Context, in *ferry.Message) error {
		calls <- in.Sequence*10 + uint64(in.Deliveries)
		return <-results
	})))
	s.deliver(message{1, "", "k", 0}, message{2, "", "k", 0}, message{3, "", "k", 0})
	if got := <-calls; got != 10 {
		t.Fatalf("the first call has message %d", got)
	}
	s.lose()
	s.subscribed(30_000)
	s.deliver(message{1, "", "k", 1}, message{2, "", "k", 1})
	s.node.write(native.AppendPing(nil, false, 7))
	s.node.expect(native.Ping) // the messages have arrived
	select {
	case got := <-calls:
		t.Errorf("message %d is handled while the handler of its key still runs", got)
	default:
	}
	results <- nil
	for _, want := range []uint64{11, 21} {
		if got := <-calls; got != want {
			t.Errorf("got message %d, want %d: sequence number and deliveries", got, want)
		}
		results <- nil
	}
	s.wantFates(map[uint64]string{1: "done", 2: "done"})
}

// TestStopOfADurable: a handler that returns nil after Stop has handled its message; one that returns an error has been interrupted.
// The others are given back untried.
func TestStopOfADurable(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"done", nil, "done"},
		{"interrupted", context.Canceled, "failed: the function was stopped while it handled the message, again in 1 ms"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScript(t)
			called := make(chan struct{}, 3)
			r, sub := s.start(durable(stream.Sink(func(ctx context.Context, _ *ferry.Message) error {
				called <- struct{}{}
				<-ctx.Done()
				return c.err
			})))
			s.deliver(message{sequence: 1}, message{sequence: 2})
			<-called
			stopped := make(chan struct{})
			go func() {
				r.Stop()
				close(stopped)
			}()
			s.wantFates(map[uint64]string{1: c.want})
			f := s.node.expect(native.Unsub)
			if id, err := native.ParseNumber(f); id != sub.ID || err != nil || f.Flags()&native.FlagNotTried == 0 {
				t.Errorf("got UNSUB %d with flags %#x, %v", id, f.Flags(), err)
			}
			<-stopped
			if len(called) > 0 {
				t.Error("the second message was handled after Stop")
			}
		})
	}
}

// TestCloseAcknowledges: Close sends the acknowledgements of running handlers before it ends the connection.
func TestCloseAcknowledges(t *testing.T) {
	s := newScript(t)
	called := make(chan struct{})
	s.start(durable(stream.Sink(func(ctx context.Context, _ *ferry.Message) error {
		close(called)
		<-ctx.Done()
		return nil
	})))
	s.deliver(message{sequence: 1})
	<-called
	closed := make(chan error, 1)
	go func() { closed <- s.client.Close() }()
	s.wantFates(map[uint64]string{1: "done"})
	s.node.expect(native.Unsub)
	s.pong()
	s.node.expect(native.Goaway)
	_ = s.node.conn.Close()
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

// TestCloseIsBounded: Close ends the wait of a durable's handler for a storage that takes nothing.
func TestCloseIsBounded(t *testing.T) {
	s := newScript(t)
	src := s.source("bills", true)
	sent := make(chan error, 1)
	s.start(durable(stream.Sink(func(context.Context, *ferry.Message) error {
		err := src.SendStored(context.Background(), payload("bill"))
		sent <- err
		return err
	})))
	s.deliver(message{sequence: 1})
	s.pubs("bill")
	closed := make(chan error, 1)
	go func() { closed <- s.client.Close() }()
	select {
	case <-closed:
	case <-time.After(30 * time.Second):
		t.Fatal("Close has not returned after 30 s")
	}
	if err := <-sent; !errors.Is(err, stream.ErrClosed) {
		t.Errorf("SendStored: got %v, want ErrClosed", err)
	}
}

// TestReaderGoesOn: a function without a durable acknowledges nothing, returns credit, and goes on behind what it has received.
func TestReaderGoesOn(t *testing.T) {
	s := newScript(t)
	got := newCollector()
	_, sub := s.start(stream.Function{Observe: []string{"orders/#"}, From: stream.FromFirst(), Concurrency: 1, Window: 100, Handler: got})
	if sub.Start != native.StartFirst || sub.Durable != "" || sub.Window != 100 {
		t.Errorf("got %+v", sub)
	}
	m := message{sequence: 41}
	s.deliver(m)
	if v, err := native.ParseCredit(s.node.expect(native.Credit)); err != nil || v != (native.CreditFrame{Sub: sub.ID, Tag: native.ByName, Bytes: uint32(len(m.frame()))}) {
		t.Errorf("got %+v, %v", v, err)
	}
	s.lose()
	if sub := s.subscribed(0); sub.Start != native.StartSequence || sub.Value != 42 {
		t.Errorf("after a lost connection: got %+v", sub)
	}
	s.deliver(message{sequence: 42})
	if got := got.await(t, 2); !same(got, []string{"41", "42"}) {
		t.Errorf("got %v", got)
	}
}

func TestMessageOfAStream(t *testing.T) {
	s := newScript(t)
	got := make(chan ferry.Message, 1)
	s.start(durable(stream.Sink(func(_ context.Context, in *ferry.Message) error {
		got <- in.Clone()
		return nil
	})))
	extension := native.AppendMessageTLVs(nil, &ferry.Message{Key: []byte("k"), ID: "o-1"})
	s.node.write(native.AppendStoredPub(nil, native.PubHeader{Type: ferry.JSON, Time: 77}, native.Stored{Tag: "orders/9", Sequence: 1 << 40, Deliveries: 3}, extension, []byte("{}")))
	m := <-got
	want := ferry.Message{Tag: "orders/9", Type: ferry.JSON, Payload: []byte("{}"), Time: 77, Key: []byte("k"), ID: "o-1", Sequence: 1 << 40, Deliveries: 3}
	if fmt.Sprintf("%+v", m) != fmt.Sprintf("%+v", want) {
		t.Errorf("got %+v\nwant %+v", m, want)
	}
}

func TestOlderNodeStoresNoStreams(t *testing.T) {
	s := newScript(t)
	started := make(chan error, 1)
	go func() {
		_, err := s.client.Start(t.Context(), durable(newCollector()))
		started <- err
	}()
	sub, err := native.ParseSub(s.node.expect(native.Sub))
	if err != nil {
		t.Fatal(err)
	}
	s.node.write(native.AppendResult(nil, native.ResultFrame{Kind: native.Sub, Ref: sub.ID}))
	s.node.expect(native.Unsub)
	if err := <-started; err == nil || !strings.Contains(err.Error(), "stores no streams") {
		t.Errorf("got %v", err)
	}
}

func TestMalformedStoredPub(t *testing.T) {
	for name, frame := range map[string][]byte{
		"no sequence number": native.AppendExtendedPub(nil, native.PubHeader{Tag: native.ByName}, native.AppendTLV(nil, native.TLVTagName, "a"), nil),
		"with a tag number":  native.AppendPub(nil, native.PubHeader{Tag: 1}, nil),
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t)
			s.start(durable(newCollector()))
			s.node.write(frame)
			g, err := native.ParseGoaway(s.node.expect(native.Goaway))
			if err != nil || g.Code != native.CodeProtocol {
				t.Errorf("got %+v, %v, want a protocol error", g, err)
			}
		})
	}
}

// TestMessageBeforeAMalformedOne: a function without a durable handles what came before a protocol error, because it goes on behind it.
func TestMessageBeforeAMalformedOne(t *testing.T) {
	s := newScript(t)
	got := newCollector()
	s.start(stream.Function{Observe: []string{"orders/#"}, From: stream.FromFirst(), Concurrency: 1, Handler: got})
	s.node.write(append(message{sequence: 41}.frame(), native.AppendPub(nil, native.PubHeader{Tag: 1}, nil)...))
	s.node.expect(native.Goaway)
	s.lose()
	if sub := s.subscribed(0); sub.Value != 42 {
		t.Errorf("after the protocol error: got %+v, want a SUB from 42", sub)
	}
	if got := got.await(t, 1); !same(got, []string{"41"}) {
		t.Errorf("got %v", got)
	}
}

func TestFunctionsThatReadStreamsAreChecked(t *testing.T) {
	s := newScript(t)
	for want, change := range map[string]func(*stream.Function){
		"Durable is":  func(f *stream.Function) { f.Durable = "a b" },
		"one":         func(f *stream.Function) { f.Observe = []string{"a", "b"} },
		"Group":       func(f *stream.Function) { f.Group = "g" },
		"Addressed":   func(f *stream.Function) { f.Addressed = true },
		"drop-oldest": func(f *stream.Function) { f.Policy = stream.DropOldest },
	} {
		f := durable(newCollector())
		change(&f)
		if _, err := s.client.Start(t.Context(), f); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error about %s", err, want)
		}
	}
}

func TestParseFrom(t *testing.T) {
	at := time.Date(2026, 1, 2, 15, 4, 5, 6000, time.UTC)
	for text, want := range map[string]stream.From{
		"first": stream.FromFirst(), "42": stream.FromSequence(42), "2026-01-02T15:04:05.000006Z": stream.FromTime(at),
	} {
		if got, err := stream.ParseFrom(text); got != want || err != nil {
			t.Errorf("%s: got %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "last", "-1", "2026-01-02"} {
		if got, err := stream.ParseFrom(text); err == nil {
			t.Errorf("%q was parsed as %+v", text, got)
		}
	}
}
