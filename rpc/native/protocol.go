package native

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"example.com/ferry/internal/peer"
	wire "example.com/ferry/protocol/native"
	"example.com/ferry/rpc/call"
	"example.com/ferry/transport"
)

// Protocol carries calls on the native wire. The zero value works; it may be copied.
type Protocol struct {
	// Token identifies this client. Empty means none: a server needs one only if its Authenticate asks for it. A token is only safe
	// on a connection that others cannot read: tls, quic, unix, or tcp within one machine.
	Token []byte

	// ClientName is this client's name in the logs of servers.
	ClientName string

	// Authenticate returns the identity of a client, or an error that refuses it. The client learns only that it was refused. Nil
	// means that all clients are accepted, as by net/http and gRPC: what may connect is decided by the address that is listened on,
	// and by the client certificates that the transport's TLS configuration asks for. The identity is then the common name of the
	// verified client certificate.
	Authenticate func(Credentials) (identity string, err error)

	// MaxMessage bounds received messages, in bytes after decompression. Zero means 4 MiB.
	MaxMessage int

	// MaxCalls bounds the calls of a connection that are in progress. Further ones wait in the client. Zero means 4096.
	MaxCalls int

	// Window bounds the bytes of requests of a connection whose calls are in progress, streams of requests aside. The last request
	// may exceed it. It also bounds the bytes of decompressed requests that handlers have read and still hold; further compressed
	// requests wait. Zero means 16 MiB.
	Window int

	// MaxServerHeld bounds the bytes that a listener holds for all of its connections: requests that were not read, those of calls in
	// progress, decompressed ones, and long responses while they are sent, without the first 64 KiB of each connection. A connection may
	// hold as much as all of them leave free: one alone half of it. Above that, a call that holds more than 64 KiB ends with
	// ResourceExhausted. Zero means 1 GiB.
	MaxServerHeld int

	// StreamWindow bounds the bytes of a stream of messages that were not read. The last message may exceed it. Zero means 256 KiB.
	StreamWindow int

	// Heartbeat is the interval of a client's PING. A connection ends after three intervals without a byte. The server sets it. Zero
	// means 15 s.
	Heartbeat time.Duration

	// HandshakeTimeout bounds the time from the connection to HELLO and WELCOME. Zero means 10 s.
	HandshakeTimeout time.Duration

	// WriteTimeout bounds how long a peer may read nothing while bytes wait for it, how long a caller may give no credit for the last message
	// of a call, and how long a compressed request waits for room. Zero means 30 s.
	WriteTimeout time.Duration

	// Log gets refused clients and broken connections. Nil means slog.Default().
	Log *slog.Logger
}

// Credentials are what a client has said of itself.
type Credentials struct {
	Token      []byte // valid during Authenticate
	ClientName string
	Addr       net.Addr
	TLS        *tls.ConnectionState // nil without TLS
}

var _ call.Protocol = Protocol{}

// Name returns rpc.
func (Protocol) Name() string { return "rpc" }

// maxFrame is the largest frame in bytes: a piece of a message and an extension.
const maxFrame = 256 << 10

// dataStreams is the number of data streams in each direction, on transports that have them.
const dataStreams = 8

// resolved returns p with its defaults.
func (p Protocol) resolved() *Protocol {
	p.MaxMessage = limit(p.MaxMessage, 4<<20)
	p.MaxCalls = limit(p.MaxCalls, 4096)
	p.Window = limit(p.Window, 16<<20)
	p.MaxServerHeld = limit(p.MaxServerHeld, 1<<30)
	p.StreamWindow = limit(p.StreamWindow, 256<<10)
	p.Heartbeat = positive(p.Heartbeat, 15*time.Second)
	p.HandshakeTimeout = positive(p.HandshakeTimeout, 10*time.Second)
	p.WriteTimeout = positive(p.WriteTimeout, 30*time.Second)
	if p.Log == nil {
		p.Log = slog.Default()
	}
	return &p
}

func limit(value, otherwise int) int { return min(positive(value, otherwise), maxLimit) }

func positive[T int | time.Duration](value, otherwise T) T {
	if value <= 0 {
		return otherwise
	}
	return value
}

// dialError returns the error of a handshake. A server that has refused the client gives Unauthenticated.
func dialError(addr string, err error) error {
	var e *wire.Error
	if errors.As(err, &e) && e.Code == wire.CodeUnauthenticated {
		err = &call.Status{Code: call.Unauthenticated, Message: e.Reason}
	}
	return fmt.Errorf("rpc: handshake with %s: %w", addr, err)
}

// Dial connects to addr.
func (p Protocol) Dial(ctx context.Context, t transport.Transport, addr string) (call.Conn, error) {
	cfg := p.resolved()
	raw, err := t.Dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	s := &session{}
	c := peer.New(raw, peer.Config{Lowest: wire.CallVersion, Remote: "server", WriteBuffer: writeBuffer, Gather: true, OnDrain: s.leave, OnClosing: s.onClosing})
	stop := context.AfterFunc(ctx, func() { _ = raw.SetDeadline(time.Unix(1, 0)) })
	_ = raw.SetDeadline(time.Now().Add(cfg.HandshakeTimeout))
	welcome, err := c.Connect(wire.HelloFrame{
		Token: cfg.Token, Name: cfg.ClientName, Limits: wire.CallLimits{StreamWindow: uint32(cfg.StreamWindow)},
	})
	if !stop() || err != nil {
		_ = raw.Close()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, dialError(t.Scheme()+"://"+addr, err)
	}
	_ = raw.SetDeadline(time.Time{})
	s.init(cfg, welcome.Limits, 1)
	s.node = welcome.Window > 0
	s.remote = call.Peer{Addr: raw.RemoteAddr(), TLS: c.TLS()}
	s.peer = c
	s.prepare(int(welcome.MaxFrame))
	conn := &conn{session: s, served: make(chan struct{})}
	go c.Beat(time.Duration(welcome.Heartbeat) * time.Millisecond)
	go func() {
		defer close(conn.served)
		_ = peer.Serve(c, &frameHandlers, s.newReceiver) // onClosing has the reason
	}()
	return conn, nil
}
