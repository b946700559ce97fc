package relay

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/quic-go/quic-go"
)

// The first byte of a connection is the role of the client. The node sends this byte back to a subscriber.
const (
	publisher  = 'P'
	subscriber = 'S'
)

// Node forwards frames to one subscriber. The subscriber connects first; then the node serves one publisher after the other.
type Node struct{ listener *listener }

// Listen binds addr; port 0 takes a free one. identity holds the certificate for QUIC; TCP uses none.
func Listen(n Network, addr string, identity *tls.Config) (*Node, error) {
	l, err := n.listen(addr, identity)
	if err != nil {
		return nil, fmt.Errorf("relay: listen on %s: %w", addr, err)
	}
	return &Node{l}, nil
}

// Addr returns the listen address, host:port.
func (n *Node) Addr() string { return n.listener.addr.String() }

// Serve forwards until Close (nil) or a connection fails.
func (n *Node) Serve() error {
	var out *bufio.Writer
	for {
		conn, err := n.listener.accept()
		if errors.Is(err, net.ErrClosed) || errors.Is(err, quic.ErrServerClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("relay: accept: %w", err)
		}
		var who [1]byte
		if _, err := io.ReadFull(conn, who[:]); err != nil {
			return fmt.Errorf("relay: who are you: %w", err)
		}
		switch {
		case who[0] == subscriber:
			if _, err := conn.Write(who[:]); err != nil {
				return fmt.Errorf("relay: welcome: %w", err)
			}
			out = bufio.NewWriterSize(conn, buffer)
		case who[0] == publisher && out != nil:
			if err := forward(bufio.NewReaderSize(conn, buffer), out); err != nil {
				return fmt.Errorf("relay: forward: %w", err)
			}
			_ = conn.Close()
		default:
			return fmt.Errorf("relay: connection begins with %#x: a subscriber comes first, then publishers", who[0])
		}
	}
}

// Close stops listening.
func (n *Node) Close() error { return n.listener.close() }
