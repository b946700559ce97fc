package keepalive

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"example.com/ferry/bench/internal/routeset"
)

// routed encodes GET requests over HTTP/1.1 that take the routes of a set. The backend responds with the name of the route, which the proxy
// has put into the request, and with the path of the request, which has its id.
type routed struct {
	set    routeset.Set
	routes []routedRequest // by route; made at the first request
	out    []byte
	want   []byte
	framed http1 // finds the end of responses
}

// routedRequest is what surrounds the id in the requests of a route, and the route's name.
type routedRequest struct{ before, path, behind, name string }

func (w *routed) route(id uint64) *routedRequest {
	if w.routes == nil {
		for i := range w.set.Count {
			tenant := ""
			if v := w.set.HeaderValue(i); v != "" {
				tenant = routeset.HeaderName + ": " + v + "\r\n"
			}
			path := w.set.Prefix(i) + "items/"
			w.routes = append(w.routes, routedRequest{
				before: "GET " + path, path: path, name: w.set.Name(i),
				behind: " HTTP/1.1\r\nHost: " + w.set.Host(i) + "\r\nUser-Agent: bench\r\nAccept: application/json\r\nAccept-Language: en\r\n" + tenant + "\r\n",
			})
		}
	}
	return &w.routes[w.set.Of(id)]
}

func (w *routed) request(id uint64) []byte {
	r := w.route(id)
	w.out = append(w.out[:0], r.before...)
	w.out = strconv.AppendUint(w.out, id, 10)
	w.out = append(w.out, r.behind...)
	return w.out
}

func (w *routed) checkResponse(in []byte, id uint64) (int, error) {
	head, body, n, err := w.framed.split(in)
	if n == 0 || err != nil {
		return 0, err
	}
	if !bytes.HasPrefix(head, []byte("HTTP/1.1 200 ")) {
		return 0, fmt.Errorf("response %q: want status 200", clip(in))
	}
	r := w.route(id)
	w.want = append(append(append(w.want[:0], r.name...), ' '), r.path...)
	w.want = strconv.AppendUint(w.want, id, 10)
	if !bytes.Equal(body, w.want) {
		return 0, fmt.Errorf("response %q: want that of %q", body, w.want)
	}
	return n, nil
}

func (w *routed) respond(dst, in []byte) ([]byte, int, error) {
	end := bytes.Index(in, []byte("\r\n\r\n"))
	switch {
	case end < 0 && len(in) > maxHead:
		return dst, 0, fmt.Errorf("a head of more than %d bytes: %q", maxHead, clip(in))
	case end < 0:
		return dst, 0, nil
	}
	line, fields, _ := bytes.Cut(in[:end+2], []byte("\r\n"))
	path, isGet := bytes.CutPrefix(line, []byte("GET "))
	path, isHTTP := bytes.CutSuffix(path, []byte(" HTTP/1.1"))
	if !isGet || !isHTTP {
		return dst, 0, fmt.Errorf("request %q: want GET and HTTP/1.1", clip(in))
	}
	var name []byte
	for line := range bytes.SplitSeq(fields, []byte("\r\n")) {
		if k, v, _ := bytes.Cut(line, []byte(":")); bytes.EqualFold(k, []byte(routeset.RouteHeader)) {
			name = bytes.TrimSpace(v)
		}
	}
	if name == nil {
		return dst, 0, errors.New("a request without " + routeset.RouteHeader)
	}
	dst = append(dst, "HTTP/1.1 200 OK\r\nServer: bench\r\nContent-Length: "...)
	dst = strconv.AppendInt(dst, int64(len(name)+1+len(path)), 10)
	dst = append(append(append(append(dst, "\r\n\r\n"...), name...), ' '), path...)
	return dst, end + 4, nil
}
