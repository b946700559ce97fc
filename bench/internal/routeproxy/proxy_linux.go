package routeproxy

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"example.com/ferry/bench/internal/httpproxy"
	"example.com/ferry/bench/internal/pinned"
	"example.com/ferry/bench/internal/routeset"
)

// Proxy is a program with its way to configure routes.
type Proxy struct {
	Name, Version string

	files  func(s httpproxy.Setup, set routeset.Set) []file
	argv   func(s httpproxy.Setup) []string
	signal syscall.Signal // has the program read its files again; 0 means that it watches them
}

// file is a file of a configuration.
type file struct{ name, text string }

// The names of the proxies.
const (
	Ferry       = "ferry"
	Nginx       = "nginx"
	HAProxy     = "HAProxy, map file"
	HAProxyACLs = "HAProxy, a rule for each route"
	Envoy       = "Envoy"
)

// All returns ferry, whose program is binary, and the peers that are installed, with a note about each that is missing.
func All(binary string) (all []Proxy, notes []string) {
	all = []Proxy{ferry(binary)}
	for _, look := range []func() ([]Proxy, error){nginx, haproxy, envoyProxy} {
		found, err := look()
		if err != nil {
			notes = append(notes, err.Error()+".")
		}
		all = append(all, found...)
	}
	return all, notes
}

// Running is a started proxy.
type Running struct {
	*pinned.Process
	proxy *Proxy
	setup httpproxy.Setup
}

// Start starts the proxy with a set of routes, and waits until it listens. The caller stops it.
func (p *Proxy) Start(s httpproxy.Setup, set routeset.Set) (*Running, error) {
	for _, f := range p.files(s, set) {
		if err := os.WriteFile(filepath.Join(s.Dir, f.name), []byte(f.text), 0o600); err != nil {
			return nil, fmt.Errorf("routeproxy: %w", err)
		}
	}
	process, err := httpproxy.Launch(s, p.argv(s)...)
	if err != nil {
		return nil, fmt.Errorf("routeproxy: %s: %w", p.Name, err)
	}
	return &Running{process, p, s}, nil
}

// Prepared is a set of routes that a proxy's files were made of, but not written yet.
type Prepared struct {
	of    *Running
	files []file
}

// Prepare makes the files for another set.
func (r *Running) Prepare(set routeset.Set) Prepared { return Prepared{r, r.proxy.files(r.setup, set)} }

// Apply replaces the files, each by an atomic rename, and has the proxy read them. It does not wait for that.
func (p Prepared) Apply() error {
	for _, f := range p.files {
		at := filepath.Join(p.of.setup.Dir, f.name)
		if err := os.WriteFile(at+".next", []byte(f.text), 0o600); err != nil {
			return fmt.Errorf("routeproxy: %w", err)
		}
		if err := os.Rename(at+".next", at); err != nil {
			return fmt.Errorf("routeproxy: %w", err)
		}
	}
	if p.of.proxy.signal == 0 {
		return nil
	}
	return syscall.Kill(p.of.PID(), p.of.proxy.signal)
}

// each returns the text that line writes for the routes from the first to the one before the last.
func each(routes [2]int, line func(b *strings.Builder, i int)) string {
	var b strings.Builder
	for i := routes[0]; i < routes[1]; i++ {
		line(&b, i)
	}
	return b.String()
}
