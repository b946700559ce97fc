package clientload

import (
	"net"
	"sync"
	"time"

	wire "example.com/ferry/protocol/bolt"
)

// BoltServer is a server for the clients Bolt. It sends the content of each request back.
type BoltServer struct {
	Addr     string
	listener net.Listener

	mu    sync.Mutex
	times map[string]int // how often a request has arrived, by its content
	conns map[net.Conn]bool
}

// NewBoltServer starts a server.
func NewBoltServer() (*BoltServer, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &BoltServer{Addr: l.Addr().String(), listener: l, times: map[string]int{}, conns: map[net.Conn]bool{}}
	go s.accept()
	return s, nil
}

// Close ends the server.
func (s *BoltServer) Close() {
	_ = s.listener.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		_ = c.Close()
	}
}

func (s *BoltServer) arrived(id string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.times[id]
}

func (s *BoltServer) accept() {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns[c] = true
		s.mu.Unlock()
		go func() {
			s.serve(c)
			s.mu.Lock()
			delete(s.conns, c)
			s.mu.Unlock()
			_ = c.Close()
		}()
	}
}

// serve responds to the requests of a connection. A Write from several goroutines writes one frame after the other.
func (s *BoltServer) serve(c net.Conn) {
	_ = readBolt(c, func(f wire.Frame) error {
		if f.Command() == wire.CommandHeartbeat {
			_, err := c.Write(wire.AppendHeartbeatAck(nil, f))
			return err
		}
		content := string(f.Content())
		s.mu.Lock()
		s.times[content]++
		s.mu.Unlock()
		response, err := wire.Append(nil, wire.Message{
			Dialect: f.Dialect(), Type: wire.Response, Command: wire.CommandResponse, ID: f.ID(), Codec: f.Codec(),
			Class: "com.alipay.sofa.rpc.core.response.SofaResponse", Content: []byte(content),
		})
		if err != nil {
			return err
		}
		time.AfterFunc(serveTime, func() { _, _ = c.Write(response) })
		return nil
	})
}
