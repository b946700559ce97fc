package node

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/ferry/internal/certs/certstest"
	"example.com/ferry/node/config"
	"example.com/ferry/proxy/traffic"
)

// everythingYAML is a node with an entry in each list.
const everythingYAML = `
listeners:
  - {address: 'tcp://127.0.0.1:0'}
  - {address: 'quic://127.0.0.1:0', receive_window: 1MiB}
  - {address: 'tls://127.0.0.1:0', cert_file: 'DIR/one.pem', key_file: 'DIR/one.key'}
  - {address: 'http://127.0.0.1:0', anonymous: open}
  - {address: 'https://localhost:0', anonymous: open}
identities: [{name: open, publish: ['#'], subscribe: ['#']}, {name: other, token: the-token-of-the-other, subscribe: ['#']}]
functions: [{name: f, run: obey, observe: ['do/#']}]
streams: [{tags: stored/#}]
forward: [{name: hub, address: 'tcp://127.0.0.1:1', tags: [x/#], token: the-token-of-the-hub}]
bridges: [{name: cloud, address: 'mqtt://127.0.0.1:1', out: [x/#]}]
serve: [{service: a.B, to: 'grpc://127.0.0.1:1'}]
live: {interval: 20ms}
admin: {address: '127.0.0.1:0'}
data_dir: DIR/data
proxy:
  loops: 1
  clusters: [{name: c, endpoints: [{address: '127.0.0.1:1'}]}]
  listeners: [{name: p, address: '127.0.0.1:0', protocol: http1, cluster: c}]
`

