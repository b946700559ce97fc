package interop

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/ferry/internal/needs"
)

// All servers have these paths:
//
//	/text       the constant text, in one piece; Go and nginx have ranges, validators and gzip
//	/echo...    the method and the path
//	/hash       the method, the length and the SHA-256 of the request's body
//	/bytes?n=   n bytes of pattern, chunked where the server can
//
// Those in Go and Node have more:
//
//	/trailers   the request's body, then its hash and its trailer x-client in trailers
//	/103        an interim response before the response
//	/204, /304  a response without a body
//	/early      413 before the request's body is read
//	/websocket  an echo of WebSocket frames
var (
	text     = bytes.Repeat([]byte("All that is gold does not glitter, not all those who wander are lost.\n"), 1500)
	modified = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
)

// serveGo runs a server of package net/http.
func serveGo(t *testing.T, h http.Handler) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return serveGoOn(t, ln, h)
}

// serveGoOn is serveGo on a listener, which it closes when the test ends.
func serveGoOn(t *testing.T, ln net.Listener, h http.Handler) string {
	t.Helper()
	s := &http.Server{Handler: h, DisableGeneralOptionsHandler: true}
	go s.Serve(ln)
	t.Cleanup(func() { s.Close() })
	return ln.Addr().String()
}

// paths is the handler of the server in Go.
func paths() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %s\n", r.Method, r.RequestURI)
	})
	mux.HandleFunc("/text", func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			z.Write(text)
			z.Close()
			return
		}
		http.ServeContent(w, r, "text.txt", modified, bytes.NewReader(text))
	})
	mux.HandleFunc("/hash", func(w http.ResponseWriter, r *http.Request) {
		h := sha256.New()
		n, err := io.Copy(h, r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		fmt.Fprintf(w, "%s %d %x\n", r.Method, n, h.Sum(nil))
	})
	mux.HandleFunc("/bytes", func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.ParseInt(r.FormValue("n"), 10, 64)
		if r.FormValue("sized") != "" {
			w.Header().Set("Content-Length", strconv.FormatInt(n, 10))
		}
		io.Copy(w, pattern(n))
	})
	mux.HandleFunc("/trailers", func(w http.ResponseWriter, r *http.Request) {
		h := sha256.New()
		_ = http.NewResponseController(w).EnableFullDuplex()
		w.Header().Set("Trailer", "X-Hash, X-Client")
		w.(http.Flusher).Flush()
		if _, err := io.Copy(io.MultiWriter(w, h), r.Body); err != nil {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("X-Hash", fmt.Sprintf("%x", h.Sum(nil)))
		w.Header().Set("X-Client", cmp.Or(r.Trailer.Get("X-Client"), "none"))
	})
	mux.HandleFunc("/103", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", "</a>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		fmt.Fprintf(w, "%s %s\n", r.Method, r.RequestURI)
	})
	mux.HandleFunc("/204", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("/304", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Etag", `"1"`)
		w.WriteHeader(http.StatusNotModified)
	})
	mux.HandleFunc("/early", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "5")
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		io.WriteString(w, "early")
	})
	mux.HandleFunc("/websocket", echoFrames)
	return mux
}

// nginx runs nginx, which serves /text and /echo itself and forwards other paths to the server in Go. Each request is
// logged to the file log.
func nginx(t *testing.T) (address, log string) {
	t.Helper()
	return nginxWith(t, "listen ADDRESS backlog=4096;")
}

// nginxWith is nginx with other directives in place of the listen directive. ADDRESS stands for the address.
func nginxWith(t *testing.T, listen string) (address, log string) {
	t.Helper()
	program := needs.Program(t, "nginx")
	origin := serveGo(t, paths())
	dir := t.TempDir()
	log = filepath.Join(dir, "access.log")
	file := filepath.Join(dir, "text")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(file, modified, modified); err != nil {
		t.Fatal(err)
	}
	user := ""
	if os.Geteuid() == 0 {
		user = "user root;" // without it, nginx cannot read its own directory
	}
	onFreePort(t, func() (*exec.Cmd, string) {
		address = freePort(t)
		conf := strings.NewReplacer("DIR", dir, "ADDRESS", address, "ORIGIN", origin, "USER", user).Replace(strings.Replace(`
USER
daemon off;
worker_processes 1;
pid DIR/pid;
error_log stderr;
events { worker_connections 4096; }
http {
	log_format seen '$request_method $request_uri $status';
	access_log DIR/access.log seen;
	client_body_temp_path DIR/body; proxy_temp_path DIR/proxy; fastcgi_temp_path DIR/f; uwsgi_temp_path DIR/u; scgi_temp_path DIR/s;
	client_max_body_size 0;
	keepalive_requests 1000000;
	default_type text/plain;
	gzip on;
	gzip_types text/plain;
	server {
		LISTEN
		location = /text { root DIR; }
		location = /hash { proxy_pass http://ORIGIN; }
		location = /bytes { proxy_pass http://ORIGIN; proxy_http_version 1.1; proxy_buffering off; }
		location / { return 200 "$request_method $request_uri\n"; }
	}
}
`, "LISTEN", listen, 1))
		if err := os.WriteFile(filepath.Join(dir, "conf"), []byte(conf), 0o600); err != nil {
			t.Fatal(err)
		}
		// nginx prints nothing when it is ready. The shell waits for the pid file, which exists once nginx listens.
		c := exec.Command("sh", "-c", `"$1" -p "$2" -c "$2/conf" & n=$!; trap 'kill -QUIT $n' TERM
			while kill -0 $n 2>/dev/null && ! [ -s "$2/pid" ]; do sleep 0.02; done; kill -0 $n && echo ready; wait $n; wait $n`, "sh", program, dir)
		return c, "ready"
	}, func(*exec.Cmd) {})
	return address, log
}

// script runs a server of testdata. The server prints its port when it is ready.
func script(t *testing.T, interpreter, file string, args ...string) string {
	t.Helper()
	program := needs.Program(t, interpreter)
	var address string
	onFreePort(t, func() (*exec.Cmd, string) {
		address = freePort(t)
		_, port, _ := net.SplitHostPort(address)
		return exec.Command(program, append([]string{filepath.Join("testdata", file), port}, args...)...), "ready"
	}, func(*exec.Cmd) {})
	return address
}

// servers starts all servers and returns their addresses by name. Node's keep-alive timeout is set to 200 ms, because
// the default of 5 s is too long for a test.
func servers(t *testing.T) map[string]string {
	t.Helper()
	address, _ := nginx(t)
	return map[string]string{
		"go":     serveGo(t, paths()),
		"nginx":  address,
		"node":   script(t, "node", "server.mjs", "200"),
		"python": script(t, "python3", "server.py"),
	}
}

// pattern returns n bytes whose content shows whether a byte was lost.
func pattern(n int64) io.Reader { return &patternReader{left: n} }

type patternReader struct{ at, left int64 }

// block is one period of the pattern. Each of its lines has a number.
var block = func() []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < 1<<20; i++ {
		fmt.Fprintf(&b, "%015d\n", i)
	}
	return b.Bytes()
}()

func (p *patternReader) Read(b []byte) (int, error) {
	if p.left == 0 {
		return 0, io.EOF
	}
	off := p.at % int64(len(block))
	n := copy(b[:min(int64(len(b)), p.left)], block[off:])
	p.at += int64(n)
	p.left -= int64(n)
	return n, nil
}

// sum returns the SHA-256 of n bytes of pattern.
func sum(n int64) string {
	h := sha256.New()
	io.Copy(h, pattern(n))
	return fmt.Sprintf("%x", h.Sum(nil))
}
