package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"example.com/ferry/bench/internal/clientload"
	"example.com/ferry/bench/internal/envoy"
	"example.com/ferry/bench/internal/ferrynode"
	"example.com/ferry/bench/internal/httpproxy"
)

// httpCases are the cases of the peers.
var httpCases = []string{kept, fresh, http2}

// peer is a running peer.
type peer struct {
	group   *group
	name    string // of the case
	addr    string
	serving int
	daemon  string                                   // the file with the process that serves, which has a process group of its own
	replace func(ctx context.Context, p *peer) error // sets serving
}

func (p *peer) load(context.Context) (clientload.Kind, error) {
	return httpKind(p.name, p.addr, nil), nil
}
func (p *peer) pid() int { return p.serving }

func (p *peer) stop() {
	if p.daemon != "" { // nginx upgrades only a process that is no child of the one that has started it
		_ = syscall.Kill(p.serving, syscall.SIGTERM)
	}
	p.group.stop()
}

func (p *peer) upgrade(ctx context.Context) (time.Duration, error) { return 0, p.replace(ctx, p) }

// startPeer writes a configuration and starts a peer.
func startPeer(dir, name, file, config string, argv []string, addr string) (*peer, error) {
	if err := os.WriteFile(filepath.Join(dir, file), []byte(config), 0o600); err != nil {
		return nil, err
	}
	g, cmd, err := launch(dir, argv, nil)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := awaitPort(ctx, addr); err != nil {
		g.stop()
		return nil, err
	}
	return &peer{group: g, name: name, addr: addr, serving: cmd.Process.Pid}, nil
}

func nginx() (system, error) {
	path, version, err := httpproxy.Installed("nginx", "-v")
	if err != nil {
		return system{}, fmt.Errorf("nginx has no row: %w", err)
	}
	return system{name: "nginx", version: version, cases: httpCases, start: func(e *experiment, dir, name string) (server, error) {
		addr, err := ferrynode.FreeAddr()
		if err != nil {
			return nil, err
		}
		protocol := ""
		if name == http2 {
			protocol = " http2"
		}
		p, err := startPeer(dir, name, "nginx.conf", fmt.Sprintf(`user root;
pid %[1]s/nginx.pid;
error_log stderr error;
worker_processes 2;
events { worker_connections 1000; }
http {
	access_log off;
	client_body_temp_path %[1]s/body;
	proxy_temp_path %[1]s/proxy;
	fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi;
	scgi_temp_path %[1]s/scgi;
	keepalive_timeout 1h;
	keepalive_requests 1000000000;
	proxy_http_version 1.1;
	proxy_set_header Connection "";
	upstream up { server %[2]s; keepalive 16; }
	server { listen %[3]s%[4]s backlog=4096; location / { proxy_pass http://up; } }
}
`, dir, e.web.Addr, addr, protocol), []string{path, "-p", dir, "-e", "stderr", "-c", filepath.Join(dir, "nginx.conf")}, addr)
		if err != nil {
			return nil, err
		}
		p.daemon, p.replace = filepath.Join(dir, "nginx.pid"), replaceNginx
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		return p, until(ctx, "nginx has not written its process id", func() bool {
			p.serving, err = readPID(p.daemon)
			return err == nil
		})
	}}, nil
}

func readPID(file string) (int, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}

// replaceNginx starts the next master process, whose workers accept as soon as its file is there, and ends the old one.
func replaceNginx(ctx context.Context, p *peer) error {
	old, next := p.serving, 0
	if err := syscall.Kill(old, syscall.SIGUSR2); err != nil {
		return err
	}
	if err := until(ctx, "nginx has no next process", func() bool {
		pid, err := readPID(p.daemon)
		next = pid
		return err == nil && next != old && len(children(next)) > 1
	}); err != nil {
		return err
	}
	if err := syscall.Kill(old, syscall.SIGQUIT); err != nil {
		return err
	}
	p.serving = next
	return until(ctx, "the old nginx does not end", func() bool { return !alive(old) })
}

