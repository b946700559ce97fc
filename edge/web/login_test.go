package web_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"example.com/ferry/broker"
	"example.com/ferry/edge"
	"example.com/ferry/edge/web"
)

// secretHash is mosquitto's hash of "secret".
const secretHash = "$6$K9mBvydC9k6Yqtsa$MuaMYBrtwtb0oq3NFpymRSR7n2HmQevGw7CJFo1SFaQZPf8gBic9mfUnepckvabo9TV83YA+WLSP26qJm1zz0Q=="

func basic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

// TestBasic: a user with a password publishes and subscribes as its identity, with the same delay after failures as devices have.
func TestBasic(t *testing.T) {
	ids, err := broker.NewIdentities([]broker.Credential{
		{Identity: broker.Identity{Name: "dev", Publish: []string{"a/#"}, Subscribe: []string{"a/#"}}, Password: secretHash},
		{Identity: broker.Identity{Name: "machine", Publish: []string{"a/#"}}, TokenHash: broker.HashToken([]byte("token"))},
		{Identity: broker.Identity{Name: "guest", Publish: []string{"#"}, Subscribe: []string{"#"}}, Open: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, broker.Config{Identify: ids.Identify}, web.Config{Config: edge.Config{Anonymous: "guest"}})
	r.broker.SetIdentities(ids)
	dev := basic("dev", "secret")
	events := r.events("/v1/tags/a/%23", "Authorization", dev)
	r.wantStatus(204, http.MethodPost, "/v1/tags/a/b", `{"n":1}`, "Authorization", dev)
	events.want("a/b", `{"n":1}`)
	for name, c := range map[string]struct {
		authorization, tag string
		status             int
	}{
		"again":             {dev, "a/b", 204},
		"token":             {basic("machine", "token"), "a/b", 204},
		"token of another":  {basic("dev", "token"), "a/b", 401},
		"no grant":          {dev, "b", 403},
		"empty password":    {basic("dev", ""), "b", 401}, // and not anonymous
		"unknown":           {basic("nobody", "secret"), "b", 401},
		"no user":           {basic("", "secret"), "b", 401},
		"no colon":          {"Basic " + base64.StdEncoding.EncodeToString([]byte("dev")), "b", 401},
		"no base64":         {"Basic dev:secret", "b", 401},
		"scheme":            {"Digest x", "b", 401},
		"nobody, anonymous": {"", "b", 204},
	} {
		var fields []string
		if c.authorization != "" {
			fields = []string{"Authorization", c.authorization}
		}
		status, body, _ := r.do(http.MethodPost, "/v1/tags/"+c.tag, "1", fields...)
		if status != c.status {
			t.Errorf("%s: status %d %s, want %d", name, status, body, c.status)
		}
	}
	for range 4 {
		r.wantStatus(401, http.MethodPost, "/v1/tags/a/b", "1", "Authorization", basic("dev", "wrong"))
	}
	r.wantStatus(401, http.MethodPost, "/v1/tags/a/b", strings.Repeat(" ", 300_000)+"1", "Authorization", basic("dev", "wrong"))
	if status, _, h := r.do(http.MethodPost, "/v1/tags/a/b", "1", "Authorization", dev); status != 429 || h.Get("Retry-After") == "" {
		t.Errorf("after five failures: status %d %v", status, h)
	}
}

// TestBasicWebSocket: a WebSocket takes user and password, too.
func TestBasicWebSocket(t *testing.T) {
	ids, err := broker.NewIdentities([]broker.Credential{{Identity: broker.Identity{Name: "dev", Publish: []string{"a"}, Subscribe: []string{"a"}}, Password: secretHash}})
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, broker.Config{Identify: ids.Identify}, web.Config{})
	r.broker.SetIdentities(ids)
	for password, ok := range map[string]bool{"secret": true, "wrong": false} {
		c, res, err := websocket.Dial(t.Context(), "ws://"+r.addr+"/v1/tags/a?mode=both", &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {basic("dev", password)}}})
		if (err == nil) != ok || !ok && res.StatusCode != 401 {
			t.Fatalf("password %q: %v", password, err)
		}
		if !ok {
			continue
		}
		if err := c.Write(t.Context(), websocket.MessageText, []byte("1")); err != nil {
			t.Fatal(err)
		}
		wantText(t, t.Context(), c, `"payload":1`)
		_ = c.CloseNow()
	}
}

// TestBasicGrants: requests of one user have the grants of their own login, whatever another login of the user was granted.
func TestBasicGrants(t *testing.T) {
	callback := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked edge.LoginRequest
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			t.Error(err)
		}
		_ = json.NewEncoder(w).Encode(edge.LoginGrants{Publish: []string{asked.Password}, Subscribe: []string{}})
	}))
	t.Cleanup(callback.Close)
	ids, err := broker.NewIdentities(nil)
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, broker.Config{Identify: ids.Identify}, web.Config{Logins: edge.NewLogins(edge.LoginCallback{URL: callback.URL})})
	r.broker.SetIdentities(ids)
	for range 2 {
		for _, tag := range []string{"a", "b"} {
			r.wantStatus(204, http.MethodPost, "/v1/tags/"+tag, "1", "Authorization", basic("dev", tag))
			r.wantStatus(403, http.MethodPost, "/v1/tags/c", "1", "Authorization", basic("dev", tag))
		}
		r.wantStatus(403, http.MethodPost, "/v1/tags/a", "1", "Authorization", basic("dev", "b"))
	}
}

// TestBasicOfPage: a browser adds Basic by itself to the requests of any page, so it proves nothing about the page.
func TestBasicOfPage(t *testing.T) {
	ids, err := broker.NewIdentities([]broker.Credential{{Identity: broker.Identity{Name: "dev", Publish: []string{"a"}, Subscribe: []string{"a"}}, Password: secretHash}})
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, broker.Config{Identify: ids.Identify}, web.Config{})
	r.broker.SetIdentities(ids)
	dev := basic("dev", "secret")
	r.wantStatus(403, http.MethodPost, "/v1/tags/a", "1", "Authorization", dev, "User-Agent", "Mozilla/5.0")
	r.wantStatus(403, http.MethodPost, "/v1/tags/a", "1", "Authorization", dev, "Referer", "http://other.example/page")
	r.wantStatus(204, http.MethodPost, "/v1/tags/a", "1", "Authorization", dev, "User-Agent", "Mozilla/5.0", "Referer", r.url("/page"))
	r.wantStatus(204, http.MethodPost, "/v1/tags/a", "1", "Authorization", dev)
}
