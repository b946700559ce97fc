package mqtt_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"example.com/ferry/broker"
	"example.com/ferry/edge"
	"example.com/ferry/edge/mqtt"
	wire "example.com/ferry/protocol/mqtt"
)

// secretHash is mosquitto's hash of "secret".
const secretHash = "$6$K9mBvydC9k6Yqtsa$MuaMYBrtwtb0oq3NFpymRSR7n2HmQevGw7CJFo1SFaQZPf8gBic9mfUnepckvabo9TV83YA+WLSP26qJm1zz0Q=="

// TestLogin: a user with a password has the grants of its identity, with the names of client and user in them, until the password is another one.
func TestLogin(t *testing.T) {
	identities := func(hash string) *broker.Identities {
		ids, err := broker.NewIdentities([]broker.Credential{
			{Identity: broker.Identity{Name: "dev", Publish: []string{"up/${user}/${client}", "$${user}/x"}, Subscribe: []string{"#"}}, Password: hash},
			{Identity: broker.Identity{Name: "machine", Publish: []string{"#"}, Subscribe: []string{"#"}}, TokenHash: broker.HashToken([]byte("token"))},
		})
		if err != nil {
			t.Fatal(err)
		}
		return ids
	}
	ids := identities(secretHash)
	r := newRig(t, setup{broker: broker.Config{Identify: ids.Identify}})
	r.broker.SetIdentities(ids)
	as := func(user, password string) func(*wire.ConnectPacket) {
		return func(p *wire.ConnectPacket) { p.User, p.Password = []byte(user), []byte(password) }
	}
	for _, v := range versions {
		for _, bad := range [][2]string{{"dev", "wrong"}, {"nobody", "secret"}, {"dev", "token"}} {
			c := r.dial(v)
			if c.greet("x", as(bad[0], bad[1])); c.connack.Code != wire.BadUserNameOrPassword {
				t.Errorf("%v: user %q with password %q: %v", v, bad[0], bad[1], c.connack.Code)
			}
			c.closed()
		}
		r.connect(v, "y", as("machine", "token")).quiet()
	}
	gone := r.dial(wire.V5) // ends while its password is compared, or soon after
	b, err := wire.AppendConnect(nil, &wire.ConnectPacket{Version: wire.V5, ClientID: []byte("gone"), User: []byte("dev"), Password: []byte("secret")})
	if err != nil {
		t.Fatal(err)
	}
	gone.write(b)
	_ = gone.conn.Close()
	c := r.connect(wire.V5, "pump-1", as("dev", "secret"))
	watch := r.connect(wire.V5, "watch", as("machine", "token"))
	watch.sub("up/#", 0)
	c.publish("up/dev/pump-1", "mine")
	watch.want("up/dev/pump-1", "mine", 0)
	c.publish("${user}/x", "literal")
	for _, topic := range []string{"up/dev/pump-2", "up/other/pump-1", "dev/x", "$${user}/x"} {
		c.send(wire.PublishPacket{QoS: 1, ID: 7, Topic: []byte(topic), Payload: []byte("x")})
		if a := c.ack(wire.Puback, 7); a.Code != wire.NotAuthorized {
			t.Errorf("publishing on %s: %v", topic, a.Code)
		}
	}
	for _, id := range []string{"+", "#", "a/b"} {
		wild := r.connect(wire.V5, id, as("dev", "secret"))
		wild.send(wire.PublishPacket{QoS: 1, ID: 7, Topic: []byte("up/dev/pump-1"), Payload: []byte("x")})
		if a := wild.ack(wire.Puback, 7); a.Code != wire.NotAuthorized {
			t.Errorf("client %q may publish as another one: %v", id, a.Code)
		}
	}
	r.broker.SetIdentities(identities(secretHash)) // the grants stay those of the client
	c.publish("up/dev/pump-1", "again")
	watch.want("up/dev/pump-1", "again", 0)
	other := "$6$K9mBvydC9k6Yqtsb" + secretHash[len("$6$K9mBvydC9k6Yqtsa"):]
	r.broker.SetIdentities(identities(other))
	c.read(wire.Disconnect)
	c.closed()
	c = r.dial(wire.V5)
	if c.greet("pump-1", as("dev", "secret")); c.connack.Code != wire.BadUserNameOrPassword {
		t.Errorf("the password before: %v", c.connack.Code)
	}
}

