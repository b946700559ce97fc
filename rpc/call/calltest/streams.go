package calltest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strconv"
	"sync"
	"time"

	"example.com/ferry/rpc/call"
)

func (r *rig) open(ctx context.Context, head *call.Head) call.ClientStream {
	r.Helper()
	s, err := r.conn.Open(ctx, head)
	if err != nil {
		r.Fatal(err)
	}
	return s
}

// send sends a message and reports an error.
func (r *rig) send(s call.ClientStream, data []byte) bool {
	r.Helper()
	if err := s.Send(data); err != nil {
		_, why := s.Recv()
		r.Errorf("Send: %v, Recv: %v", err, why)
		return false
	}
	return true
}

// wantEnd reports an end other than OK.
func (r *rig) wantEnd(s call.ClientStream) {
	r.Helper()
	if _, err := s.Recv(); !errors.Is(err, io.EOF) {
		r.Errorf("the end of the stream: got %v, want io.EOF", err)
	}
}

func up(r *rig) {
	for _, size := range []int{0, 10, 200_000} {
		s := r.open(r.Context(), r.head("Up"))
		want := r.subject.Message(size, 7)
		for i := range 20 {
			data := r.subject.Message(size, byte(i))
			if i == 19 {
				data = want
			}
			if !r.send(s, data) {
				return
			}
		}
		if err := s.CloseSend(); err != nil {
			r.Error(err)
		}
		got, err := s.Recv()
		if err != nil || !bytes.Equal(got, want) {
			r.Errorf("got %d bytes, %v, want the last of the requests, %d", len(got), err, len(want))
		}
		r.wantEnd(s)
		if got := s.Trailer().Get("count"); got != "20" {
			r.Errorf("the server has read %s requests of 20", got)
		}
	}
}

func down(r *rig) {
	for _, size := range []int{0, 10, 200_000} {
		head := r.head("Down")
		head.Metadata = call.Metadata{{Name: "count", Value: "20"}}
		s := r.open(r.Context(), head)
		want := r.subject.Message(size, 7)
		r.send(s, want)
		if err := s.CloseSend(); err != nil {
			r.Error(err)
		}
		for range 20 {
			if got, err := s.Recv(); err != nil || !bytes.Equal(got, want) {
				r.Fatalf("got %d bytes, %v, want %d", len(got), err, len(want))
			}
		}
		r.wantEnd(s)
		if got := s.Trailer().Get("sent"); got != "20" {
			r.Errorf("got trailer %v", s.Trailer())
		}
	}
}

func both(r *rig) {
	s := r.open(r.Context(), r.head("Both"))
	for i := range 100 {
		want := r.subject.Message(i*100, byte(i))
		if !r.send(s, want) {
			return
		}
		if got, err := s.Recv(); err != nil || !bytes.Equal(got, want) {
			r.Fatalf("message %d: got %d bytes, %v, want %d", i, len(got), err, len(want))
		}
	}
	header, err := s.Header()
	if err != nil || header.Get("shape") != "both" && !r.subject.NoHeader {
		r.Errorf("got header %v, %v", header, err)
	}
	if err := s.CloseSend(); err != nil {
		r.Error(err)
	}
	r.wantEnd(s)
	if got := s.Trailer().Get("shape"); got != "both" {
		r.Errorf("got trailer %v", s.Trailer())
	}
}

// manyStreams has streams whose ends send and receive at the same time.
func manyStreams(r *rig) {
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			s := r.open(r.Context(), r.head("Both"))
			const count = 200
			all.Go(func() {
				for i := range count {
					if !r.send(s, r.subject.Message(i*17, byte(n))) {
						return
					}
				}
				if err := s.CloseSend(); err != nil {
					r.Error(err)
				}
			})
			for i := range count {
				got, err := s.Recv()
				if want := r.subject.Message(i*17, byte(n)); err != nil || !bytes.Equal(got, want) {
					r.Errorf("message %d: got %d bytes, %v, want %d", i, len(got), err, len(want))
					s.Cancel()
					return
				}
			}
			r.wantEnd(s)
		})
	}
	all.Wait()
}

func streamStatus(r *rig) {
	s := r.open(r.Context(), r.head("Fail"))
	r.send(s, r.subject.Message(10, 1))
	_ = s.CloseSend()
	_, err := s.Recv()
	if got := r.wantStatus("Fail", err, failure.Code); got.Message != failure.Message {
		r.Errorf("got %q, want %q", got.Message, failure.Message)
	}
	if got := s.Trailer().Get("pump"); got != "off" {
		r.Errorf("got trailer %v", s.Trailer())
	}
	_, again := s.Recv()
	r.wantCode("Recv again", again, failure.Code)
}

func unknownStream(r *rig) {
	s := r.open(r.Context(), r.head("Missing"))
	_, err := s.Recv()
	r.wantCode("a method that does not exist", err, call.Unimplemented)
}

// early has a server that ends the call while the client still sends.
func early(r *rig) {
	s := r.open(r.Context(), r.head("Early"))
	data := r.subject.Message(10_000, 1)
	within(r.T, "Send to fail", func() bool { return errors.Is(s.Send(data), io.EOF) })
	_, err := s.Recv()
	r.wantCode("the end", err, call.OutOfRange)
}

