package web_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/ferry/broker"
	"example.com/ferry/edge"
	"example.com/ferry/edge/web"
)

func TestPublishAndSubscribe(t *testing.T) {
	r := newRig(t, broker.Config{}, web.Config{})
	all := r.events("/v1/tags/plant%2F%23")
	hot := r.events("/v1/tags/plant/+/temperature?where=value+%3E+30")
	r.wantStatus(204, "POST", "/v1/tags/plant/1/temperature", `{"value":21}`)
	r.wantStatus(204, "POST", "/v1/tags/plant%2F2%2Ftemperature", `{"value":
		31}`, "Content-Type", "application/json; charset=utf-8")
	r.wantStatus(204, "POST", "/v1/tags/plant/3", "\x00\xff", "Content-Type", "application/octet-stream")
	all.want("plant/1/temperature", `{"value":21}`)
	all.want("plant/2/temperature", `{"value": 		31}`)
	if e := all.next(); e.Tag != "plant/3" || e.Type != "raw" || e.Base64 != base64.StdEncoding.EncodeToString([]byte("\x00\xff")) {
		t.Errorf("got %+v", e)
	}
	hot.want("plant/2/temperature", `{"value": 		31}`)
}

func TestRefusals(t *testing.T) {
	ids, err := broker.NewIdentities([]broker.Credential{
		{Identity: broker.Identity{Name: "dev", Publish: []string{"a/#"}, Subscribe: []string{"b/#"}}, TokenHash: broker.HashToken([]byte("secret"))},
	})
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, broker.Config{Identify: ids.Identify, MaxTags: 16}, web.Config{MaxMessage: 1000, Config: edge.Config{Origins: []string{"https://app.example"}}})
	for _, c := range []struct {
		name, method, path, body string
		status                   int
		code                     string
		fields                   []string
	}{
		{"no credential", "POST", "/v1/tags/a/b", "1", 401, "unauthenticated", nil},
		{"wrong token", "POST", "/v1/tags/a/b", "1", 401, "unauthenticated", []string{"Authorization", "Bearer wrong"}},
		{"basic", "GET", "/v1/tags/b/c", "", 401, "unauthenticated", []string{"Authorization", "Basic Zm9v"}},
		{"publish", "POST", "/v1/tags/b", "1", 403, "forbidden", []string{"Authorization", "Bearer secret"}},
		{"subscribe", "GET", "/v1/tags/a/b", "", 403, "forbidden", []string{"Authorization", "Bearer secret"}},
		{"wildcard", "POST", "/v1/tags/a/+", "1", 400, "bad_request", []string{"Authorization", "Bearer secret"}},
		{"predicate", "GET", "/v1/tags/b/c?where=x+%3E", "", 400, "bad_request", []string{"Authorization", "Bearer secret"}},
		{"policy", "GET", "/v1/tags/b/c?policy=none", "", 400, "bad_request", []string{"Authorization", "Bearer secret"}},
		{"no stream", "GET", "/v1/tags/b/c?from=first", "", 400, "bad_request", []string{"Authorization", "Bearer secret"}},
		{"from", "GET", "/v1/tags/b/c?from=yesterday", "", 400, "bad_request", []string{"Authorization", "Bearer secret"}},
		{"event id", "GET", "/v1/tags/b/c", "", 400, "bad_request", []string{"Authorization", "Bearer secret", "Last-Event-ID", "x"}},
		{"invalid", "POST", "/v1/tags/a/b", `{"a":`, 422, "invalid", []string{"Authorization", "Bearer secret"}},
		{"empty", "POST", "/v1/tags/a/b", "", 422, "invalid", []string{"Authorization", "Bearer secret"}},
		{"large", "POST", "/v1/tags/a/b", `"` + strings.Repeat("x", 1000) + `"`, 413, "too_large", []string{"Authorization", "Bearer secret"}},
		{"media type", "POST", "/v1/tags/a/b", "<a/>", 415, "media_type", []string{"Authorization", "Bearer secret", "Content-Type", "text/xml"}},
		{"ack", "POST", "/v1/tags/a/b", "1", 400, "bad_request", []string{"Authorization", "Bearer secret", "Ferry-Ack", "now"}},
		{"method", "PUT", "/v1/tags/a/b", "1", 405, "method", []string{"Authorization", "Bearer secret"}},
		{"path", "GET", "/", "", 404, "not_found", nil},
		{"origin", "POST", "/v1/tags/a/b", "1", 403, "forbidden_origin", []string{"Authorization", "Bearer secret", "Origin", "https://evil.example"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, body, header := r.do(c.method, c.path, c.body, c.fields...)
			var got struct {
				Error struct{ Code, Reason string }
			}
			if err := json.Unmarshal([]byte(body), &got); err != nil || status != c.status || got.Error.Code != c.code || got.Error.Reason == "" {
				t.Errorf("status %d, %s; want %d, code %s", status, body, c.status, c.code)
			}
			if (header.Get("WWW-Authenticate") != "") != (status == 401) {
				t.Errorf("WWW-Authenticate: %q", header.Get("WWW-Authenticate"))
			}
		})
	}
	r.wantStatus(204, "POST", "/v1/tags/a/b", "1", "Authorization", "bearer secret")
	r.wantStatus(204, "POST", "/v1/tags/a/b?access_token=secret", "1")
	if n := r.broker.Snapshot().Dropped["invalid"]; n != 2 {
		t.Errorf("%d invalid messages are counted, want 2", n)
	}
}