// TestLoginCallback: a user whom only the callback knows has the grants of its response, or of the identity that it names, which a reload changes. Tokens and the
// names of identities are no business of the callback.
func TestLoginCallback(t *testing.T) {
	asked := make(chan string, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var got edge.LoginRequest
		_ = json.NewDecoder(r.Body).Decode(&got)
		asked <- got.User
		switch {
		case got.Password != "secret":
			w.WriteHeader(http.StatusUnauthorized)
		case got.User == "granted":
			_, _ = io.WriteString(w, `{"publish":["up/${user}/${client}","$${user}/x"],"subscribe":["#"]}`)
		case got.User == "malformed":
			_, _ = io.WriteString(w, `{"publish":["a/#/b"]}`)
		case got.User == "stranger":
			_, _ = io.WriteString(w, `{"identity":"nobody"}`)
		default:
			_, _ = io.WriteString(w, `{"identity":"machine"}`)
		}
	}))
	defer server.Close()
	identities := func(publish string) *broker.Identities {
		ids, err := broker.NewIdentities([]broker.Credential{
			{Identity: broker.Identity{Name: "machine", Publish: []string{publish}}, TokenHash: broker.HashToken([]byte("token"))},
		})
		if err != nil {
			t.Fatal(err)
		}
		return ids
	}
	ids := identities("machines/${user}")
	r := newRig(t, setup{broker: broker.Config{Identify: ids.Identify}, server: mqtt.Config{Logins: edge.NewLogins(edge.LoginCallback{URL: server.URL})}})
	r.broker.SetIdentities(ids)
	as := func(user, password string) func(*wire.ConnectPacket) {
		return func(p *wire.ConnectPacket) { p.User, p.Password = []byte(user), []byte(password) }
	}
	for _, user := range []string{"granted", "machine", "malformed", "stranger"} {
		password := "secret"
		if user == "granted" {
			password = "wrong"
		}
		c := r.dial(wire.V5)
		if c.greet("x", as(user, password)); c.connack.Code == wire.Success {
			t.Errorf("user %q with password %q is let in", user, password)
		}
		c.closed()
	}
	for len(asked) > 0 {
		<-asked
	}
	r.connect(wire.V5, "y", as("machine", "token")).quiet()
	if len(asked) > 0 {
		t.Error("the callback was asked about a token")
	}
	may := func(c *client, topic string, want wire.ReasonCode) {
		t.Helper()
		c.send(wire.PublishPacket{QoS: 1, ID: 7, Topic: []byte(topic), Payload: []byte("x")})
		if a := c.ack(wire.Puback, 7); a.Code != want {
			t.Errorf("publishing on %s: %v, want %v", topic, a.Code, want)
		}
	}
	granted, named := r.connect(wire.V5, "c1", as("granted", "secret")), r.connect(wire.V5, "c2", as("pump", "secret"))
	may(granted, "up/granted/c1", wire.Success)
	may(granted, "up/granted/c2", wire.NotAuthorized)
	may(named, "machines/pump", wire.Success)
	may(named, "machines/machine", wire.NotAuthorized)
	r.broker.SetIdentities(identities("other/${user}"))
	may(granted, "up/granted/c1", wire.Success)
	may(granted, "${user}/x", wire.Success)
	may(granted, "granted/x", wire.NotAuthorized)
	may(named, "machines/pump", wire.NotAuthorized)
	may(named, "other/pump", wire.Success)
	ids, err := broker.NewIdentities([]broker.Credential{{Identity: broker.Identity{Name: "granted"}, TokenHash: broker.HashToken([]byte("token"))}})
	if err != nil {
		t.Fatal(err)
	}
	r.broker.SetIdentities(ids) // has the name of one user, and lacks the identity of the other
	for _, c := range []*client{granted, named} {
		c.read(wire.Disconnect)
		c.closed()
	}
}

// TestLoginLog: the line in the log about a login that was refused has the names that the client gave, as far as they are not too long.
func TestLoginLog(t *testing.T) {
	ids, err := broker.NewIdentities([]broker.Credential{{Identity: broker.Identity{Name: "dev"}, Password: secretHash}})
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	r := newRig(t, setup{broker: broker.Config{Identify: ids.Identify}, server: mqtt.Config{Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))}})
	r.broker.SetIdentities(ids)
	c := r.dial(wire.V5)
	c.greet("client-"+strings.Repeat("c", 50_000), func(p *wire.ConnectPacket) {
		p.User, p.Password = []byte("user-"+strings.Repeat("u", 50_000)), []byte("wrong")
	})
	c.closed()
	r.stop()
	if line := log.String(); len(line) > 1000 || !strings.Contains(line, "user-uuu") || !strings.Contains(line, "client-ccc") {
		t.Errorf("got %d bytes: %.1000s", len(line), line)
	}
}
