package broker_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/ferry/broker"
	"example.com/ferry/protocol/native"
)

func TestIdentities(t *testing.T) {
	id := func(name string) broker.Identity { return broker.Identity{Name: name} }
	known, err := broker.NewIdentities([]broker.Credential{
		{Identity: id("pump"), TokenHash: broker.HashToken([]byte("t0k"))},
		{Identity: id("press"), CommonName: "press-7"},
	})
	if err != nil {
		t.Fatal(err)
	}
	cert := func(name string, verified bool) *tls.ConnectionState {
		c := &x509.Certificate{Subject: pkix.Name{CommonName: name}}
		s := &tls.ConnectionState{PeerCertificates: []*x509.Certificate{c}}
		if verified {
			s.VerifiedChains = [][]*x509.Certificate{{c}}
		}
		return s
	}
	for _, c := range []struct {
		name  string
		token string
		state *tls.ConnectionState
		want  string
	}{
		{"token", "t0k", nil, "pump"},
		{"token before certificate", "t0k", cert("press-7", true), "pump"},
		{"certificate", "", cert("press-7", true), "press"},
		{"wrong token", "t0", nil, ""},
		{"wrong token with a good certificate", "t0", cert("press-7", true), ""},
		{"certificate not verified", "", cert("press-7", false), ""},
		{"certificate of no identity", "", cert("pump", true), ""},
		{"TLS without certificate", "", &tls.ConnectionState{}, ""},
		{"nothing", "", nil, ""},
	} {
		got, err := known.Identify([]byte(c.token), c.state)
		if (err == nil) != (c.want != "") || (got != nil && got.Name != c.want) {
			t.Errorf("%s: got %v, %v, want %q", c.name, got, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "t0") {
			t.Errorf("%s: the error shows the token: %v", c.name, err)
		}
	}
	for _, twice := range [][]broker.Credential{
		{{Identity: id("a"), CommonName: "x"}, {Identity: id("b"), CommonName: "x"}},
		{{Identity: id("a"), TokenHash: []byte("h")}, {Identity: id("b"), TokenHash: []byte("h")}},
		{{Identity: id("a")}},
	} {
		if _, err := broker.NewIdentities(twice); err == nil {
			t.Errorf("%+v was accepted", twice)
		}
	}
}

// TestUnknownUsersLookKnown: users that are not known have hashes like those of users that are, each always the same one. Otherwise the time of a comparison would
// show who is known, where the hashes take different times.
func TestUnknownUsersLookKnown(t *testing.T) {
	known, err := broker.NewIdentities([]broker.Credential{
		{Identity: broker.Identity{Name: "a"}, Password: "slow"}, {Identity: broker.Identity{Name: "b"}, Password: "fast"},
	})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for i := range 64 {
		hash, identity := known.Password(strconv.Itoa(i))
		if again, _ := known.Password(strconv.Itoa(i)); identity != nil || again != hash {
			t.Errorf("user %d: %v, %q and %q", i, identity, hash, again)
		}
		seen[hash] = true
	}
	if !seen["slow"] || !seen["fast"] || len(seen) != 2 {
		t.Errorf("got %v", seen)
	}
}

// TestManyIdentities: as many users as a file of passwords holds are read in little time.
func TestManyIdentities(t *testing.T) {
	all := make([]broker.Credential, 100_000)
	for i := range all {
		all[i] = broker.Credential{Identity: broker.Identity{Name: strconv.Itoa(i)}, Password: "hash"}
	}
	began := time.Now()
	known, err := broker.NewIdentities(all)
	if took := time.Since(began); err != nil || took > 20*time.Second {
		t.Fatalf("after %v: %v", took, err)
	}
	if hash, identity := known.Password("99999"); hash != "hash" || identity == nil || identity.Name != "99999" {
		t.Errorf("got %q, %v", hash, identity)
	}
}

// TestSecretsAreNotLogged: no token appears in the log, whether it is right or wrong.
func TestSecretsAreNotLogged(t *testing.T) {
	var log lockedBuffer
	known, err := broker.NewIdentities([]broker.Credential{{Identity: broker.Identity{Name: "pump"}, TokenHash: broker.HashToken([]byte("right-secret"))}})
	if err != nil {
		t.Fatal(err)
	}
	_, addr := serve(t, broker.Config{Identify: known.Identify, Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	for _, token := range []string{"right-secret", "wrong-secret"} {
		p := connect(t, addr)
		p.write(native.AppendHello(nil, native.HelloFrame{MinVersion: 1, MaxVersion: 1, Token: []byte(token), Name: "pump"}))
		if f := p.read(); f == nil {
			t.Fatalf("%s: closed without GOAWAY", token)
		} else if token == "wrong-secret" && (f.Kind() != native.Goaway || bytes.Contains(f, []byte("secret"))) {
			t.Errorf("a wrong token: %q", f)
		}
	}
	if s := log.String(); s == "" || strings.Contains(s, "secret") {
		t.Errorf("the log: %q", s)
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
