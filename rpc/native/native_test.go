package native_test

import (
	"crypto/tls"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"

	"example.com/ferry/internal/pki"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/call/calltest"
	"example.com/ferry/rpc/native"
	"example.com/ferry/transport/memory"
	"example.com/ferry/transport/quic"
	"example.com/ferry/transport/tcp"
	"example.com/ferry/transport/unix"
)

// identity returns TLS configurations for a server, for clients that trust it, and the node's identity that issues certificates.
func identity(t *testing.T) (server, client *tls.Config, id *pki.Identity) {
	t.Helper()
	dir := t.TempDir()
	id, err := pki.Open(pki.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	client, err = pki.ClientTLS(filepath.Join(dir, pki.CAFile))
	if err != nil {
		t.Fatal(err)
	}
	return id.ServerTLS(), client, id
}

// TestContract covers the loop (tcp, tls, unix), goroutines (memory), and several streams of a connection (quic).
func TestContract(t *testing.T) {
	server, client, _ := identity(t)
	secured := tcp.NewTLS(&tcp.Config{ServerTLS: server, ClientTLS: client})
	udp := quic.New(&quic.Config{ServerTLS: server, ClientTLS: client})
	var unixes atomic.Int32
	dir := t.TempDir()
	for _, s := range []calltest.Subject{
		{Transport: tcp.New(nil)},
		{Transport: secured},
		{Transport: udp},
		{Transport: unix.New(nil), Addr: func(*testing.T) string { return filepath.Join(dir, fmt.Sprint(unixes.Add(1))) }},
		{Transport: memory.New(nil), Addr: func(*testing.T) string { return "server" }},
	} {
		t.Run(s.Transport.Scheme(), func(t *testing.T) {
			s.Protocol = native.Protocol{}
			s.Brief = native.RaceEnabled && s.Transport.Scheme() != "tcp" && s.Transport.Scheme() != "memory" // one loop, one of goroutines
			calltest.Run(t, s)
		})
	}
}

// TestIdentity has a client with a certificate, and a server that asks for one.
func TestIdentity(t *testing.T) {
	server, client, id := identity(t)
	certPEM, keyPEM, err := id.IssueClient("pump-7")
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		t.Fatal(err)
	}
	server.ClientAuth = tls.RequireAndVerifyClientCert
	server.ClientCAs = client.RootCAs
	client.Certificates = []tls.Certificate{certificate}
	tr := tcp.NewTLS(&tcp.Config{ServerTLS: server, ClientTLS: client})
	service := &peerService{peers: make(chan call.Peer, 1)}
	l, err := native.Protocol{}.Listen(t.Context(), tr, "127.0.0.1:0", service)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := native.Protocol{}.Dial(t.Context(), tr, l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var resp call.Response
	if err := conn.Call(t.Context(), &call.Head{Method: "a.A.B"}, nil, &resp); err != nil {
		t.Fatal(err)
	}
	resp.Release()
	if p := <-service.peers; p.Identity != "pump-7" || p.TLS == nil || p.Addr == nil {
		t.Errorf("got %+v, want identity pump-7", p)
	}
}
