package h2conn

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"example.com/ferry/internal/pki"
)

// TestNetHTTPClient has net/http's client in front of a server, in cleartext and over TLS.
func TestNetHTTPClient(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	id, err := pki.Open(pki.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	roots, err := pki.ClientTLS(filepath.Join(dir, pki.CAFile))
	if err != nil {
		t.Fatal(err)
	}
	serverTLS := id.ServerTLS()
	serverTLS.NextProtos = []string{"h2"}
	var cleartext, secure http.Protocols
	cleartext.SetUnencryptedHTTP2(true)
	secure.SetHTTP2(true)
	for _, row := range []struct {
		scheme    string
		wrap      func(net.Conn) net.Conn
		transport *http.Transport
	}{
		{"http", nil, &http.Transport{Protocols: &cleartext}},
		{"https", func(nc net.Conn) net.Conn { return tls.Server(nc, serverTLS) }, &http.Transport{Protocols: &secure, TLSClientConfig: roots}},
	} {
		t.Run(row.scheme, func(t *testing.T) {
			s := listen(t, nil, row.wrap)
			defer row.transport.CloseIdleConnections()
			peer := &http.Client{Transport: row.transport}
			var all sync.WaitGroup
			for i := range 20 {
				all.Go(func() { wantNetHTTP(t, peer, row.scheme+"://"+s.addr+"/", i*20_000) })
			}
			all.Wait()
		})
	}
}

func wantNetHTTP(t *testing.T, peer *http.Client, url string, size int) {
	body := randomBytes(size)
	resp, err := peer.Post(url, "application/octet-stream", bytes.NewReader(body))
	if err != nil {
		t.Errorf("POST of %d bytes: %v", size, err)
		return
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil || !bytes.Equal(got, body) || resp.ProtoMajor != 2 || resp.Trailer.Get("x-total") != strconv.Itoa(size) {
		t.Errorf("POST of %d bytes: %v, %d bytes, %s, trailers %v", size, err, len(got), resp.Proto, resp.Trailer)
	}
}

// echoHTTP is the echo of this package's servers as an http.Handler.
func echoHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Trailer", "x-total")
	_ = http.NewResponseController(w).EnableFullDuplex()
	n, err := io.Copy(w, r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("x-total", fmt.Sprint(n))
}

// TestNetHTTPServer has a client in front of net/http's server, with its own windows and with small ones.
func TestNetHTTPServer(t *testing.T) {
	t.Parallel()
	for name, windows := range map[string]*http.HTTP2Config{
		"default": nil,
		"small":   {MaxReceiveBufferPerStream: 20_000, MaxReceiveBufferPerConnection: 70_000},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewUnstartedServer(http.HandlerFunc(echoHTTP))
			s.Config.HTTP2 = windows
			s.Config.Protocols = new(http.Protocols)
			s.Config.Protocols.SetUnencryptedHTTP2(true)
			s.Start()
			defer s.Close()
			h, _ := dial(t, s.Listener.Addr().String(), nil)
			wantEcho(t, h, 1) // the server's windows are known now
			var all sync.WaitGroup
			for i := range 20 {
				all.Go(func() { wantEcho(t, h, i*20_000) })
			}
			all.Wait()
			wantEcho(t, h, 1<<20)
		})
	}
}
