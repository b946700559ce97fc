package grpc_test

import (
	"path/filepath"
	"testing"

	"example.com/ferry/internal/pki"
	"example.com/ferry/rpc/call/calltest"
	"example.com/ferry/rpc/grpc"
	"example.com/ferry/transport"
	"example.com/ferry/transport/memory"
	"example.com/ferry/transport/quic"
	"example.com/ferry/transport/tcp"
	"example.com/ferry/transport/unix"
)

// TestContract runs the contract of a protocol over every transport that differs from the others.
func TestContract(t *testing.T) {
	dir := t.TempDir()
	id, err := pki.Open(pki.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	client, err := pki.ClientTLS(filepath.Join(dir, pki.CAFile))
	if err != nil {
		t.Fatal(err)
	}
	socket := func(t *testing.T) string { return filepath.Join(t.TempDir(), "s") }
	name := func(*testing.T) string { return "server" }
	for _, row := range []struct {
		listener, dialer transport.Transport
		addr             func(*testing.T) string
	}{
		{listener: tcp.New(nil)},
		{listener: tcp.NewTLS(&tcp.Config{ServerTLS: id.ServerTLS()}), dialer: tcp.NewTLS(&tcp.Config{ClientTLS: client})},
		{listener: unix.New(nil), addr: socket},
		{listener: memory.New(nil), addr: name},
		{listener: quic.New(&quic.Config{ServerTLS: id.ServerTLS()}), dialer: quic.New(&quic.Config{ClientTLS: client})},
	} {
		scheme := row.listener.Scheme()
		t.Run(scheme, func(t *testing.T) {
			calltest.Run(t, calltest.Subject{
				Protocol: grpc.Protocol{}, Transport: row.listener, Dialer: row.dialer, Addr: row.addr,
				Brief: raceEnabled && scheme != "tcp" && scheme != "memory",
			})
		})
	}
}
