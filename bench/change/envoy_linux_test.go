//go:build proof

package change

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"text/template"

	"example.com/ferry/bench/internal/clientload"
	"example.com/ferry/bench/internal/envoy"
	"example.com/ferry/internal/needs"
)

// envoyYAML is what does not change. Routes and certificates come from files, which Envoy watches.
var envoyYAML = template.Must(template.New("envoy.yaml").Funcs(template.FuncMap{"port": portOf}).Parse(`node: {id: change, cluster: change}
admin: {address: {socket_address: {address: 127.0.0.1, port_value: {{port .At.admin}}}}}
static_resources:
  clusters:
{{- range $i, $addr := .Web}}
  - name: web{{$i}}
    type: STATIC
    load_assignment:
      cluster_name: web{{$i}}
      endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: {{port $addr}}}}}}]}]
{{- end}}
  listeners:
{{- range $name := .Names}}
  - name: {{$name}}
    address: {socket_address: {address: 127.0.0.1, port_value: {{port (index $.At $name)}}}}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: {{$name}}
          http_filters:
          - name: envoy.filters.http.router
            typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}
          rds:
            route_config_name: routes
            config_source: {path_config_source: {path: {{$.Dir}}/routes.yaml}, resource_api_version: V3}
{{- if eq $name "https"}}
      transport_socket:
        name: envoy.transport_sockets.tls
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext
          common_tls_context:
            alpn_protocols: [h2, http/1.1]
            tls_certificate_sds_secret_configs:
            - {name: leaf, sds_config: {path_config_source: {path: {{$.Dir}}/leaf.yaml}, resource_api_version: V3}}
{{- end}}
{{- end}}
`))

const envoyRoutes = `resources:
- "@type": type.googleapis.com/envoy.config.route.v3.RouteConfiguration
  name: routes
  response_headers_to_add: [{header: {key: X-Plan, value: "%d"}, append_action: OVERWRITE_IF_EXISTS_OR_ADD}]
  virtual_hosts: [{name: all, domains: ["*"], routes: [{match: {prefix: /}, route: {cluster: web%d}}]}]
`

const envoySecret = `resources:
- "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret
  name: leaf
  tls_certificate: {certificate_chain: {inline_string: %q}, private_key: {inline_string: %q}}
`

func portOf(addr string) string {
	_, port, _ := net.SplitHostPort(addr)
	return port
}

// envoyProcess is the newest of some processes of Envoy, each of which has taken over from the one before (hot restart).
type envoyProcess struct {
	*program
	backends    *backends
	certificate *certificate
	at          map[string]string
	number      int // of the plan
	epoch       int
}

// The times of a hot restart, in seconds: Envoy asks the clients of the process before to leave, and then ends it.
const (
	envoyDrain    = "3"
	envoyShutdown = "5"
)

func newEnvoy(t *testing.T) *envoyProcess {
	t.Helper()
	if err := envoy.Install(); err != nil {
		needs.Missing(t, "Envoy", err.Error())
	}
	dir := t.TempDir()
	e := &envoyProcess{program: newProgram(t, dir, "envoy", envoy.Path()), backends: newBackends(t), certificate: newCertificate(t, dir)}
	names := []string{"http1", "http2", "https"}
	e.at = newAddresses(t, append(names, "admin"))
	var b strings.Builder
	if err := envoyYAML.Execute(&b, map[string]any{"At": e.at, "Names": names, "Dir": dir, "Web": []string{e.backends.web[0].Addr, e.backends.web[1].Addr}}); err != nil {
		t.Fatal(err)
	}
	e.write("envoy.yaml", b.String())
	e.number = 1
	e.write("routes.yaml", e.routes())
	e.write("leaf.yaml", e.secret())
	e.start("-c", "envoy.yaml", "--restart-epoch", "0", "--use-dynamic-base-id", "--base-id-path", "base",
		"--drain-time-s", envoyDrain, "--parent-shutdown-time-s", envoyShutdown, "-l", "warn", "--concurrency", "2")
	await(t, "Envoy listens", e.counts)
	return e
}

