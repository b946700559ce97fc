package target

import (
	"context"
	"fmt"
	"sync"
	"time"

	"example.com/ferry/internal/load"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/envelope"
	"example.com/ferry/transport"
)

// RPC is a server of any of the protocols of package rpc. The workers share connections.
type RPC struct {
	Protocol  call.Protocol
	Transport transport.Transport
	Addr      string
	Conns     int // connections; 0 means 4
	Method    string
	Content   envelope.Content // its Codec is not used
	Request   []byte           // encoded, without the envelope
	Metadata  call.Metadata
	Timeout   time.Duration // of a call; 0 means 10 s

	mu    sync.Mutex
	conns map[int]*sharedConn
}

// sharedConn is a connection of several workers.
type sharedConn struct {
	mu    sync.Mutex
	conn  call.Conn // nil before the first call
	users int
}

// Connect connects a worker.
func (t *RPC) Connect(ctx context.Context, worker int) (load.Client, error) {
	conns := t.Conns
	if conns <= 0 {
		conns = 4
	}
	t.mu.Lock()
	if t.conns == nil {
		t.conns = map[int]*sharedConn{}
	}
	shared := t.conns[worker%conns]
	if shared == nil {
		shared = new(sharedConn)
		t.conns[worker%conns] = shared
	}
	t.mu.Unlock()
	shared.mu.Lock()
	shared.users++
	shared.mu.Unlock()
	c := &rpcClient{target: t, shared: shared, timeout: t.Timeout}
	if c.timeout <= 0 {
		c.timeout = defaultTimeout
	}
	c.head = call.Head{Method: t.Method, Content: t.Content.Type, Metadata: t.Metadata}
	if _, err := c.conn(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

type rpcClient struct {
	target  *RPC
	shared  *sharedConn
	timeout time.Duration
	head    call.Head
	message []byte // the envelope
	closing sync.Once
}

// conn returns the connection. It connects again if the last one has ended.
func (c *rpcClient) conn(ctx context.Context) (call.Conn, error) {
	s := c.shared
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil {
		select {
		case <-s.conn.Closing():
			go closeConn(s.conn) // calls of other workers may be in progress
			s.conn = nil
		default:
			return s.conn, nil
		}
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	conn, err := c.target.Protocol.Dial(ctx, c.target.Transport, c.target.Addr)
	if err != nil {
		return nil, err
	}
	s.conn = conn
	return conn, nil
}

// closeConn closes a connection after its calls.
func closeConn(conn call.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), defaultTimeout)
	defer cancel()
	_ = conn.Close(ctx)
}

// Close closes the connection if no other worker uses it.
func (c *rpcClient) Close() {
	c.closing.Do(func() {
		s := c.shared
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.users--; s.users == 0 && s.conn != nil {
			ended, cancel := context.WithCancel(context.Background())
			cancel()
			_ = s.conn.Close(ended)
			s.conn = nil
		}
	})
}

// Do makes a call.
func (c *rpcClient) Do(ctx context.Context) error {
	conn, err := c.conn(ctx)
	if err != nil {
		return failed(err)
	}
	c.head.Deadline = time.Now().Add(c.timeout)
	message, env, id := c.target.Request, c.target.Content.Envelope, uint64(1)
	if env != nil {
		if numbered, ok := conn.(call.Numbered); ok {
			id = numbered.NextID()
			c.head.ID = id
		}
		if c.message, err = env.AppendRequest(c.message[:0], envelope.Request{Method: c.target.Method, ID: id, Body: message}); err != nil {
			return failed(err)
		}
		message = c.message
	}
	var resp call.Response
	if err := conn.Call(ctx, &c.head, message, &resp); err != nil {
		s := call.StatusOf(err)
		if s.Code == call.Unavailable || s.Code == call.DeadlineExceeded {
			return &load.Failure{Kind: s.Code.String(), Err: err}
		}
		return unexpected(s.Code.String(), err)
	}
	defer resp.Release()
	if env == nil {
		return nil
	}
	out, err := env.ParseResponse(resp.Data)
	switch {
	case err != nil:
		return unexpected("bad envelope", err)
	case out.Status != nil && out.Status.Code != call.OK:
		return unexpected(out.Status.Code.String(), out.Status)
	case out.ID != id && out.ID != 0: // the envelope of gRPC has no id
		return unexpected("wrong id", fmt.Errorf("the response in %s has id %d, want %d", c.target.Content.Type, out.ID, id))
	}
	return nil
}
