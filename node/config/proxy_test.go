package config

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"example.com/ferry/format/all"
	"example.com/ferry/protocol/http1"
	"example.com/ferry/proxy"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/upstream"
)

// proxyYAML sets most fields of a proxy, one per line.
const proxyYAML = `proxy:
  loops: 2
  listeners:
    - address: 127.0.0.1:8080
      protocol: http1
      routes:
        - name: pumps
          match:
            segment_prefix: /events
            payload: {format: cbor, where: deviceName == "pump-1"}
          clusters: [{cluster: a, weight: 3}, {cluster: b, weight: 1}]
          forward:
            timeout: 2s
            response: {set: [{name: x-by, value: ferry}]}
            retry: {on: [connect-failure, 5xx], budget: {ratio: 0.5}}
        - respond: {status: 404}
    - address: 127.0.0.1:12200
      protocol: bolt
      cluster: calls
  clusters:
    - name: a
      endpoints: [{address: 127.0.0.1:8081}]
      idle_timeout: -1s
      health: {kind: tcp}
    - name: b
      endpoints: [{address: 127.0.0.1:8082}]
    - name: calls
      endpoints: [{address: 127.0.0.1:12300}]
`

func parse(text string) (*Config, error) {
	return Parse("node.yaml", []byte(text), Program{Functions: []string{"checksum"}, Formats: all.Formats()})
}

func TestProxyOnly(t *testing.T) {
	got, err := parse(proxyYAML)
	if err != nil {
		t.Fatal(err)
	}
	want := defaults()
	want.Engine.Address = MemoryEngine
	want.Listeners = nil
	want.Proxy = &proxy.Config{
		Loops: 2,
		Listeners: []proxy.Listener{
			{Address: "127.0.0.1:8080", Protocol: proxy.HTTP1, Routes: []route.Rule{
				{
					Name:     "pumps",
					Match:    route.Match{SegmentPrefix: "/events", Payload: &route.Payload{Format: "cbor", Where: `deviceName == "pump-1"`}},
					Clusters: []route.Weighted{{Cluster: "a", Weight: 3}, {Cluster: "b", Weight: 1}},
					Forward: route.Forward{
						Timeout:  2 * time.Second,
						Response: route.Edits{Set: []http1.Pair{{Name: "x-by", Value: "ferry"}}},
						Retry:    &route.Retry{On: []route.Cause{route.OnConnectFailure, route.On5xx}, Budget: route.RetryBudget{Ratio: 0.5}},
					},
				},
				{Respond: &route.Response{Status: 404}},
			}},
			{Address: "127.0.0.1:12200", Protocol: proxy.Bolt, Cluster: "calls"},
		},
		Clusters: []upstream.Config{
			{
				Name: "a", Endpoints: []upstream.EndpointConfig{{Address: "127.0.0.1:8081"}}, IdleTimeout: -time.Second,
				Health: &upstream.Health{Kind: upstream.HealthTCP},
			},
			{Name: "b", Endpoints: []upstream.EndpointConfig{{Address: "127.0.0.1:8082"}}},
			{Name: "calls", Endpoints: []upstream.EndpointConfig{{Address: "127.0.0.1:12300"}}},
		},
	}
	if got.TakeCompiled() == nil {
		t.Error("the proxy is not compiled")
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\n%+v\nwant\n%+v\n%+v", got, got.Proxy, want, want.Proxy)
	}
}

func TestProxyBesideStreams(t *testing.T) {
	got, err := parse(proxyYAML + "listeners: [{address: 'tcp://127.0.0.1:4190'}]\nlive: {sensors: true}\n")
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Listeners) != 1 || got.Proxy == nil || !got.Live.Sensors {
		t.Errorf("got %+v", got)
	}
}

