package relay

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/internal/held"
)

// Upstream has a connection to one server, which it dials for the first call, and again when the connection accepts no further call. All methods may overlap.
type Upstream struct {
	// Dial connects to the server.
	Dial func(ctx context.Context) (call.Conn, error)

	// Name names the server in errors.
	Name string

	// Unary says that its connections carry only calls with one message in each direction.
	Unary bool

	// MaxHeld bounds the bytes of messages that were read and are not sent yet, of all calls together. Messages of up to 64 KiB are passed on beyond it. Zero
	// means 256 MiB.
	MaxHeld int

	mu      sync.Mutex
	held    *held.Shared // nil before the first call
	conn    call.Conn    // nil before the first call, and after an error
	dialing *dialing     // nil unless a dial is in progress
	closed  bool
}

// dialing is a dial that calls wait for.
type dialing struct {
	done chan struct{}
	err  error // set before done is closed
}

// dialTimeout bounds a dial, and how long a connection that accepts no further call may complete those in progress.
const (
	dialTimeout  = 10 * time.Second
	leaveTimeout = time.Minute
)

// Serve passes the call of s on with the head next, and finishes s.
func (u *Upstream) Serve(ctx context.Context, s call.ServerStream, next *call.Head) {
	next.Metadata = passed(next.Metadata)
	for again := true; ; again = false {
		conn, err := u.connect(ctx)
		if err == nil {
			if u.Unary {
				passUnary(ctx, s, conn, next, u.account())
				return
			}
			if err = pass(ctx, s, conn, next, u.account()); err == nil {
				return
			}
			if again && closing(conn) { // between connect and pass
				continue
			}
		}
		s.Finish(nil, call.StatusOf(err), nil)
		return
	}
}

// account returns the account of all calls.
func (u *Upstream) account() *held.Shared {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.held == nil {
		account := held.NewShared(nil, cmp.Or(u.MaxHeld, defaultMaxHeld))
		u.held = &account
	}
	return u.held
}

const defaultMaxHeld = 256 << 20

// closing reports whether c accepts no further call.
func closing(c call.Conn) bool {
	select {
	case <-c.Closing():
		return true
	default:
		return false
	}
}

// connect returns a connection that accepts calls.
func (u *Upstream) connect(ctx context.Context) (call.Conn, error) {
	for {
		u.mu.Lock()
		switch {
		case u.closed:
			u.mu.Unlock()
			return nil, call.Errorf(call.Unavailable, "the connection to %s is closed", u.Name)
		case u.conn != nil && !closing(u.conn):
			defer u.mu.Unlock()
			return u.conn, nil
		}
		d := u.dialing
		if d == nil {
			d = &dialing{done: make(chan struct{})}
			u.dialing = d
			u.leave()
			go u.dial(d)
		}
		u.mu.Unlock()
		select {
		case <-d.done:
			if d.err != nil {
				return nil, d.err
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// leave closes the connection once its calls have ended. It needs the lock.
func (u *Upstream) leave() {
	conn := u.conn
	if u.conn = nil; conn == nil {
		return
	}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
		defer cancel()
		_ = conn.Close(ctx) // its calls get the error
	}()
}

// dial makes the next connection. It outlives the call that needs it first, because others wait for it, too.
func (u *Upstream) dial(d *dialing) {
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	defer cancel()
	conn, err := u.Dial(ctx)
	u.mu.Lock()
	defer u.mu.Unlock()
	if err != nil {
		status := call.StatusOf(err)
		if status.Code == call.Unknown || status.Code == call.DeadlineExceeded { // not an answer of the server
			status = &call.Status{Code: call.Unavailable, Message: fmt.Sprintf("%s cannot be reached: %v", u.Name, err)}
		}
		d.err = status
	} else if u.conn = conn; u.closed {
		u.leave()
	}
	u.dialing = nil
	close(d.done)
}

// Close refuses further calls, and closes the connection when its calls have ended or ctx ends.
func (u *Upstream) Close(ctx context.Context) {
	u.mu.Lock()
	u.closed = true
	conn := u.conn
	u.conn = nil
	u.mu.Unlock()
	if conn != nil {
		_ = conn.Close(ctx) // its calls get the error
	}
}

// abandon is Close for a connection whose calls have ended.
func (u *Upstream) abandon() {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	u.Close(ended)
}

// connected reports whether there is a connection that accepts calls.
func (u *Upstream) connected() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.conn != nil && !closing(u.conn)
}