func TestOrigins(t *testing.T) {
	r := newRig(t, broker.Config{}, web.Config{Config: edge.Config{Origins: []string{"https://app.example"}}})
	status, _, h := r.do("OPTIONS", "/v1/tags/a", "", "Origin", "https://app.example", "Access-Control-Request-Method", "POST")
	if status != 204 || h.Get("Access-Control-Allow-Origin") != "https://app.example" || !strings.Contains(h.Get("Access-Control-Allow-Headers"), "Ferry-Ack") {
		t.Errorf("preflight: %d %v", status, h)
	}
	status, _, h = r.do("POST", "/v1/tags/a", "1", "Origin", "https://app.example")
	if status != 204 || h.Get("Access-Control-Allow-Origin") != "https://app.example" || h.Get("Vary") != "Origin" {
		t.Errorf("POST: %d %v", status, h)
	}
	r.wantStatus(204, "POST", "/v1/tags/a", "1", "Origin", r.url(""))
	if status, _, h = r.do("OPTIONS", "/v1/tags/a", "", "Origin", "null", "Access-Control-Request-Method", "POST"); status != 403 || h.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("preflight of another origin: %d %v", status, h)
	}
}

// TestUnknownPage: to other servers than https and localhost, browsers send no Sec-Fetch-Site. Without a token, such a request has to come from a page of the
// server or of an origin that is allowed.
func TestUnknownPage(t *testing.T) {
	r := newRig(t, broker.Config{}, web.Config{Config: edge.Config{Origins: []string{"https://app.example"}}})
	const path, browser = "/v1/tags/a?policy=block", "Mozilla/5.0 (X11; Linux x86_64)"
	for _, fields := range [][]string{
		{"User-Agent", browser}, // an image of a page without referrer
		{"User-Agent", browser, "Referer", "http://evil.example/"},
		{"Referer", "http://evil.example/"},
		{"Referer", "://"},
	} {
		r.wantStatus(403, "GET", path, "", fields...)
		r.wantStatus(200, "GET", "/v1/openapi.json", "", fields...)
	}
	for _, fields := range [][]string{
		{"User-Agent", "curl/8.0"},
		{"User-Agent", browser, "Referer", r.url("/page")},
		{"User-Agent", browser, "Referer", "https://app.example/page"},
		{"User-Agent", browser, "Authorization", "Bearer some-token-of-the-client"},
		{"User-Agent", browser, "Sec-Fetch-Site", "same-origin"},
	} {
		r.events(path, fields...)
	}
}

// TestOtherSite: a page of another site cannot subscribe by a request that a browser sends without Origin, such as that of an image.
func TestOtherSite(t *testing.T) {
	r := newRig(t, broker.Config{}, web.Config{Config: edge.Config{Origins: []string{"https://app.example"}}})
	for _, site := range []string{"cross-site", "same-site"} {
		r.wantStatus(403, "GET", "/v1/tags/a?group=workers", "", "Sec-Fetch-Site", site)
		r.wantStatus(200, "GET", "/v1/openapi.json", "", "Sec-Fetch-Site", site)
		r.wantStatus(204, "POST", "/v1/tags/a", "1", "Sec-Fetch-Site", site, "Origin", "https://app.example")
	}
	for _, site := range []string{"same-origin", "none"} {
		r.events("/v1/tags/a?group=workers", "Sec-Fetch-Site", site)
	}
}

