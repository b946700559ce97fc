package calltest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"example.com/ferry/rpc/call"
)

// tests are the contract.
var tests = []test{
	{name: "echo", run: echo},
	{name: "status", run: status},
	{name: "details", run: details, missing: needsDetails},
	{name: "large status", run: largeStatus},
	{name: "unknown method", run: unknownMethod},
	{name: "metadata", run: metadata},
	{name: "header and trailer", run: headerAndTrailer, missing: needsHeader},
	{name: "compression", run: compression, missing: needsCompression},
	{name: "message limit", run: messageLimit},
	{name: "deadline", run: deadline},
	{name: "deadline of the context", run: contextDeadline},
	{name: "deadline that has passed", run: passedDeadline},
	{name: "cancel", run: cancel},
	{name: "cancellation storm", run: cancellationStorm, load: true},
	{name: "many calls at once", run: manyCalls, load: true},
	{name: "large response beside small ones", run: largeBesideSmall, load: true},
	{name: "numbers", run: numbers},
	{name: "drain", run: drain},
	{name: "drain that is late", run: lateDrain},
	{name: "close of the connection", run: closeConn},
	{name: "lost connection", run: lostConnection},
	{name: "requests of a stream", run: up, missing: needsStreams},
	{name: "responses of a stream", run: down, missing: needsStreams},
	{name: "both streams", run: both, missing: needsStreams},
	{name: "streams at once", run: manyStreams, missing: needsStreams, load: true},
	{name: "status of a stream", run: streamStatus, missing: needsStreams},
	{name: "stream of an unknown method", run: unknownStream, missing: needsStreams},
	{name: "server ends a stream early", run: early, missing: needsStreams},
	{name: "server ends a stream beside its Recv", run: left, missing: needsStreams},
	{name: "client that does not read", run: slowClient, missing: needsStreams},
	{name: "server that does not read", run: slowServer, missing: needsStreams, load: true},
	{name: "cancel of a stream", run: cancelStream, missing: needsStreams},
	{name: "context of a stream", run: contextOfStream, missing: needsStreams},
	{name: "deadline of a stream", run: deadlineOfStream, missing: needsStreams},
	{name: "drain with a stream", run: drainStream, missing: needsStreams},
}

func echo(r *rig) {
	for i, size := range []int{0, 1, 581, 16 << 10, 64 << 10, 65<<10 + 1, 1 << 20, r.subject.MaxMessage - 1024} {
		want := r.subject.Message(size, byte(i))
		resp, err := r.call(r.Context(), r.head("Echo"), want)
		if err != nil || !bytes.Equal(resp.Data, want) {
			r.Errorf("%d bytes: got %d that are equal: %v, %v", len(want), len(resp.Data), bytes.Equal(resp.Data, want), err)
		}
		resp.Release()
	}
}

func status(r *rig) {
	_, err := r.call(r.Context(), r.head("Fail"), r.subject.Message(10, 1))
	if s := r.wantStatus("Fail", err, failure.Code); s.Message != failure.Message {
		r.Errorf("got message %q, want %q", s.Message, failure.Message)
	}
}

// largeStatus: a status that is too large for the protocol loses a part of its message, details or trailer, and never its code.
func largeStatus(r *rig) {
	for _, what := range []string{"message", "detail", "details", "trailer", "all"} {
		head := r.head("Large")
		head.Metadata = call.Metadata{{Name: "large", Value: what}}
		_, err := r.call(r.Context(), head, r.subject.Message(10, 0))
		s := r.wantStatus("a large "+what, err, call.NotFound)
		switch {
		case !utf8.ValidString(s.Message):
			r.Errorf("a large %s: the message is cut within a character", what)
		case what != "message" && what != "all" && s.Message != "no such pump":
			r.Errorf("a large %s: the message is %.100q", what, s.Message)
		case what == "message" && len(s.Message) < 64:
			r.Errorf("a large message: %q is left of it", s.Message)
		case what == "detail" && !r.subject.NoDetails && (len(s.Details) == 0 || s.Details[len(s.Details)-1].Type != "a.Small"):
			r.Errorf("a large detail: the small one is lost")
		}
	}
	r.wantNext()
}

func details(r *rig) {
	resp, err := r.call(r.Context(), r.head("Fail"), r.subject.Message(10, 1))
	s := r.wantStatus("Fail", err, failure.Code)
	if len(s.Details) != 1 || s.Details[0].Type != failure.Details[0].Type || !bytes.Equal(s.Details[0].Value, failure.Details[0].Value) {
		r.Errorf("got details %v, want %v", s.Details, failure.Details)
	}
	if got := resp.Trailer.Get("pump"); got != "off" && !r.subject.NoHeader {
		r.Errorf("got trailer %v, want pump: off", resp.Trailer)
	}
}

