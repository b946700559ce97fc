package discovery_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"example.com/ferry/internal/discovery"
)

// nameserver is a name server on 127.0.0.1, over UDP and TCP. It knows the records that a test gives it.
type nameserver struct {
	udp net.PacketConn
	tcp net.Listener

	mu       sync.Mutex
	records  map[string][]record // by name, with a dot at the end
	failing  map[string]bool     // names for which the server fails
	truncate bool                // responses over UDP are cut off, so that resolvers ask over TCP
	asked    map[string]int      // number of queries by name and type, such as a.test. TypeA
	streams  int                 // number of queries over TCP
}

// record is a DNS record.
type record struct {
	ttl  uint32
	body dnsmessage.ResourceBody
}

func ip(ttl uint32, address string) record {
	at := netip.MustParseAddr(address)
	if at.Is4() {
		return record{ttl, &dnsmessage.AResource{A: at.As4()}}
	}
	return record{ttl, &dnsmessage.AAAAResource{AAAA: at.As16()}}
}

// srv returns an SRV record with a TTL of a second.
func srv(priority, weight, port uint16, target string) record {
	return record{1, &dnsmessage.SRVResource{Priority: priority, Weight: weight, Port: port, Target: dnsmessage.MustNewName(target)}}
}

func newNameserver(t *testing.T) *nameserver {
	t.Helper()
	s := &nameserver{records: map[string][]record{}, failing: map[string]bool{}, asked: map[string]int{}}
	var err error
	if s.udp, err = net.ListenPacket("udp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	if s.tcp, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	var served sync.WaitGroup
	served.Go(s.serveDatagrams)
	served.Go(s.serveStreams)
	t.Cleanup(func() {
		s.udp.Close()
		s.tcp.Close()
		served.Wait()
	})
	return s
}

// resolver returns a resolver that asks s.
func (s *nameserver) resolver() discovery.System {
	return discovery.System{Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		if strings.HasPrefix(network, "tcp") {
			return new(net.Dialer).DialContext(ctx, "tcp", s.tcp.Addr().String())
		}
		return new(net.Dialer).DialContext(ctx, "udp", s.udp.LocalAddr().String())
	}}
}

func (s *nameserver) set(name string, records ...record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records[name] = records
	delete(s.failing, name)
}

func (s *nameserver) fail(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failing[name] = true
}

func (s *nameserver) count(query string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[query]
}

func (s *nameserver) serveDatagrams() {
	buf := make([]byte, 64<<10)
	for {
		n, from, err := s.udp.ReadFrom(buf)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if response := s.respond(buf[:n], false); err == nil && response != nil {
			s.udp.WriteTo(response, from)
		}
	}
}

func (s *nameserver) serveStreams() {
	for {
		conn, err := s.tcp.Accept()
		if err != nil {
			return
		}
		var length [2]byte
		if _, err := io.ReadFull(conn, length[:]); err == nil {
			query := make([]byte, binary.BigEndian.Uint16(length[:]))
			if _, err := io.ReadFull(conn, query); err == nil {
				response := s.respond(query, true)
				conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(response))), response...))
			}
		}
		conn.Close()
	}
}

// respond returns the response to a query; nil if the query is malformed.
func (s *nameserver) respond(query []byte, stream bool) []byte {
	var q dnsmessage.Message
	if q.Unpack(query) != nil || len(q.Questions) != 1 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if stream {
		s.streams++
	}
	question := q.Questions[0]
	s.asked[question.Name.String()+" "+question.Type.String()]++
	r := dnsmessage.Message{Header: dnsmessage.Header{ID: q.ID, Response: true, Authoritative: true, RecursionAvailable: true}, Questions: q.Questions}
	records, known := s.records[question.Name.String()]
	switch {
	case s.failing[question.Name.String()]:
		r.RCode = dnsmessage.RCodeServerFailure
	case !known:
		r.RCode = dnsmessage.RCodeNameError
	case s.truncate && !stream:
		r.Truncated = true
		records = nil
	}
	for _, each := range records {
		h := dnsmessage.ResourceHeader{Name: question.Name, Class: dnsmessage.ClassINET, TTL: each.ttl}
		switch each.body.(type) {
		case *dnsmessage.AResource:
			h.Type = dnsmessage.TypeA
		case *dnsmessage.AAAAResource:
			h.Type = dnsmessage.TypeAAAA
		case *dnsmessage.SRVResource:
			h.Type = dnsmessage.TypeSRV
		}
		if h.Type == question.Type {
			r.Answers = append(r.Answers, dnsmessage.Resource{Header: h, Body: each.body})
		}
	}
	response, err := r.Pack()
	if err != nil {
		return nil
	}
	return response
}