// changesOf has a change of each rule's fields. The fields of limits have one in limitChange.
func changesOf(dir string) map[string]func(*config.Config) {
	type c = *config.Config
	return map[string]func(*config.Config){
		"include":                      func(c c) { c.Include = config.Filters{"conf.d/*.yaml"} },
		"listeners[]":                  func(c c) { c.Listeners = append(c.Listeners, config.Listener{Address: "tls://localhost:0"})[1:] },
		"listeners[].validate":         func(c c) { c.Listeners[0].Validate = config.ValidateOff },
		"listeners[].min_version":      func(c c) { c.Listeners[4].MinVersion = "1.2" },
		"listeners[].cert_file":        func(c c) { c.Listeners[2].CertFile, c.Listeners[2].KeyFile = dir+"/two.pem", dir+"/two.key" },
		"listeners[].key_file":         func(c c) { c.Listeners[2].CertFile, c.Listeners[2].KeyFile = dir+"/two.pem", dir+"/two.key" },
		"listeners[].client_ca_file":   func(c c) { c.Listeners[2].ClientCAFile = dir + "/ca.pem" },
		"listeners[].anonymous":        func(c c) { c.Listeners[3].Anonymous = "" },
		"listeners[].http":             func(c c) { c.Listeners[3].HTTP.Origins = []string{"https://app.example.com"} },
		"listeners[].receive_window":   func(c c) { c.Listeners[1].ReceiveWindow = 2 << 20 },
		"proxy":                        func(c c) { c.Proxy.MaxConnections = 100 },
		"proxy.loops":                  func(c c) { c.Proxy.Loops = 2 },
		"proxy.reuse_port":             func(c c) { c.Proxy.ReusePort = true },
		"proxy.goroutines":             func(c c) { c.Proxy.Goroutines = true },
		"proxy.listeners[]":            func(c c) { c.Proxy.Listeners[0].Limits.Handshakes = 7 },
		"proxy.listeners[].protocol":   func(c c) { c.Proxy.Listeners[0].Protocol = "http" },
		"proxy.clusters[]":             func(c c) { c.Proxy.Clusters[0].Endpoints[0].Address = "127.0.0.1:2" },
		"proxy.access_log":             func(c c) { c.Proxy.AccessLog = traffic.LogConfig{File: dir + "/access.log"} },
		"admin":                        func(c c) { c.Admin.Hosts = []string{"edge-1.example.com"} },
		"data_dir":                     func(c c) { c.DataDir += "-other" },
		"names":                        func(c c) { c.Names = []string{"edge-1.example.com"} },
		"identities[]":                 func(c c) { c.Identities[1].Subscribe = []string{"a/#"} },
		"drain":                        func(c c) { c.Drain.Delay = time.Second },
		"mqtt":                         func(c c) { c.MQTT.Queue *= 2 },
		"mqtt.password_file":           func(c c) { c.MQTT.PasswordFile = dir + "/empty" },
		"mqtt.acl_file":                func(c c) { c.MQTT.ACLFile = dir + "/empty" },
		"mqtt.identity_share":          func(c c) { c.MQTT.IdentityShare = 50 },
		"engine":                       func(c c) { c.Engine = config.Engine{Address: config.EmbeddedEngine, Sync: config.SyncAlways} },
		"streams[]":                    func(c c) { c.Streams = append(c.Streams, config.Stream{Name: "more", Tags: config.Filters{"more/#"}}) },
		"streams[].tags":               func(c c) { c.Streams[0].Tags = config.Filters{"stored/a"} },
		"streams[].delivery":           func(c c) { c.Streams[0].Delivery = config.AtLeastOnce },
		"streams[].retention":          func(c c) { c.Streams[0].Retention.Age = time.Hour },
		"streams[].replicas":           func(c c) { c.Streams[0].Replicas = 3 },
		"streams[].storage":            func(c c) { c.Streams[0].Storage = config.StorageFile },
		"streams[].key":                func(c c) { c.Streams[0].Key = "id" },
		"streams[].idempotency.window": func(c c) { c.Streams[0].Idempotency.Window = time.Hour },
		"streams[].idempotency.scope":  func(c c) { c.Streams[0].Idempotency.Scope = config.ScopeStream },
		"forward[]":                    func(c c) { c.Forward[0].Token = "another-token-of-the-hub" },
		"forward[].tags":               func(c c) { c.Forward[0].Tags = []string{"y/#"} },
		"bridges[]":                    func(c c) { c.Bridges[0].Out = []string{"y/#"} },
		"bridges[].spool":              func(c c) { c.Bridges[0].Spool.Size = 1 << 20 },
		"forward[].spool":              func(c c) { c.Forward[0].Spool.Size = 1 << 20 },
		"serve[]":                      func(c c) { c.Serve[0].To = "http://127.0.0.1:1" },
		"live":                         func(c c) { c.Live.Interval = time.Second },
		"functions[]":                  func(c c) { c.Functions[0].Where = "x > 1" },
		"deploy":                       func(c c) { c.Deploy.Functions = 3 },
		"cpu":                          func(c c) { c.CPU.Queue = 77 },
		"log":                          func(c c) { c.Log.Level = config.LevelDebug },
	}
}

// limitChange doubles a field of limits.
func limitChange(name string) func(*config.Config) {
	return func(c *config.Config) {
		v := reflect.ValueOf(&c.Limits).Elem()
		for i := range v.NumField() {
			if tag, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ","); tag == name {
				v.Field(i).SetInt(v.Field(i).Int() * 2)
			}
		}
	}
}