func TestAnonymousNeedsAnAddress(t *testing.T) {
	ids, err := broker.NewIdentities([]broker.Credential{{Identity: broker.Identity{Name: "open", Publish: []string{"#"}}, Open: true}})
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, broker.Config{Identify: ids.Identify}, web.Config{Config: edge.Config{Anonymous: "open"}})
	r.broker.SetIdentities(ids)
	r.wantStatus(204, "POST", "/v1/tags/a", "1")
	r.wantStatus(403, "GET", "/v1/tags/a", "")
	c := r.raw("POST /v1/tags/a HTTP/1.1\r\nHost: rebound.example\r\nContent-Length: 1\r\n\r\n1")
	if line, _ := bufio.NewReader(c).ReadString('\n'); !strings.Contains(line, " 421 ") {
		t.Errorf("a request for another host: %q", line)
	}
}

func TestBatch(t *testing.T) {
	r := newRig(t, broker.Config{}, web.Config{MaxMessage: 1000})
	events := r.events("/v1/tags/a")
	var lines []string
	for i := range 500 {
		lines = append(lines, fmt.Sprintf(`{"n":%d}`, i))
	}
	body := strings.Join(lines, "\n")
	if got := r.wantStatus(200, "POST", "/v1/tags/a", body, "Content-Type", "application/x-ndjson"); got != "{\"published\":500,\"refused\":0}\n" {
		t.Errorf("got %s", got)
	}
	for _, line := range lines {
		events.want("a", line)
	}
	got := r.wantStatus(422, "POST", "/v1/tags/a", "1\n\n{\n\r\n2\n", "Content-Type", "application/x-ndjson")
	if !strings.HasPrefix(got, `{"published":2,"refused":1,"errors":[{"line":2,"code":"invalid","reason":"`) {
		t.Errorf("got %s", got)
	}
	events.want("a", "1")
	events.want("a", "2")
	if got := r.wantStatus(422, "POST", "/v1/tags/a", "3\n"+strings.Repeat("x", 1001), "Content-Type", "application/x-ndjson"); !strings.Contains(got, `"refused":1`) {
		t.Errorf("a line that is too long: %s", got)
	}
	events.want("a", "3")
}

// TestCutAtEachByte sends requests in two pieces, cut at each byte.
func TestCutAtEachByte(t *testing.T) {
	r := newRig(t, broker.Config{}, web.Config{})
	events := r.events("/v1/tags/a?policy=block")
	const single = "POST /v1/tags/a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n\"a\""
	const chunked = "POST /v1/tags/a HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n\"b\"\n\"\r\n2\r\nc\"\r\n0\r\n\r\n"
	const both = single + chunked
	c := r.raw("")
	responses := bufio.NewReader(c)
	for cut := range len(both) {
		for _, piece := range []string{both[:cut], both[cut:]} {
			if _, err := io.WriteString(c, piece); err != nil {
				t.Fatal(err)
			}
			if cut%8 == 0 {
				time.Sleep(time.Millisecond) // the pieces arrive apart
			}
		}
		for _, want := range []int{204, 200} {
			res, err := http.ReadResponse(responses, nil)
			if err != nil {
				t.Fatalf("cut at %d: %v", cut, err)
			}
			if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != want {
				t.Fatalf("cut at %d: status %d, err %v, want %d", cut, res.StatusCode, err, want)
			}
			_ = res.Body.Close()
		}
		for _, want := range []string{`"a"`, `"b"`, `"c"`} {
			events.want("a", want)
		}
	}
}