func haproxy() (system, error) {
	path, version, err := httpproxy.Installed("haproxy", "-v")
	if err != nil {
		return system{}, fmt.Errorf("HAProxy has no row: %w", err)
	}
	return system{name: "HAProxy", version: version, cases: httpCases, start: func(e *experiment, dir, name string) (server, error) {
		addr, err := ferrynode.FreeAddr()
		if err != nil {
			return nil, err
		}
		protocol := ""
		if name == http2 {
			protocol = " proto h2"
		}
		p, err := startPeer(dir, name, "haproxy.cfg", fmt.Sprintf(`global
	nbthread 2
	maxconn 1000
	no strict-limits
	hard-stop-after 10s
	stats socket %s/haproxy.sock mode 600 level admin expose-fd listeners
defaults
	mode http
	timeout connect 5s
	timeout client 1h
	timeout server 1h
	http-reuse always
frontend front
	bind %s%s backlog 4096
	default_backend back
backend back
	server up %s
`, dir, addr, protocol, e.web.Addr), []string{path, "-W", "-db", "-f", filepath.Join(dir, "haproxy.cfg")}, addr)
		if err != nil {
			return nil, err
		}
		master := p.serving
		worker := func() int {
			if all := children(master); len(all) == 1 {
				return all[0]
			}
			return 0
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := until(ctx, "HAProxy has no worker", func() bool { p.serving = worker(); return p.serving != 0 }); err != nil {
			p.stop()
			return nil, err
		}
		p.replace = func(ctx context.Context, p *peer) error {
			old := p.serving
			if err := syscall.Kill(master, syscall.SIGUSR2); err != nil {
				return err
			}
			return until(ctx, "HAProxy's worker is not replaced", func() bool {
				p.serving = worker()
				return p.serving != 0 && p.serving != old
			})
		}
		return p, nil
	}}, nil
}

const envoyConfig = `node: {id: bench, cluster: bench}
static_resources:
  listeners:
  - name: front
    address: {socket_address: {address: 127.0.0.1, port_value: %s}}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: front
          drain_timeout: 0.1s
          http_filters:
          - name: envoy.filters.http.router
            typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}
          route_config:
            virtual_hosts:
            - {name: all, domains: ["*"], routes: [{match: {prefix: /}, route: {cluster: up}}]}
  clusters:
  - name: up
    type: STATIC
    load_assignment:
      cluster_name: up
      endpoints:
      - lb_endpoints:
        - endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: %s}}}
`

func envoyProxy() (system, error) {
	if err := envoy.Install(); err != nil {
		return system{}, fmt.Errorf("Envoy has no row: %w", err) //nolint:staticcheck // a name
	}
	return system{name: "Envoy", version: envoy.Version, cases: httpCases, start: func(e *experiment, dir, name string) (server, error) {
		addr, err := ferrynode.FreeAddr()
		if err != nil {
			return nil, err
		}
		_, port, _ := strings.Cut(addr, ":")
		_, up, _ := strings.Cut(e.web.Addr, ":")
		base := strconv.Itoa(1 + time.Now().Nanosecond()%30000)
		argv := func(epoch int) []string {
			return []string{
				envoy.Path(), "-c", filepath.Join(dir, "envoy.yaml"), "--concurrency", "2", "--base-id", base, "--restart-epoch", strconv.Itoa(epoch),
				"--drain-time-s", "1", "--parent-shutdown-time-s", "1", "-l", "error",
			}
		}
		p, err := startPeer(dir, name, "envoy.yaml", fmt.Sprintf(envoyConfig, port, up), argv(0), addr)
		if err != nil {
			return nil, err
		}
		epoch := 0
		p.replace = func(ctx context.Context, p *peer) error {
			old := p.serving
			epoch++
			_, cmd, err := launch(dir, argv(epoch), p.group)
			if err != nil {
				return err
			}
			p.serving = cmd.Process.Pid
			return until(ctx, "the old Envoy does not end", func() bool { return !alive(old) || !alive(p.serving) })
		}
		return p, nil
	}}, nil
}