// TestRules: a running node does with a change of each field what its rule says.
func TestRules(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ca := certstest.NewCA(t, "ca")
	ca.Write(t, dir, "ca")
	if err := os.WriteFile(filepath.Join(dir, "empty"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"one", "two"} {
		ca.Issue(t, certstest.Leaf{Names: []string{"127.0.0.1"}}).Write(t, dir, name)
	}
	x := extensions()
	text := strings.ReplaceAll(everythingYAML, "DIR", filepath.ToSlash(dir))
	base := func() *config.Config {
		cfg, err := config.Parse("node.yaml", []byte(text), x.Program())
		if err != nil {
			t.Fatal(err)
		}
		return cfg
	}
	n, err := Build(base(), x)
	if err != nil {
		t.Fatal(err)
	}
	run(t, n)
	changes := changesOf(dir)
	for _, rule := range config.Rules() {
		change := changes[rule.Field]
		if limit, ok := strings.CutPrefix(rule.Field, "limits."); ok {
			change = limitChange(limit)
		}
		if change == nil {
			t.Errorf("no change of %s: add one to changesOf", rule.Field)
			continue
		}
		next := base()
		change(next)
		found := rule.Field == "include" // it is no difference: what the files have is
		for _, d := range n.config().Differences(next) {
			found = found || config.RuleOf(regexp.MustCompile(`\[\d+\]`).ReplaceAllString(d.At, "[]")) == rule
		}
		if !found {
			t.Errorf("%s: the change is not one of its fields: %+v", rule.Field, n.config().Differences(next))
		}
		section, _, _ := strings.Cut(rule.Field, ".")
		section = strings.TrimSuffix(section, "[]")
		refused := n.needRestarts(&reload{last: n.config(), next: next})
		if rule.Effect == config.NeedsRestart {
			if len(refused) != 1 || len(refused[section]) == 0 || !strings.Contains(refused[section][0].Error(), "needs a restart") {
				t.Errorf("%s: got %v, want that %s needs a restart", rule.Field, refused, section)
			}
			if n.Apply(next) == nil {
				t.Errorf("%s: the change was applied", rule.Field)
			}
			continue
		}
		if len(refused) > 0 {
			t.Errorf("%s: refused: %v", rule.Field, refused)
		}
		if err := n.Apply(next); err != nil {
			t.Errorf("%s: %v", rule.Field, err)
			continue
		}
		if n.config() != next {
			t.Errorf("%s: the node runs another configuration", rule.Field)
		}
		if err := n.Apply(base()); err != nil {
			t.Fatalf("%s: back: %v", rule.Field, err)
		}
	}
}

// TestApplyAnonymous: clients without a credential have the identity that the listener names now, or none.
func TestApplyAnonymous(t *testing.T) {
	t.Parallel()
	const address = "http://127.0.0.1:0"
	cfg := quiet(t)
	// The second listener keeps both identities anonymous ones.
	cfg.Listeners = []config.Listener{{Address: address, Anonymous: "open"}, {Address: "http://localhost:0", Anonymous: "reader"}}
	cfg.Identities = []config.Identity{{Name: "open", Publish: []string{"a/#"}, Subscribe: []string{"a/#"}}, {Name: "reader", Subscribe: []string{"a/#"}}}
	n := build(t, cfg)
	run(t, n)
	url := "http://" + addressOf(t, n, address) + "/v1/tags/a/1"
	publish := func() int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(`{"x":1}`))
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, response.Body)
		response.Body.Close()
		return response.StatusCode
	}
	if status := publish(); status/100 != 2 {
		t.Fatalf("publishing: %d", status)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	events, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer events.Body.Close()
	for _, c := range []struct {
		anonymous string
		want      int
	}{{"reader", http.StatusForbidden}, {"", http.StatusUnauthorized}, {"open", 2}} {
		apply(t, n, func(next *config.Config) {
			next.Listeners = append([]config.Listener{}, next.Listeners...)
			next.Listeners[0].Anonymous = c.anonymous
			next.Listeners[1].Anonymous = map[string]string{"reader": "open"}[c.anonymous]
			if next.Listeners[1].Anonymous == "" {
				next.Listeners[1].Anonymous = "reader"
			}
			next.Identities = slices.DeleteFunc(slices.Clone(cfg.Identities), func(i config.Identity) bool {
				return i.Name != next.Listeners[0].Anonymous && i.Name != next.Listeners[1].Anonymous
			})
		})
		if c.anonymous == "reader" {
			if _, err := io.Copy(io.Discard, events.Body); ctx.Err() != nil {
				t.Errorf("a client with the identity before stays: %v", err)
			}
		}
		if status := publish(); status != c.want && status/100 != c.want {
			t.Errorf("as %q: %d, want %d", c.anonymous, status, c.want)
		}
	}
}