// left has a server that ends the call while one of its goroutines waits for a request.
func left(r *rig) {
	for range 20 {
		s := r.open(r.Context(), r.head("Left"))
		r.wantEnd(s)
	}
	r.awaitHandlers(20)
}

// slowClient reads nothing. The server must not send without bound, and other calls must go on.
func slowClient(r *rig) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	s := r.open(ctx, r.head("Flood"))
	data := r.subject.Message(10_000, 1)
	r.send(s, data)
	_ = s.CloseSend()
	sent := r.settled(func() int { r.service.mu.Lock(); defer r.service.mu.Unlock(); return r.service.sent })
	if sent*len(data) > 64<<20 {
		r.Errorf("the server has sent %d responses of %d bytes that the client does not read", sent, len(data))
	}
	resp, err := r.call(r.Context(), r.head("Echo"), data)
	r.wantCode("a call beside it", err, call.OK)
	resp.Release()
	for range sent + 100 { // the server goes on as soon as the client reads
		if got, err := s.Recv(); err != nil || !bytes.Equal(got, data) {
			r.Fatalf("got %d bytes, %v", len(got), err)
		}
	}
	s.Cancel()
	within(r.T, "the handler to return", func() bool { begun, ended := r.service.counts(); return begun == ended })
}

// settled returns the value of f after it has not changed for a while.
func (r *rig) settled(f func() int) int {
	r.Helper()
	last, since := -1, time.Now()
	within(r.T, "a sender to pause", func() bool {
		if v := f(); v != last || v == 0 {
			last, since = v, time.Now()
		}
		return time.Since(since) > 200*time.Millisecond
	})
	return last
}

// slowServer has a handler that reads nothing. The client's Send must block.
func slowServer(r *rig) {
	s := r.open(r.Context(), r.head("Late"))
	data := r.subject.Message(60_000, 1)
	var mu sync.Mutex
	sent := 0
	const count = 200 // 12 MB
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range count {
			if !r.send(s, data) {
				return
			}
			mu.Lock()
			sent++
			mu.Unlock()
		}
		_ = s.CloseSend()
	}()
	if n := r.settled(func() int { mu.Lock(); defer mu.Unlock(); return sent }); n == count {
		r.Errorf("the client has sent %d requests of %d bytes that the server does not read", n, len(data))
	}
	resp, err := r.call(r.Context(), r.head("Echo"), data)
	r.wantCode("a call beside it", err, call.OK)
	resp.Release()
	close(r.service.gate)
	<-done
	if got, err := s.Recv(); err != nil || !bytes.Equal(got, data) {
		r.Errorf("got %d bytes, %v", len(got), err)
	}
	r.wantEnd(s)
	if got := s.Trailer().Get("count"); got != strconv.Itoa(count) {
		r.Errorf("the server has read %s of %d", got, count)
	}
}

func cancelStream(r *rig) {
	s := r.open(r.Context(), r.head("Both"))
	received := make(chan error, 1)
	go func() {
		_, err := s.Recv()
		received <- err
	}()
	r.awaitBegun(1)
	s.Cancel()
	s.Cancel()
	r.wantCode("Recv of a cancelled stream", <-received, call.Canceled)
	if err := s.Send(r.subject.Message(10, 1)); !errors.Is(err, io.EOF) {
		r.Errorf("Send of a cancelled stream: got %v, want io.EOF", err)
	}
	r.awaitHandlers(1)
}

// contextOfStream ends the context while Send waits for a server that does not read.
func contextOfStream(r *rig) {
	ctx, cancel := context.WithCancel(r.Context())
	s := r.open(ctx, r.head("Late"))
	data := r.subject.Message(10_000, 1)
	ended := make(chan error, 1)
	go func() {
		for {
			if err := s.Send(data); err != nil {
				ended <- err
				return
			}
		}
	}()
	r.awaitBegun(1)
	cancel()
	if err := <-ended; !errors.Is(err, io.EOF) {
		r.Errorf("Send: got %v, want io.EOF", err)
	}
	_, err := s.Recv()
	r.wantCode("Recv", err, call.Canceled)
	r.awaitHandlers(1)
}

func deadlineOfStream(r *rig) {
	head := r.head("Both")
	head.Deadline = time.Now().Add(30 * time.Millisecond)
	s := r.open(r.Context(), head)
	_, err := s.Recv()
	r.wantCode("after the deadline", err, call.DeadlineExceeded)
	r.awaitHandlers(1)
}

// drainStream drains the server while a stream is open. The stream goes on.
func drainStream(r *rig) {
	s := r.open(r.Context(), r.head("Both"))
	r.awaitBegun(1)
	drained := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		drained <- r.server.Drain(ctx)
	}()
	<-r.conn.Closing()
	if _, err := r.conn.Open(r.Context(), r.head("Both")); call.StatusOf(err) == nil {
		r.Error("a stream was opened while the server drains")
	}
	want := r.subject.Message(100, 1)
	r.send(s, want)
	if got, err := s.Recv(); err != nil || !bytes.Equal(got, want) {
		r.Errorf("got %q, %v", got, err)
	}
	_ = s.CloseSend()
	r.wantEnd(s)
	if err := <-drained; err != nil {
		r.Errorf("Drain: %v", err)
	}
}
