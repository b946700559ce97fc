package mqttbridge

import (
	"context"
	"io"
	"sync"
	"sync/atomic"

	"github.com/eclipse/paho.golang/packets"
	paholog "github.com/eclipse/paho.golang/paho/log"
	pahosession "github.com/eclipse/paho.golang/paho/session"
)

// session tells the client library's packets of one connection to the Bridge, which keeps the messages itself: each PUBLISH has a
// flight, and what has none is sent again over the next connection.
type session struct {
	conn *conn
	up   atomic.Bool // CONNACK has come

	mu       sync.Mutex
	last     uint16 // packet identifier
	requests map[uint16]chan<- packets.ControlPacket
}

var _ pahosession.SessionManager = (*session)(nil)

func newSession(c *conn) *session {
	return &session{conn: c, requests: map[uint16]chan<- packets.ControlPacket{}}
}

func (s *session) connected() bool { return s.up.Load() }

// ConAckReceived notes that the client is connected.
func (s *session) ConAckReceived(io.Writer, *packets.Connect, *packets.Connack) error {
	s.up.Store(true)
	return nil
}

// ConnectionLost ends the waits for responses.
func (s *session) ConnectionLost(*packets.Disconnect) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, response := range s.requests {
		response <- packets.ControlPacket{}
		delete(s.requests, id)
	}
	return nil
}

// AddToSession gives a packet its identifier. One that is in use is far away: flights are few (maxInflight), and confirmed in order.
func (s *session) AddToSession(_ context.Context, p pahosession.Packet, response chan<- packets.ControlPacket) error {
	s.mu.Lock()
	if s.last++; s.last == 0 {
		s.last = 1
	}
	id := s.last
	if p.Type() != packets.PUBLISH {
		s.requests[id] = response
	}
	s.mu.Unlock()
	p.SetIdentifier(id)
	if p.Type() == packets.PUBLISH && !s.conn.bridge.sending(s.conn, id) {
		return pahosession.ErrNoConnection
	}
	return nil
}

// PacketReceived takes a packet with an identifier.
func (s *session) PacketReceived(p *packets.ControlPacket, messages chan<- *packets.Publish) error {
	switch v := p.Content.(type) {
	case *packets.Publish:
		select {
		case messages <- v:
		default: // the channel has the length of our receive maximum
			s.conn.exceeded()
		}
	case *packets.Puback:
		s.conn.bridge.acknowledged(s.conn, v.PacketID, v.ReasonCode >= 0x80)
	default:
		s.mu.Lock()
		response := s.requests[p.PacketID()]
		delete(s.requests, p.PacketID())
		s.mu.Unlock()
		if response != nil {
			response <- *p
		}
	}
	return nil
}

// Ack does nothing: the inlet confirms messages when they are stored.
func (s *session) Ack(*packets.Publish) error { return nil }

// Close does nothing.
func (s *session) Close() error { return nil }

// SetErrorLogger does nothing: errors come by OnClientError.
func (s *session) SetErrorLogger(paholog.Logger) {}

// SetDebugLogger does nothing.
func (s *session) SetDebugLogger(paholog.Logger) {}