func TestHostileBytes(t *testing.T) {
	patient := newRig(t, broker.Config{}, web.Config{Config: edge.Config{HandshakeTimeout: patience, WriteTimeout: patience}})
	hasty := newRig(t, broker.Config{}, web.Config{Config: edge.Config{HandshakeTimeout: 50 * time.Millisecond, WriteTimeout: 50 * time.Millisecond}})
	for _, c := range []struct{ name, request, want string }{
		{"garbage", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\r\n\r\n", " 400 "},
		{"escape", "GET /v1/tags/a%2 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", " 400 "},
		{"no host", "GET /v1/tags/a HTTP/1.1\r\n\r\n", " 400 "},
		{"two lengths", "POST /v1/tags/a HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", " 400 "},
		{"bad chunk", "POST /v1/tags/a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", " 400 "},
		{"long line", "GET /" + strings.Repeat("a", 20<<10) + " HTTP/1.1\r\n", " 414 "},
		{"many fields", "GET / HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("A: b\r\n", 300), " 431 "},
		{"slow head", "GET / HTTP/1.1\r\nHost:", " 408 "},
		{"slow body", "POST /v1/tags/a HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n12", " 408 "},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := patient
			if c.want == " 408 " {
				r = hasty
			}
			b, err := io.ReadAll(r.raw(c.request))
			if err != nil || !strings.Contains(strings.SplitN(string(b), "\r\n", 2)[0], c.want) {
				t.Errorf("got %q, %v; want status%s", b, err, c.want)
			}
		})
	}
	patient.wantStatus(204, "POST", "/v1/tags/a", "1")
}

func TestStoredAck(t *testing.T) {
	s := stored(t, "a/#")
	r := newRig(t, broker.Config{Stored: []broker.Stored{s}}, web.Config{})
	r.wantStatus(204, "POST", "/v1/tags/a/b", "1", "Ferry-Ack", "stored", "Idempotency-Key", "one")
	r.wantStatus(204, "POST", "/v1/tags/a/b", "1", "Ferry-Ack", "stored", "Idempotency-Key", "one")
	r.wantStatus(200, "POST", "/v1/tags/a/b", strings.Repeat("2\n", 300), "Ferry-Ack", "stored", "Content-Type", "application/x-ndjson")
	info, err := s.Stream.Info(t.Context())
	if err != nil || info.Last != 301 {
		t.Errorf("the stream ends at %d, err %v; want 301", info.Last, err)
	}
	r.wantStatus(204, "POST", "/v1/tags/z", "1", "Ferry-Ack", "stored")
}

func TestResume(t *testing.T) {
	r := newRig(t, broker.Config{Stored: []broker.Stored{stored(t, "a/#")}}, web.Config{})
	for i := range 5 {
		r.wantStatus(204, "POST", "/v1/tags/a/b", fmt.Sprint(i), "Ferry-Ack", "stored")
	}
	first := r.events("/v1/tags/a/%23?from=first")
	for i := range 3 {
		if e := first.want("a/b", fmt.Sprint(i)); e.ID != uint64(i+1) {
			t.Errorf("event %d has id %d", i, e.ID)
		}
	}
	first.close()
	again := r.events("/v1/tags/a/%23", "Last-Event-ID", "3")
	again.want("a/b", "3")
	again.want("a/b", "4")
	r.wantStatus(204, "POST", "/v1/tags/a/c", "5")
	if e := again.want("a/c", "5"); e.ID != 6 {
		t.Errorf("the new event has id %d, want 6", e.ID)
	}
}

// TestSlowReader has a subscriber that does not read: with policy block it holds back the publisher, whose requests end with 503.
func TestSlowReader(t *testing.T) {
	r := newRig(t, broker.Config{Window: 64 << 10, Queue: 64 << 10}, web.Config{StoreTimeout: 50 * time.Millisecond, MaxMessage: 1 << 20})
	slow := r.raw("GET /v1/tags/a?policy=block HTTP/1.1\r\nHost: x\r\n\r\n")
	await(t, "the subscription", func() bool { return len(r.broker.Snapshot().Subscriptions) == 1 })
	body := strings.Repeat(`"`+strings.Repeat("x", 1000)+"\"\n", 1000)
	refused := false
	for range 1000 {
		status, response, h := r.do("POST", "/v1/tags/a", body, "Content-Type", "application/x-ndjson")
		if status == 503 {
			refused = true
			if h.Get("Retry-After") == "" || !strings.Contains(response, "no_credit") {
				t.Errorf("503 %v: %s", h, response)
			}
			break
		}
		if status != 200 {
			t.Fatalf("status %d: %s", status, response)
		}
	}
	if !refused {
		t.Fatal("a subscriber that does not read holds back nothing")
	}
	_ = slow.Close()
	await(t, "the end of the subscription", func() bool { return len(r.broker.Snapshot().Subscriptions) == 0 })
	await(t, "a publisher that is not held back", func() bool { // a busy machine may take longer than StoreTimeout
		status, _, _ := r.do("POST", "/v1/tags/a", body, "Content-Type", "application/x-ndjson")
		return status == 200
	})
}

