package upstream_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"example.com/ferry/proxy/upstream"
)

// A check of kind http speaks the protocol of its cluster: here in cleartext, where auto is HTTP/1.1.
func TestProbeHTTP2(t *testing.T) {
	t.Parallel()
	both := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/"+r.Proto || r.URL.RawQuery != "a=b" || r.Method != "GET" || r.UserAgent() != "ferry" || r.Host != "it.example" {
			t.Errorf("asked %s %s %s of %s by %s", r.Method, r.URL, r.Proto, r.Host, r.UserAgent())
		}
		w.WriteHeader(http.StatusAccepted)
	}))
	both.Config.Protocols = new(http.Protocols)
	both.Config.Protocols.SetHTTP1(true)
	both.Config.Protocols.SetUnencryptedHTTP2(true)
	both.Start()
	defer both.Close()
	old := httptest.NewServer(http.NotFoundHandler())
	defer old.Close()
	for _, row := range []struct {
		name     string
		at       *httptest.Server
		protocol upstream.Protocol
		path     string
		statuses []int
		want     string // expected error
	}{
		{"http2", both, upstream.HTTP2, "/HTTP/2.0?a=b", nil, ""},
		{"auto", both, upstream.Auto, "/HTTP/1.1?a=b", nil, ""},
		{"none", both, "", "/HTTP/1.1?a=b", nil, ""},
		{"another status", both, upstream.HTTP2, "/HTTP/2.0?a=b", []int{200}, "status 202"},
		{"a server without HTTP/2", old, upstream.HTTP2, "/", nil, "http2: "},
	} {
		cfg := at(row.at.Listener.Addr().String())
		cfg.Protocol = row.protocol
		cfg.Health = &upstream.Health{Kind: "http", Path: row.path, Statuses: row.statuses, Host: "it.example"}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		err := cluster(t, cfg).ProbeAll(ctx)[0]
		cancel()
		if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) {
			t.Errorf("%s: got %v, want %q", row.name, err, row.want)
		}
	}
}