func (e *envoyProcess) name() string { return "Envoy" }

func (e *envoyProcess) kinds() []clientload.Kind { return httpKinds(e.at, e.certificate.trust()) }

// write replaces a file by a rename: Envoy watches for these.
func (e *envoyProcess) write(name, text string) {
	e.t.Helper()
	path := filepath.Join(e.dir, name)
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		e.t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		e.t.Fatal(err)
	}
}

func (e *envoyProcess) routes() string { return fmt.Sprintf(envoyRoutes, e.number, e.number%2) }

func (e *envoyProcess) secret() string {
	e.t.Helper()
	var pair []any
	for _, file := range []string{e.certificate.file(), e.certificate.key()} {
		text, err := os.ReadFile(file)
		if err != nil {
			e.t.Fatal(err)
		}
		pair = append(pair, string(text))
	}
	return fmt.Sprintf(envoySecret, pair...)
}

func (e *envoyProcess) counts() error {
	for _, url := range []string{"http://" + e.at["http1"], "https://" + e.at["https"]} {
		if err := planOf(e.certificate, url, e.number, strconv.Itoa(e.number%2)); err != nil {
			return err
		}
	}
	return nil
}

func (e *envoyProcess) same() {
	e.t.Helper()
	if err := e.counts(); err != nil {
		e.t.Error(err)
	}
}

func (e *envoyProcess) reload() {
	e.t.Helper()
	e.number++
	e.write("routes.yaml", e.routes())
	await(e.t, "the plan counts", e.counts)
}

func (e *envoyProcess) rotate() {
	e.t.Helper()
	e.certificate.rotate(e.t)
	e.write("leaf.yaml", e.secret())
	e.certificate.await(e.t, e.at["https"])
}

// upgrade starts another process, which takes over and ends the one before.
func (e *envoyProcess) upgrade() {
	e.t.Helper()
	base, err := os.ReadFile(filepath.Join(e.dir, "base"))
	if err != nil {
		e.t.Fatal(err)
	}
	before := e.pid
	e.epoch++
	e.start("-c", "envoy.yaml", "--restart-epoch", strconv.Itoa(e.epoch), "--base-id", strings.TrimSpace(string(base)),
		"--drain-time-s", envoyDrain, "--parent-shutdown-time-s", envoyShutdown, "-l", "warn", "--concurrency", "2")
	e.awaitEnd(before)
	e.alive()
	await(e.t, "the new process serves", e.counts)
}

func (e *envoyProcess) breakFile() {
	e.t.Helper()
	before := e.refused()
	e.write("routes.yaml", "resources: nothing\n")
	await(e.t, "the file is refused", func() error {
		if e.refused() == before {
			return errors.New("no file was refused")
		}
		return nil
	})
	e.same()
	e.write("routes.yaml", e.routes())
}

var envoyRefused = regexp.MustCompile(`(?m)^http\.http1\.rds\.routes\.update_(?:failure|rejected): (\d+)$`)

// refused is the number of files with routes that Envoy has refused.
func (e *envoyProcess) refused() (sum int) {
	e.t.Helper()
	response, err := http.Get("http://" + e.at["admin"] + "/stats")
	if err != nil {
		e.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		e.t.Fatal(err)
	}
	for _, m := range envoyRefused.FindAllSubmatch(text, -1) {
		n, _ := strconv.Atoi(string(m[1]))
		sum += n
	}
	return sum
}

// breakProgram starts a program that is broken, as a supervisor would: the process that serves never hears of it.
func (e *envoyProcess) breakProgram(int) {
	e.t.Helper()
	e.replace("\x7fELF is not enough")
	defer e.repair()
	if out, err := e.command("-c", "envoy.yaml").CombinedOutput(); err == nil {
		e.t.Fatalf("the broken program ends without an error: %s", out)
	}
	e.alive()
	e.same()
}

func (c *certificate) file() string { return filepath.Join(c.dir, "leaf.pem") }
func (c *certificate) key() string  { return filepath.Join(c.dir, "leaf.key") }
