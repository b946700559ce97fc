package cli

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"example.com/ferry/internal/needs"
	"example.com/ferry/proxy"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/upstream"
)

func TestForwarding(t *testing.T) {
	t.Parallel()
	several := upstream.Config{Name: "several"}
	for i := range 6 {
		several.Endpoints = append(several.Endpoints, upstream.EndpointConfig{Address: fmt.Sprintf("10.0.0.%d:80", i)})
	}
	cfg := &proxy.Config{
		Listeners: []proxy.Listener{
			{Protocol: proxy.Bolt, Cluster: "one"},
			{Protocol: proxy.HTTP1, Routes: []route.Rule{
				{Cluster: "one"}, {Clusters: []route.Weighted{{Cluster: "two"}, {Cluster: "one"}}}, {Respond: &route.Response{Status: 404}},
			}},
			{Protocol: proxy.HTTP1, VirtualHosts: []route.VirtualHost{{Hosts: []string{"*.example.com"}, Routes: []route.Rule{{Cluster: "several"}}}}},
			{Protocol: proxy.HTTP1, Routes: []route.Rule{{Redirect: &route.Redirect{Scheme: "https"}}}},
		},
		Clusters: []upstream.Config{
			{Name: "one", Endpoints: []upstream.EndpointConfig{{Address: "10.1.0.1:80"}}},
			{Name: "two", Endpoints: []upstream.EndpointConfig{{Address: "10.2.0.1:80"}, {Address: "10.1.0.1:80"}}},
			several,
		},
	}
	got := forwarding(cfg, []string{"a", "b", "c", "d"})
	want := []forward{
		{"a", "10.1.0.1:80"},
		{"b", "10.1.0.1:80, 10.2.0.1:80"},
		{"c", "10.0.0.0:80, 10.0.0.1:80, 10.0.0.2:80, 10.0.0.3:80, 2 more"},
		{"d", ""},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestRequest(t *testing.T) {
	t.Parallel()
	hosts := func(names ...string) proxy.Listener {
		return proxy.Listener{VirtualHosts: []route.VirtualHost{{Hosts: names}}}
	}
	for _, c := range []struct {
		from     string
		listener proxy.Listener
		want     string
	}{
		{"http1://127.0.0.1:80", proxy.Listener{}, "curl -i http://127.0.0.1:80/"},
		{"http1://0.0.0.0:80", proxy.Listener{}, "curl -i http://127.0.0.1:80/"},
		{"http1://[::]:80", hosts("*"), "curl -i http://127.0.0.1:80/"},
		{"http1://127.0.0.1:80", hosts("*.example.com", "a.b"), "curl -i -H 'Host: www.example.com' http://127.0.0.1:80/"},
		{"http1://127.0.0.1:80", hosts("a.b", "*"), "curl -i http://127.0.0.1:80/"},
		{"http1://unix:/run/my ferry.sock", proxy.Listener{}, "curl -i --unix-socket '/run/my ferry.sock' http://localhost/"},
		{"bolt://127.0.0.1:80", proxy.Listener{}, ""},
	} {
		cfg := &proxy.Config{Listeners: []proxy.Listener{c.listener}}
		if got := sampleRequest(cfg, []forward{{From: c.from}}); got != c.want {
			t.Errorf("%s: got %q, want %q", c.from, got, c.want)
		}
	}
}

// TestRunProxySuggestions runs the commands that ferry run prints for a proxy.
func TestRunProxySuggestions(t *testing.T) {
	t.Parallel()
	needs.Program(t, "bash")
	if _, err := exec.LookPath("curl"); err != nil {
		needs.Missing(t, "curl", "apt-get install curl")
	}
	server := webServer(t, "a server")
	n := runNode(t, fmt.Sprintf(proxyYAML, server))
	if want := regexp.MustCompile(`^ferry forwards http1://127\.0\.0\.1:\d+ to ` + regexp.QuoteMeta(server) + "\ndashboard: http://"); !want.MatchString(n.welcome) {
		t.Errorf("got\n%s", n.welcome)
	}
	commands := regexp.MustCompile(`(?m)^  (.*)$`).FindAllStringSubmatch(n.welcome, -1)
	wants := []string{"\r\n\r\na server", `ferry_proxy_requests_total{code="2xx"`}
	if len(commands) != len(wants) {
		t.Fatalf("got %d things to try, want %d:\n%s", len(commands), len(wants), n.welcome)
	}
	for i, want := range wants {
		out, err := exec.CommandContext(t.Context(), "bash", "-c", commands[i][1]).CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v, got %q, want %q", commands[i][1], err, out, want)
		}
	}
	if response, err := http.Get(regexp.MustCompile(`dashboard: (\S+)`).FindStringSubmatch(n.welcome)[1]); err != nil || response.StatusCode != http.StatusOK { //nolint:noctx // a test's request to its own process
		t.Errorf("dashboard: %v, %v", response, err)
	} else {
		response.Body.Close()
	}
	_ = n.Process.Signal(os.Interrupt)
	if err := n.Wait(); err != nil {
		t.Errorf("after an interrupt: %v", err)
	}
}