func unknownMethod(r *rig) {
	head := r.head("Missing")
	_, err := r.call(r.Context(), head, r.subject.Message(10, 1))
	r.wantCode("a method that does not exist", err, call.Unimplemented)
	r.wantNext()
}

func metadata(r *rig) {
	head := r.head("Echo")
	want := call.Metadata{
		{Name: "traceparent", Value: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
		{Name: "tracestate", Value: "a=1,b=2"},
		{Name: "user", Value: "Bo"},
		{Name: "user", Value: "Al"},
		{Name: "key-bin", Value: "\x00\xff\n"},
		{Name: "empty", Value: ""},
	}
	head.Metadata = want
	resp, err := r.call(r.Context(), head, r.subject.Message(10, 1))
	if err != nil {
		r.Fatal(err)
	}
	resp.Release()
	got := r.service.lastHead()
	if got.Method != head.Method || got.Content != head.Content {
		r.Errorf("got method %s with content %s, want %s, %s", got.Method, got.Content, head.Method, head.Content)
	}
	for _, f := range want {
		if g, w := got.Metadata.Values(f.Name), want.Values(f.Name); !slices.Equal(g, w) {
			r.Errorf("metadata %s: got %q, want %q", f.Name, g, w)
		}
	}
	for _, bad := range []call.Field{{Name: "a b", Value: "x"}, {Name: "", Value: "x"}, {Name: "a", Value: "line\r\nbreak"}} {
		head.Metadata = call.Metadata{bad}
		_, err := r.call(r.Context(), head, r.subject.Message(10, 1))
		r.wantCode(fmt.Sprintf("metadata %q", bad), err, call.InvalidArgument)
	}
}

func headerAndTrailer(r *rig) {
	head := r.head("Header")
	head.Metadata = call.Metadata{{Name: "h-1", Value: "a"}, {Name: "t-1", Value: "b"}, {Name: "h-2-bin", Value: "\x00"}, {Name: "t-2", Value: ""}}
	resp, err := r.call(r.Context(), head, r.subject.Message(10, 1))
	if err != nil {
		r.Fatal(err)
	}
	defer resp.Release()
	if len(resp.Header.Values("h-1")) != 1 || resp.Header.Get("h-1") != "a" || resp.Header.Get("h-2-bin") != "\x00" {
		r.Errorf("got header %q", resp.Header)
	}
	if resp.Trailer.Get("t-1") != "b" || len(resp.Trailer.Values("t-2")) != 1 || resp.Trailer.Get("h-1") != "" {
		r.Errorf("got trailer %q", resp.Trailer)
	}
}

func compression(r *rig) {
	for i, name := range []string{"gzip", "zstd"} {
		for _, size := range []int{0, 100, 10_000, 200_000} {
			head := r.head("Echo")
			head.Compression = name
			want := r.subject.Message(size, byte(i))
			resp, err := r.call(r.Context(), head, want)
			if err != nil || !bytes.Equal(resp.Data, want) {
				r.Errorf("%s of %d bytes: got %d, %v", name, len(want), len(resp.Data), err)
			}
			resp.Release()
		}
	}
	head := r.head("Echo")
	head.Compression = "br"
	_, err := r.call(r.Context(), head, r.subject.Message(10, 1))
	r.wantCode("an unknown compression", err, call.InvalidArgument)
}

// messageLimit sends too much, also as a small message that becomes too large.
func messageLimit(r *rig) {
	_, err := r.call(r.Context(), r.head("Echo"), r.subject.Message(r.subject.MaxMessage+64<<10, 1))
	r.wantCode("a message above the limit", err, call.ResourceExhausted)
	if !r.subject.NoCompression {
		head := r.head("Echo")
		head.Compression = "zstd"
		_, err := r.call(r.Context(), head, make([]byte, 4*r.subject.MaxMessage))
		r.wantCode("a message above the limit once it is decompressed", err, call.ResourceExhausted)
	}
	r.wantNext()
}

func deadline(r *rig) {
	head := r.head("Wait")
	head.Deadline = time.Now().Add(30 * time.Millisecond)
	_, err := r.call(r.Context(), head, r.subject.Message(10, 1))
	r.wantCode("after the deadline", err, call.DeadlineExceeded)
	r.awaitHandlers(1)
	if at := r.service.lastHead().Deadline; at.IsZero() || at.After(head.Deadline.Add(patience)) {
		r.Errorf("the server has deadline %v, want about %v", at, head.Deadline)
	}
	if err := r.service.contextErr(); err == nil {
		r.Error("the handler's context has no error")
	}
}

func (s *service) contextErr() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ctxErr
}

// awaitHandlers waits until n handlers have returned.
func (r *rig) awaitHandlers(n int) {
	r.Helper()
	within(r.T, "handlers to return", func() bool { _, ended := r.service.counts(); return ended >= n })
}

