package http2

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/proxytest"
	"example.com/ferry/proxy/route"

	http1 "example.com/ferry/protocol/http1"
)

// describe echoes the body, and describes the request as the server received it.
func describe(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	seen := []string{r.Proto, r.Method, r.Host, r.URL.String()}
	for _, name := range []string{"X-A", "Te", "Cookie", "Content-Length", "X-Forwarded-For", "X-Forwarded-Proto", "Via"} {
		for _, value := range r.Header[name] {
			seen = append(seen, name+"="+value)
		}
	}
	for name := range r.Trailer {
		seen = append(seen, "trailer "+name+"="+r.Trailer.Get(name))
	}
	w.Header().Set("X-Seen", strings.Join(seen, " "))
	w.Header().Set("Trailer", "X-S")
	w.Write(body)
	w.Header().Set("X-S", "s")
}

// TestUpstreamHeads tests the head that a server gets: changes of route and listener, and fields that HTTP/2 does not have.
func TestUpstreamHeads(t *testing.T) {
	proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
		server := proxytest.ServeHTTP2(t, nil, describe)
		rule := route.Rule{Match: route.Match{Prefix: "/x/"}, Forward: route.Forward{
			Rewrite: route.Rewrite{Prefix: "/y/"}, Request: route.Edits{Set: []http1.Pair{{Name: "X-A", Value: "set"}}},
		}}
		listener := exchange.Changes{RequestEdit: http1.RequestEdit{ForwardedFor: "10.0.0.1", Proto: "http", Via: "test"}}
		appending := listener
		appending.KeepForwarded = true
		const forwarded = " X-Forwarded-For=10.0.0.1 X-Forwarded-Proto=http Via=1.1 test"
		r := startUpstream(t, c, rule, proxytest.Cluster("web", server))
		for _, row := range []struct {
			name    string
			head    proxytest.RequestHead
			changes exchange.Changes
			body    []string
			trail   proxytest.Fields
			want    string
		}{
			{"no body", proxytest.RequestHead{MethodName: "GET", Host: "h", Target: "/x/a?b", Length: -1}, listener, nil, nil, "GET h /y/a?b X-A=set" + forwarded},
			{
				"unknown length, trailers",
				proxytest.RequestHead{MethodName: "POST", Host: "h", Target: "/x/a", Length: -1, Fields: proxytest.Fields{{Name: "X-A", Value: "1"}, {Name: "Trailer", Value: "X-T"}}},
				listener,
				[]string{"ab", "cde"},
				proxytest.Fields{{Name: "X-T", Value: "t"}},
				"POST h /y/a X-A=set" + forwarded + " trailer X-T=t",
			},
			{
				"known length, own host",
				proxytest.RequestHead{MethodName: "PUT", Target: "/x/a", Length: 5},
				listener,
				[]string{"ab", "cde"},
				nil, "PUT " + server + " /y/a X-A=set Content-Length=5" + forwarded,
			},
			{
				"fields of one connection",
				proxytest.RequestHead{MethodName: "GET", Host: "h", Target: "/x/", Length: -1, Fields: proxytest.Fields{
					{Name: "Connection", Value: "close"}, {Name: "Keep-Alive", Value: "1"}, {Name: "Transfer-Encoding", Value: "chunked"}, {Name: "TE", Value: "gzip, Trailers"}, {Name: "Cookie", Value: "a=b; c=d"},
				}},
				exchange.Changes{},
				nil, nil, "GET h /y/ X-A=set Te=trailers Cookie=a=b; c=d",
			},
			{
				"forwarded fields that stay",
				proxytest.RequestHead{MethodName: "GET", Host: "h", Target: "/x/", Length: -1, Fields: proxytest.Fields{
					{Name: "X-Forwarded-For", Value: "1.1.1.1"}, {Name: "x-forwarded-for", Value: "2.2.2.2"}, {Name: "X-Forwarded-Proto", Value: "https"},
				}},
				appending,
				nil, nil, "GET h /y/ X-A=set X-Forwarded-For=1.1.1.1, 2.2.2.2, 10.0.0.1 X-Forwarded-Proto=https Via=1.1 test",
			},
		} {
			t.Run(row.name, func(t *testing.T) {
				call := r.begin(&row.head, len(row.body) == 0, func(relay *exchange.Relay) { relay.Changes = row.changes })
				if len(row.body) > 0 {
					call.send(row.body...)
					call.do(func() { call.End(row.trail) })
				}
				d := call.wait()
				if seen := string(d.Fields.Get("X-Seen")); seen != "HTTP/2.0 "+row.want {
					t.Errorf("the server saw\n%q, want\n%q", seen, "HTTP/2.0 "+row.want)
				}
				if d.Status != 200 || d.Body.String() != strings.Join(row.body, "") || string(d.Trailers.Get("X-S")) != "s" {
					t.Errorf("status %d, body %q, trailers %v", d.Status, d.Body.String(), d.Trailers)
				}
			})
		}
		r.idle()
		if n := len(r.conns()); n != 1 {
			t.Errorf("%d connections, want one", n)
		}
	})
}