// TestStopWithSlowReader: the broker ends a client that does not read, when the time to drain is over.
func TestStopWithSlowReader(t *testing.T) {
	r := newRig(t, broker.Config{Window: 64 << 10, Queue: 64 << 10}, web.Config{StoreTimeout: 50 * time.Millisecond, MaxMessage: 1 << 20})
	r.raw("GET /v1/tags/a?policy=block HTTP/1.1\r\nHost: x\r\n\r\n")
	await(t, "the subscription", func() bool { return len(r.broker.Snapshot().Subscriptions) == 1 })
	body := strings.Repeat(`"`+strings.Repeat("x", 1000)+"\"\n", 1000)
	status := 0
	for i := 0; status != 503; i++ {
		if status, _, _ = r.do("POST", "/v1/tags/a", body, "Content-Type", "application/x-ndjson"); i == 1000 || status != 200 && status != 503 {
			t.Fatalf("status %d", status)
		}
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.broker.Shutdown(over); err == nil {
		t.Error("Shutdown has delivered everything to a client that does not read")
	}
	await(t, "the end of the stream", func() bool { return r.server.Stats().Events == 0 })
}

func TestIdleClientsAreCounted(t *testing.T) {
	r := newRig(t, broker.Config{MaxConnections: 20}, web.Config{PingInterval: 20 * time.Millisecond})
	for range 20 {
		c := r.raw("GET /v1/tags/a HTTP/1.1\r\nHost: x\r\n\r\n")
		b := bufio.NewReader(c)
		for line := ""; line != ":\n"; { // the comment that keeps the stream alive
			var err error
			if line, err = b.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
	}
	if s := r.server.Stats(); s.Events != 20 || s.Connections < 20 {
		t.Errorf("stats %+v", s)
	}
	if body := r.wantStatus(429, "GET", "/v1/tags/a", ""); !strings.Contains(body, "limit") {
		t.Errorf("one client more: %s", body)
	}
}

func TestRevokedWhileConnected(t *testing.T) {
	grants := func(subscribe ...string) *broker.Identities {
		ids, err := broker.NewIdentities([]broker.Credential{{Identity: broker.Identity{Name: "dev", Publish: []string{"a"}, Subscribe: subscribe}, TokenHash: broker.HashToken([]byte("secret"))}})
		if err != nil {
			t.Fatal(err)
		}
		return ids
	}
	r := newRig(t, broker.Config{Identify: broker.Anyone}, web.Config{})
	r.broker.SetIdentities(grants("a"))
	events := r.events("/v1/tags/a?access_token=secret")
	r.wantStatus(204, "POST", "/v1/tags/a?access_token=secret", "1")
	events.want("a", "1")
	r.broker.SetIdentities(grants())
	if e := events.next(); e.Name != "end" {
		t.Errorf("got %+v, want the event end", e)
	}
	none, _ := broker.NewIdentities(nil)
	r.broker.SetIdentities(none)
	r.wantStatus(401, "POST", "/v1/tags/a?access_token=secret", "1")
}

func TestServedFiles(t *testing.T) {
	r := newRig(t, broker.Config{}, web.Config{})
	var description struct {
		OpenAPI string
		Paths   map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal([]byte(r.wantStatus(200, "GET", "/v1/openapi.json", "")), &description); err != nil || description.OpenAPI != "3.1.0" || description.Paths["/v1/tags/{tag}"]["post"] == nil {
		t.Errorf("%+v, %v", description, err)
	}
	if js := r.wantStatus(200, "GET", "/v1/ferry.js", ""); !strings.Contains(js, "export class Client") {
		t.Errorf("the module is %q", js)
	}
}

func TestDrainEndsStreams(t *testing.T) {
	r := newRig(t, broker.Config{}, web.Config{})
	events := r.events("/v1/tags/a")
	done := make(chan error, 1)
	go func() { done <- r.server.Drain(t.Context()) }()
	if e := events.next(); e.Name != "end" {
		t.Errorf("got %+v, want the event end", e)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if n := r.broker.Snapshot().Connections; n != 0 {
		t.Errorf("%d clients are left", n)
	}
}
