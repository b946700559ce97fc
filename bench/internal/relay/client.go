package relay

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Publisher sends frames to a node.
type Publisher struct {
	conn io.ReadWriteCloser
	w    *bufio.Writer
	head [header]byte
}

// Publish connects to a node that has a subscriber. trust holds the node's certificate; TCP uses none.
func Publish(ctx context.Context, n Network, addr string, trust *tls.Config) (*Publisher, error) {
	conn, err := n.dial(ctx, addr, trust)
	if err != nil {
		return nil, fmt.Errorf("relay: dial %s: %w", addr, err)
	}
	p := &Publisher{conn: conn, w: bufio.NewWriterSize(conn, buffer)}
	if err := p.w.WriteByte(publisher); err != nil {
		return nil, fmt.Errorf("relay: publish: %w", err)
	}
	return p, p.Flush()
}

// Send puts one frame into the buffer, which is written when it is full.
func (p *Publisher) Send(tag int, payload []byte) error {
	binary.BigEndian.PutUint32(p.head[:], uint32(len(payload)))
	binary.BigEndian.PutUint32(p.head[4:], uint32(tag))
	if _, err := p.w.Write(p.head[:]); err != nil {
		return err
	}
	_, err := p.w.Write(payload)
	return err
}

// Flush writes what is in the buffer.
func (p *Publisher) Flush() error { return p.w.Flush() }

// Close closes the connection; frames that were not received by then are lost.
func (p *Publisher) Close() error { return p.conn.Close() }

// Subscription receives frames from a node.
type Subscription struct {
	conn io.ReadWriteCloser
	r    *bufio.Reader
}

// Subscribe connects to a node. When it returns, publishers may connect.
func Subscribe(ctx context.Context, n Network, addr string, trust *tls.Config) (*Subscription, error) {
	conn, err := n.dial(ctx, addr, trust)
	if err != nil {
		return nil, fmt.Errorf("relay: dial %s: %w", addr, err)
	}
	who := []byte{subscriber}
	if _, err := conn.Write(who); err != nil {
		return nil, fmt.Errorf("relay: subscribe: %w", err)
	}
	if _, err := io.ReadFull(conn, who); err != nil {
		return nil, fmt.Errorf("relay: subscribe: %w", err)
	}
	return &Subscription{conn, bufio.NewReaderSize(conn, buffer)}, nil
}

// Each calls take for each frame until the connection ends. payload is valid until take returns.
func (s *Subscription) Each(take func(tag int, payload []byte)) error {
	for {
		frame, err := peek(s.r, func() error { return nil })
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		take(int(binary.BigEndian.Uint32(frame[4:])), frame[header:])
		if _, err := s.r.Discard(len(frame)); err != nil {
			return err
		}
	}
}

// Close closes the connection.
func (s *Subscription) Close() error { return s.conn.Close() }
