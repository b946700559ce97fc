package change

import (
	"strings"
	"testing"
	"text/template"

	"example.com/ferry/bench/internal/clientload"
	"example.com/ferry/bench/internal/ferrynode"
)

// plan is what a configuration says. Each reload makes another one.
type plan struct {
	Number int    // of the reload: the proxy's responses have it in the field X-Plan
	Server string // address of the web server that gets the requests
	Extra  bool   // there are more listeners, an identity and a stream
	At     map[string]string
}

// fields of a plan that follow from its number.
func (p *plan) Level() string { return []string{"info", "warn", "debug"}[p.Number%3] }
func (p *plan) Tags() int     { return 1000 + p.Number }

// places are the listeners: each has an address of its own, which stays the same.
var places = []string{"http1", "http2", "https", "bolt", "grpc", "stream", "streamTLS", "mqtt", "admin", "extraHTTP", "extraStream"}

// newAddresses returns an address for each of names.
func newAddresses(t *testing.T, names []string) map[string]string {
	t.Helper()
	at := map[string]string{}
	for _, name := range names {
		addr, err := ferrynode.FreeAddr()
		if err != nil {
			t.Fatal(err)
		}
		at[name] = addr
	}
	return at
}

// callerToken is the token of the identity that serves calls and makes them. The grant names the service: so a call that comes before its
// server has connected again is refused as one that may be tried again.
const callerToken = "the-token-of-the-caller"

// visitorToken is the token of the identity that only plans with Extra have.
const visitorToken = "the-token-of-the-visitor"

var nodeYAML = template.Must(template.New("node.yaml").Parse(`data_dir: data
log: {level: {{.Level}}}
listeners:
  - {address: 'tcp://{{.At.stream}}'}
  - {address: 'tls://{{.At.streamTLS}}', cert_file: leaf.pem, key_file: leaf.key}
  - {address: 'mqtt://{{.At.mqtt}}', anonymous: device}
{{- if .Extra}}
  - {address: 'tcp://{{.At.extraStream}}'}
{{- end}}
identities:
  - {name: device, publish: ['plant/#'], subscribe: ['plant/#']}
  - {name: caller, token: ` + callerToken + `, serve: [` + clientload.EchoService + `], call: [` + clientload.EchoService + `]}
{{- if .Extra}}
  - {name: visitor, token: ` + visitorToken + `, subscribe: ['lobby/#']}
{{- end}}
engine: {address: embedded, sync: interval}
streams:
  - {name: orders, tags: orders/#, delivery: at-least-once, retention: {age: 1h}}
  - {name: secure, tags: secure/#, delivery: at-least-once, retention: {age: 1h}}
  - {name: plant, tags: plant/#, delivery: at-least-once, retention: {age: 1h}}
{{- if .Extra}}
  - {name: lobby, tags: lobby/#, delivery: at-least-once, retention: {age: 1h}}
{{- end}}
limits: {max_tags: {{.Tags}}}
drain: {timeout: 1m}
admin: {address: '{{.At.admin}}'}
live: {sensors: false}
proxy:
  clusters:
    - {name: web, endpoints: [{address: '{{.Server}}'}]}
    - {name: web2, protocol: http2, endpoints: [{address: '{{.Server}}'}]}
    - {name: bolt, protocol: bolt, endpoints: [{address: '{{.At.boltServer}}'}]}
    - {name: grpc, protocol: http2, endpoints: [{address: '{{.At.grpcServer}}'}]}
  listeners:
    - address: '{{.At.http1}}'
      protocol: http1
      routes: [{cluster: web, forward: {response: {set: [{name: X-Plan, value: "{{.Number}}"}]}}}]
    - address: '{{.At.http2}}'
      protocol: http2
      routes: [{cluster: web2, forward: {response: {set: [{name: X-Plan, value: "{{.Number}}"}]}}}]
    - address: '{{.At.https}}'
      protocol: http
      tls: {certificates: [{cert_file: leaf.pem, key_file: leaf.key}]}
      routes: [{cluster: web, forward: {response: {set: [{name: X-Plan, value: "{{.Number}}"}]}}}]
    - {address: '{{.At.bolt}}', protocol: bolt, cluster: bolt}
    - {address: '{{.At.grpc}}', protocol: http2, cluster: grpc}
{{- if .Extra}}
    - {address: '{{.At.extraHTTP}}', protocol: http1, cluster: web}
{{- end}}
`))

// yaml returns the configuration file.
func (p *plan) yaml(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	if err := nodeYAML.Execute(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
