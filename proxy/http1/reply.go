package http1

import (
	"errors"
	"math"
	"net/http"
	"strconv"

	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/traffic"

	wire "example.com/ferry/protocol/http1"
)

var errTruncated = errors.New("http1: the server's answer ended too early: so does the client's")

// fail answers with an error of the proxy's own, if the answer has not begun.
func (s *session) fail(status int) {
	if s.begun {
		s.truncate()
		return
	}
	s.lasts = s.keeps()
	s.write(wire.AppendAnswer(s.share.scratch[:0], status, s.head.Method, !s.lasts))
	s.end(status)
	s.over()
}

// refused answers a request that is not forwarded.
func (s *session) refused(why traffic.Refusal) {
	switch why {
	case traffic.NoRoute:
		s.fail(404)
	case traffic.RateLimited:
		seconds := max(1, math.Ceil(1/s.x.Route.RateLimit.RequestsPerSecond))
		s.respond(429, []wire.Pair{{Name: "Retry-After", Value: strconv.Itoa(int(seconds))}}, "429 Too Many Requests\n")
	default:
		s.fail(503)
	}
}

// respond answers as a route says.
func (s *session) respond(status int, fields []wire.Pair, body string) {
	s.lasts = s.keeps()
	b := appendStatus(s.share.scratch[:0], status)
	for _, f := range fields {
		b = appendField(b, f.Name, f.Value)
	}
	s.reply(b, status, body)
}

// redirect answers with another place to ask.
func (s *session) redirect(r *route.Route) {
	s.lasts = s.keeps()
	b := appendStatus(s.share.scratch[:0], r.Redirect.Status)
	b = append(b, "Location: "...)
	b = r.AppendLocation(b, &s.request)
	b = append(b, "\r\n"...)
	s.reply(b, r.Redirect.Status, "")
}

// reply writes an answer of the proxy's own: its head so far, and its body.
func (s *session) reply(b []byte, status int, body string) {
	if status != 204 && status != 304 { // RFC 9110, sections 8.6 and 15.4.5
		b = append(b, "Content-Length: "...)
		b = strconv.AppendInt(b, int64(len(body)), 10)
		b = append(b, "\r\n"...)
		if s.head.Method == wire.MethodHead {
			body = ""
		}
	} else {
		body = ""
	}
	connection := "keep-alive"
	if !s.lasts {
		connection = "close"
	}
	b = appendField(b, "Connection", connection)
	b = append(b, "\r\n"...)
	s.write(append(b, body...))
	s.end(status)
	s.over()
}

func appendStatus(b []byte, status int) []byte {
	b = append(b, "HTTP/1.1 "...)
	b = strconv.AppendInt(b, int64(status), 10)
	b = append(b, ' ')
	b = append(b, http.StatusText(status)...)
	return append(b, "\r\n"...)
}

func appendField(b []byte, name, value string) []byte {
	b = append(b, name...)
	b = append(b, ": "...)
	b = append(b, value...)
	return append(b, "\r\n"...)
}
