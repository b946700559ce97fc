package httpproxy

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"example.com/ferry/bench/internal/ferrynode"
	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/keepalive"
)

// Ferry returns the program that runs ferry's binary in dir, as ferrynode.Build writes it. config is a template, executed with
// the Setup.
func Ferry(dir, config string) Program {
	p := configured("ferry", "this commit", "node.yaml", config, func(_ Setup, file string) []string {
		return []string{filepath.Join(dir, ferrynode.Binary), "run", "-c", file}
	})
	p.Goroutines = true
	return p
}

// example is a file of examples/proxy, with the addresses that the file names.
type example struct{ file, listen, upstream, admin string }

var examples = map[keepalive.Wire]example{
	keepalive.HTTP1: {"http1.yaml", "127.0.0.1:18080", "127.0.0.1:18090", "127.0.0.1:18095"},
	keepalive.Bolt:  {"bolt.yaml", "127.0.0.1:12200", "127.0.0.1:12300", "127.0.0.1:12295"},
}

// Example returns the configuration in examples/proxy for a protocol. Only the addresses are replaced, by those of a Setup.
func Example(w keepalive.Wire) (string, error) {
	root, err := harness.Root()
	if err != nil {
		return "", err
	}
	x := examples[w]
	text, err := os.ReadFile(filepath.Join(root, "examples", "proxy", x.file))
	if err != nil {
		return "", fmt.Errorf("httpproxy: %w", err)
	}
	config := string(text)
	for _, r := range [][2]string{{x.listen, "{{.Listen}}"}, {x.upstream, "{{.Upstream}}"}, {x.admin, "{{.Admin}}"}} {
		if !strings.Contains(config, r[0]) {
			return "", fmt.Errorf("httpproxy: examples/proxy/%s does not name %s", x.file, r[0])
		}
		config = strings.ReplaceAll(config, r[0], r[1])
	}
	return config, nil
}

// ferryConfig is examples/proxy/http2.yaml, with the protocols and the TLS of a Setup.
const ferryConfig = `proxy:
  listeners:
    - address: {{.Listen}}
      protocol: {{if .HTTP2}}http2{{else}}http1{{end}}
{{- if .TLS.Cert}}
      tls:
        certificates:
          - cert_file: {{.TLS.Cert}}
            key_file: {{.TLS.Key}}
{{- end}}
      cluster: web
  clusters:
    - name: web
      protocol: {{if .UpstreamHTTP2}}http2{{else}}http1{{end}}
{{- if .UpstreamTLS.Cert}}
      tls:
        server_name: localhost
        ca_file: {{.UpstreamTLS.Cert}}
{{- end}}
      endpoints:
        - address: {{.Upstream}}
admin:
  address: {{.Admin}}
`

// FerryWith returns the program that runs ferry's binary in dir, with any protocols of a Setup.
func FerryWith(dir string) Program {
	p := Ferry(dir, ferryConfig)
	p.supports = always
	return p
}

// With adds lines such as "reuse_port: true" to the proxy section of an example.
func With(config string, lines ...string) string {
	return strings.Replace(config, "\nproxy:\n", "\nproxy:\n  "+strings.Join(lines, "\n  ")+"\n", 1)
}
