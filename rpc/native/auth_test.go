package native_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/native"
	"example.com/ferry/transport"
)

// peerService tells who has called.
type peerService struct {
	echo
	peers chan call.Peer
}

func (p *peerService) Serve(_ context.Context, _ call.Method, s call.ServerStream) {
	p.peers <- *s.Peer()
	s.Finish([]byte{}, nil, nil)
}

func TestToken(t *testing.T) {
	drivers(t, func(t *testing.T, tr transport.Transport, addr string) {
		service := &peerService{peers: make(chan call.Peer, 1)}
		server := native.Protocol{Log: slog.New(slog.DiscardHandler), Authenticate: func(c native.Credentials) (string, error) {
			if string(c.Token) != "secret" || c.Addr == nil {
				return "", errors.New("unknown")
			}
			return "the " + c.ClientName, nil
		}}
		l, err := server.Listen(t.Context(), tr, addr, service)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if _, err := (native.Protocol{}).Dial(t.Context(), tr, l.Addr().String()); call.StatusOf(err).Code != call.Unauthenticated {
			t.Errorf("without a token: got %v, want Unauthenticated", err)
		}
		conn, err := native.Protocol{Token: []byte("secret"), ClientName: "pump"}.Dial(t.Context(), tr, l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(t.Context())
		var resp call.Response
		if err := conn.Call(t.Context(), &call.Head{Method: "a.A.B"}, nil, &resp); err != nil {
			t.Fatal(err)
		}
		resp.Release()
		if p := <-service.peers; p.Identity != "the pump" || p.TLS != nil {
			t.Errorf("got %+v, want identity the pump", p)
		}
	})
}
