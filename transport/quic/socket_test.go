package quic

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"example.com/ferry/internal/pki"
)

func TestTransientErrors(t *testing.T) {
	wrapped := func(e error) error {
		return &net.OpError{Op: "write", Net: "udp", Err: os.NewSyscallError("sendmsg", e)}
	}
	rows := map[error]bool{
		wrapped(syscall.ENETUNREACH):   true,  // a missing route while the machine changes networks
		wrapped(syscall.EADDRNOTAVAIL): true,  // the local address has just been removed
		wrapped(syscall.EPERM):         true,  // a firewall dropped the packet
		wrapped(syscall.EMSGSIZE):      false, // quic-go needs this error to find the path's MTU
		wrapped(syscall.EIO):           false, // quic-go needs this error to disable segmentation offload
		net.ErrClosed:                  false,
		errors.New("anything else"):    false,
	}
	for err, want := range rows {
		t.Run(fmt.Sprint(err), func(t *testing.T) {
			if got := isTransient(err); got != want {
				t.Errorf("isTransient = %v, want %v", got, want)
			}
		})
	}
}

// BenchmarkWrite measures one direction of one stream over loopback. Both ends are in this process.
func BenchmarkWrite(b *testing.B) {
	dir := b.TempDir()
	id, err := pki.Open(pki.Config{Dir: dir})
	if err != nil {
		b.Fatal(err)
	}
	var trust *tls.Config
	if trust, err = pki.ClientTLS(filepath.Join(dir, pki.CAFile)); err != nil {
		b.Fatal(err)
	}
	l, err := New(&Config{ServerTLS: id.ServerTLS()}).Listen(b.Context(), "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	conn, err := New(&Config{ClientTLS: trust}).Dial(b.Context(), l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	b.Logf("segmentation offload: %v", conn.(*Conn).qc.ConnectionState().GSO)
	p := make([]byte, 64<<10)
	if _, err := conn.Write(p[:1]); err != nil {
		b.Fatal(err)
	}
	server, err := l.Accept(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	server.(*Conn).PeerIdentified()
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 64<<10)
		for {
			if _, err := server.Read(buf); err != nil {
				_ = server.Close()
				return
			}
		}
	}()
	b.SetBytes(int64(len(p)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := conn.Write(p); err != nil {
			b.Fatal(err)
		}
	}
	if err := conn.Close(); err != nil {
		b.Fatal(err)
	}
	<-done
}