// awaitBegun waits until n handlers have begun.
func (r *rig) awaitBegun(n int) {
	r.Helper()
	within(r.T, "handlers to begin", func() bool { begun, _ := r.service.counts(); return begun >= n })
}

func contextDeadline(r *rig) {
	ctx, cancel := context.WithTimeout(r.Context(), 30*time.Millisecond)
	defer cancel()
	_, err := r.call(ctx, r.head("Wait"), r.subject.Message(10, 1))
	r.wantCode("after the deadline", err, call.DeadlineExceeded)
	r.awaitHandlers(1)
	if at := r.service.lastHead().Deadline; at.IsZero() {
		r.Error("the server does not know the deadline of the context")
	}
}

func passedDeadline(r *rig) {
	head := r.head("Echo")
	head.Deadline = time.Now().Add(-time.Second)
	_, err := r.call(r.Context(), head, r.subject.Message(10, 1))
	r.wantCode("a deadline that has passed", err, call.DeadlineExceeded)
	ctx, cancel := context.WithCancel(r.Context())
	cancel()
	_, err = r.call(ctx, r.head("Wait"), r.subject.Message(10, 1))
	r.wantCode("a context that has ended", err, call.Canceled)
	caused, because := context.WithCancelCause(r.Context())
	because(errors.New("the user has left"))
	_, err = r.call(caused, r.head("Wait"), r.subject.Message(10, 1))
	r.wantCode("a context that has ended for a reason", err, call.Canceled)
}

func cancel(r *rig) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	ended := r.begin(ctx, "Wait")
	r.awaitBegun(1)
	cancel()
	r.wantCode("a cancelled call", <-ended, call.Canceled)
	r.awaitHandlers(1)
	r.wantNext()
}

// cancellationStorm cancels calls at all stages. The connection must survive.
func cancellationStorm(r *rig) {
	const callers, calls = 8, 100
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() {
			for i := range calls {
				ctx, cancel := context.WithCancel(r.Context())
				if i%3 == 0 {
					cancel()
				} else {
					time.AfterFunc(time.Duration(i*caller%50)*10*time.Microsecond, cancel)
				}
				resp, err := r.call(ctx, r.head([]string{"Wait", "Echo"}[i%2]), r.subject.Message(100*i, 1))
				if s := call.StatusOf(err); s != nil && s.Code != call.Canceled {
					r.Errorf("got %v", s)
				}
				resp.Release()
				cancel()
			}
		})
	}
	all.Wait()
	r.wantNext()
	within(r.T, "the handlers to return", func() bool { begun, ended := r.service.counts(); return begun == ended })
}

func manyCalls(r *rig) {
	var all sync.WaitGroup
	for caller := range 32 {
		all.Go(func() {
			want := r.subject.Message(581+caller, byte(caller))
			for range 40 {
				resp, err := r.call(r.Context(), r.head("Echo"), want)
				if err != nil || !bytes.Equal(resp.Data, want) {
					r.Errorf("got %d bytes, %v, want %d", len(resp.Data), err, len(want))
					return
				}
				resp.Release()
			}
		})
	}
	all.Wait()
}

// largeBesideSmall has small calls while a large one is under way in both directions.
func largeBesideSmall(r *rig) {
	want := r.subject.Message(r.subject.MaxMessage-1024, 1)
	ended := make(chan error, 1)
	go func() {
		var err error
		for i := 0; i < 2 && err == nil; i++ {
			var resp call.Response
			resp, err = r.call(r.Context(), r.head("Echo"), want)
			if err == nil && !bytes.Equal(resp.Data, want) {
				err = fmt.Errorf("got %d other bytes", len(resp.Data))
			}
			resp.Release()
		}
		ended <- err
	}()
	small := r.subject.Message(10, 2)
	for {
		select {
		case err := <-ended:
			r.wantCode("the large call", err, call.OK)
			return
		default:
			resp, err := r.call(r.Context(), r.head("Echo"), small)
			if err != nil || !bytes.Equal(resp.Data, small) {
				r.Errorf("got %q, %v", resp.Data, err)
			}
			resp.Release()
		}
	}
}

// numbers uses the number of a call before the call, as an envelope does.
func numbers(r *rig) {
	numbered, ok := r.conn.(call.Numbered)
	if !ok {
		return
	}
	first, second := numbered.NextID(), numbered.NextID()
	if first == second {
		r.Fatalf("NextID returned %d twice", first)
	}
	for _, id := range []uint64{second, first, 0} {
		head := r.head("Echo")
		head.ID = id
		resp, err := r.call(r.Context(), head, r.subject.Message(10, 1))
		if got := r.service.lastHead().ID; err != nil || id != 0 && got != id {
			r.Errorf("the server has number %d, %v, want %d", got, err, id)
		}
		resp.Release()
	}
}
