package calltest

import (
	"context"
	"errors"
	"time"

	"example.com/ferry/rpc/call"
)

// drain stops the server while a call is in progress. The call ends well, the connection closes, and no further call begins.
func drain(r *rig) {
	called := r.begin(r.Context(), "Hold")
	r.awaitBegun(1)
	drained := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		drained <- r.server.Drain(ctx)
	}()
	if r.subject.LateNotice {
		within(r.T, "the listener to close", func() bool { return !r.canDial() })
		close(r.service.gate)
		r.wantCode("the call in progress", <-called, call.OK)
	}
	select {
	case <-r.conn.Closing():
	case <-time.After(patience):
		r.Fatal("the connection has not learned that the server drains")
	}
	r.wantUnsent("a call while the server drains")
	if r.canDial() {
		r.Error("a server that drains has accepted a connection")
	}
	if !r.subject.LateNotice {
		select {
		case err := <-drained:
			r.Errorf("Drain returned %v while a call was in progress", err)
		default:
		}
		close(r.service.gate)
		r.wantCode("the call in progress", <-called, call.OK)
	}
	if err := <-drained; err != nil {
		r.Errorf("Drain: %v", err)
	}
	within(r.T, "the connection to end", func() bool { return r.conn.Err() != nil })
}

// canDial reports whether the server accepts a connection.
func (r *rig) canDial() bool {
	conn, err := r.subject.Protocol.Dial(r.Context(), r.subject.Dialer, r.server.Addr().String())
	if err != nil {
		return false
	}
	_ = conn.Close(r.Context()) // it carried no call
	return true
}

// lateDrain drains with a call that does not end in time.
func lateDrain(r *rig) {
	called := r.begin(r.Context(), "Hold")
	r.awaitBegun(1)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := r.server.Drain(ctx); !errors.Is(err, context.DeadlineExceeded) {
		r.Errorf("Drain: got %v, want DeadlineExceeded", err)
	}
	if err := <-called; err == nil {
		r.Error("a call that the server gave up has succeeded")
	}
}

// closeConn closes the connection while a call is in progress.
func closeConn(r *rig) {
	called := r.begin(r.Context(), "Hold")
	r.awaitBegun(1)
	closed := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		closed <- r.conn.Close(ctx)
	}()
	<-r.conn.Closing()
	r.wantUnsent("a call after Close")
	close(r.service.gate)
	r.wantCode("the call in progress", <-called, call.OK)
	if err := <-closed; err != nil {
		r.Errorf("Close: %v", err)
	}
	other := &rig{T: r.T, subject: r.subject, service: r.service, server: r.server}
	other.conn = other.dial()
	other.closeLate()
}

// closeLate closes the connection while a call is in progress that does not end in time.
func (r *rig) closeLate() {
	begun, _ := r.service.counts()
	called := r.begin(r.Context(), "Wait")
	r.awaitBegun(begun + 1)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := r.conn.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
		r.Errorf("Close: got %v, want DeadlineExceeded", err)
	}
	r.wantCode("a call that Close gave up", <-called, call.Unavailable)
	r.awaitHandlers(begun + 1) // its context ends with the connection
}

// lostConnection closes the server while calls are in progress.
func lostConnection(r *rig) {
	first, second := r.begin(r.Context(), "Wait"), r.begin(r.Context(), "Wait")
	r.awaitBegun(2)
	if err := r.server.Close(); err != nil {
		r.Error(err)
	}
	for _, called := range []<-chan error{first, second} {
		r.wantCode("a call of a lost connection", <-called, call.Unavailable)
	}
	<-r.conn.Closing()
	within(r.T, "Err", func() bool { return r.conn.Err() != nil })
	r.awaitHandlers(2)
	r.wantUnsent("a call after it")
}