// TestProxyRefused changes one line of proxyYAML each, and expects the error at that line.
func TestProxyRefused(t *testing.T) {
	for _, tc := range []struct{ name, old, text, want string }{
		{"misspelt field", "loops:", "lops:", `node.yaml:2:3: proxy.lops: unknown field: did you mean "loops"?`},
		{"misspelt field of an entry", "address: 127.0.0.1:8080", "addresz: 127.0.0.1:8080", `node.yaml:4:7: proxy.listeners[0].addresz: unknown field: did you mean "address"?`},
		{"misspelt field of a pointer", "health: {kind: tcp}", "health: {kind: tcp, intervall: 1s}", `node.yaml:24:27: proxy.clusters[0].health.intervall: unknown field: did you mean "interval"?`},
		{"misspelt field far down", "budget: {ratio", "budget: {ration", `proxy.listeners[0].routes[0].forward.retry.budget.ration: unknown field: did you mean "ratio"?`},
		{"misspelt protocol", "protocol: bolt", "protocol: blot", `node.yaml:18:17: proxy.listeners[1].protocol: "blot" is not one of http1, http2, http, bolt: did you mean "bolt"?`},
		{"misspelt cause", "5xx]", "6xx]", `proxy.listeners[0].routes[0].forward.retry.on[1]: "6xx" is not one of connect-failure, reset, refused-stream, timeout, 5xx, gateway-error: did you mean "5xx"?`},
		{"misspelt check", "kind: tcp", "kind: tpc", `node.yaml:24:22: proxy.clusters[0].health.kind: "tpc" is not one of tcp, http, bolt, grpc: did you mean "tcp"?`},
		{"bare duration", "timeout: 2s", "timeout: 2", `node.yaml:13:22: proxy.listeners[0].routes[0].forward.timeout: number where string is expected`},
		{"a share that is text", "ratio: 0.5", "ratio: half", `proxy.listeners[0].routes[0].forward.retry.budget.ratio: string where number is expected`},
		{"negative loops", "loops: 2", "loops: -2", `node.yaml:2:10: proxy.loops: `},
		{"no port", "address: 127.0.0.1:12200", "address: 127.0.0.1", "node.yaml:17:16: proxy.listeners[1].address: "},
		{"no such cluster", "cluster: calls", "cluster: call", `node.yaml:19:16: proxy.listeners[1].cluster: there is no cluster "call"`},
		{"no such cluster among several", "cluster: b,", "cluster: be,", `proxy.listeners[0].routes[0].clusters[1].cluster: there is no cluster "be"`},
		{"bad path", "segment_prefix: /events", "segment_prefix: events", "node.yaml:9:29: proxy.listeners[0].routes[0].match.segment_prefix: "},
		{"bad predicate", `where: deviceName == "pump-1"`, "where: deviceName ==", "node.yaml:10:44: proxy.listeners[0].routes[0].match.payload.where: "},
		{"unknown format", "format: cbor", "format: xml", "node.yaml:10:31: proxy.listeners[0].routes[0].match.payload.format: "},
		{"nothing to listen on", proxyYAML, "proxy: {listeners: []}\n", "node.yaml:1:20: proxy.listeners: none"},
		{"null", proxyYAML, "proxy:\n", "node.yaml:1:8: proxy: null where object is expected"},
		{"sensors", "proxy:\n", "live: {sensors: true}\nproxy:\n", "node.yaml:1:8: live: for streams, of which this node has none"},
		{"functions", "proxy:\n", "functions: [{name: a, run: checksum, observe: [a]}]\nproxy:\n", "node.yaml:1:12: functions: for streams"},
		{"streams", "proxy:\n", "streams: [{tags: a}]\nproxy:\n", "node.yaml:1:10: streams: for streams"},
		{"identities", "proxy:\n", "identities: [{name: a, token: 0123456789abcdef}]\nproxy:\n", "node.yaml:1:13: identities: for streams"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			text := strings.Replace(proxyYAML, tc.old, tc.text, 1)
			if text == proxyYAML {
				t.Fatalf("there is no %q", tc.old)
			}
			cfg, err := parse(text)
			if err == nil {
				t.Fatalf("accepted as %+v", cfg.Proxy)
			}
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got  %s\nwant %s", err, tc.want)
			}
		})
	}
}
