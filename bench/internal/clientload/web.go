package clientload

import (
	"io"
	"net"
	"net/http"
	"time"
)

// serveTime is how long a request takes at the servers of this package, so that there are requests in flight at each moment.
const serveTime = time.Millisecond

// Web is a server for the clients HTTP, of HTTP/1.1 and of HTTP/2 without TLS.
type Web struct {
	Addr   string
	server *http.Server
}

// NewWeb starts a server. Its responses have its name in the field X-Server.
func NewWeb(name string) (*Web, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := new(http.Protocols)
	p.SetHTTP1(true)
	p.SetUnencryptedHTTP2(true)
	w := &Web{Addr: l.Addr().String(), server: &http.Server{Protocols: p, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		time.Sleep(serveTime)
		w.Header().Set("X-Server", name)
		_, _ = io.WriteString(w, r.Header.Get("X-Id"))
	})}}
	go func() { _ = w.server.Serve(l) }()
	return w, nil
}

// Close ends the server.
func (w *Web) Close() { _ = w.server.Close() }
