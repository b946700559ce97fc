package httpproxy

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"
	"time"

	"example.com/ferry/bench/internal/pinned"
)

// Program is one of the proxies.
type Program struct {
	Name    string
	Version string

	// Goroutines says whether it tells how many it has, at Setup.Admin.
	Goroutines bool

	file string // of its configuration; empty: it needs none
	text *template.Template
	argv func(s Setup, file string) []string
}

// Setup says what a program is to do.
type Setup struct {
	Dir     string // for its files
	Cores   []int  // where it may run
	Workers int    // how many threads, processes or loops do the work
	Hops    []Hop  // one program forwards all of them
	Admin   string // where it tells how many goroutines it has, if it is written in Go
}

// Hop is an address to listen at, and the one that its requests are forwarded to.
type Hop struct{ Listen, Upstream string }

// Port is that of the address to listen at.
func (h Hop) Port() string { return after(h.Listen) }

// UpstreamHost is the host of the address to forward to.
func (h Hop) UpstreamHost() string { return strings.TrimSuffix(h.Upstream, ":"+after(h.Upstream)) }

// UpstreamPort is its port.
func (h Hop) UpstreamPort() string { return after(h.Upstream) }

func after(addr string) string { return addr[strings.LastIndexByte(addr, ':')+1:] }

const startTime = 30 * time.Second

// Start starts the program and waits until it listens. The caller stops it.
func (p *Program) Start(s Setup) (*pinned.Process, error) {
	file := ""
	if p.file != "" {
		var text strings.Builder
		if err := p.text.Execute(&text, s); err != nil {
			return nil, fmt.Errorf("httpproxy: %s: %w", p.Name, err)
		}
		file = filepath.Join(s.Dir, p.file)
		if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
			return nil, fmt.Errorf("httpproxy: %s: %w", p.Name, err)
		}
	}
	return Launch(s, p.argv(s, file)...)
}

// Launch starts any program, and waits until all its hops listen.
func Launch(s Setup, argv ...string) (*pinned.Process, error) {
	for _, h := range s.Hops {
		if err := pinned.Free(h.Listen); err != nil {
			return nil, err
		}
	}
	return launch(s, argv)
}

// LaunchMore is Launch for another process that shares the addresses of one that runs.
func LaunchMore(s Setup, argv ...string) (*pinned.Process, error) { return launch(s, argv) }

func launch(s Setup, argv []string) (*pinned.Process, error) {
	process, err := pinned.Start(s.Cores, s.Dir, argv...)
	if err != nil {
		return nil, err
	}
	for _, h := range s.Hops {
		if err := process.WaitListening(h.Listen, startTime); err != nil {
			process.Stop()
			return nil, err
		}
	}
	return process, nil
}

// Peers returns the programs that are there, and a sentence about each that is not.
func Peers() (found []Program, notes []string) {
	for _, look := range []func() (Program, error){nginx, haproxy, envoyProxy, fastHTTP, reverseProxy, caddy} {
		p, err := look()
		if err != nil {
			notes = append(notes, fmt.Sprintf("%s has no row: %v.", p.Name, err))
			continue
		}
		found = append(found, p)
	}
	return found, notes
}

// installed finds a program, and what it says of its version.
func installed(name string, pattern string, args ...string) (path, version string, err error) {
	for _, candidate := range []string{name, "/usr/sbin/" + name} { // users do not have sbin in their PATH
		if path, err = exec.LookPath(candidate); err == nil {
			break
		}
	}
	if err != nil {
		return "", "", errors.New("it is not installed; its Debian package is called " + name)
	}
	said, err := exec.Command(path, args...).CombinedOutput()
	if err != nil {
		return "", "", fmt.Errorf("%s %v: %w", path, args, err)
	}
	version = string(regexp.MustCompile(pattern).Find(said))
	if version == "" {
		return "", "", fmt.Errorf("%s says %q and not which version it is", path, said)
	}
	return path, version, nil
}

// configured is a program that reads a file.
func configured(name, version, file, text string, argv func(s Setup, file string) []string) Program {
	return Program{Name: name, Version: version, file: file, text: template.Must(template.New(name).Parse(text)), argv: argv}
}
