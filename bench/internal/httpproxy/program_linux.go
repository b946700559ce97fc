package httpproxy

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"text/template"
	"time"

	"example.com/ferry/bench/internal/keypair"
	"example.com/ferry/bench/internal/pinned"
)

// Program is a proxy that Start can run.
type Program struct {
	Name    string
	Version string

	// Goroutines says whether Setup.Admin serves the number of goroutines.
	Goroutines bool

	supports func(s Setup) bool // nil: HTTP/1.1 in cleartext only

	file string // name of the configuration file; empty if the program needs none
	text *template.Template
	argv func(s Setup, file string) []string
}

// Setup is the addresses, cores and workers of one program.
type Setup struct {
	Dir      string // directory of the program's files
	Cores    []int  // cores that the program may use
	Workers  int    // number of threads, processes or loops that forward requests
	Listen   string // address of the proxy, a port of 127.0.0.1
	Upstream string // address of the server, a port of 127.0.0.1
	Admin    string // address of the admin server, for programs written in Go

	// The zero values are HTTP/1.1 in cleartext.
	HTTP2         bool          // clients speak HTTP/2; in cleartext with prior knowledge
	UpstreamHTTP2 bool          // the server speaks HTTP/2; in cleartext with prior knowledge
	GRPC          bool          // requests are gRPC's, over HTTP/2
	TLS           keypair.Files // certificate of the listener
	UpstreamTLS   keypair.Files // what the server's certificate is verified by
}

// Supports reports whether the program speaks the protocols of s.
func (p *Program) Supports(s Setup) bool {
	if p.supports != nil {
		return p.supports(s)
	}
	return !s.HTTP2 && !s.UpstreamHTTP2 && s.TLS.Cert == "" && s.UpstreamTLS.Cert == ""
}

// always is the Supports of a program that speaks both protocols on both sides.
func always(Setup) bool { return true }

// Port returns the port of Listen.
func (s Setup) Port() string { return port(s.Listen) }

// UpstreamPort returns the port of Upstream.
func (s Setup) UpstreamPort() string { return port(s.Upstream) }

func port(addr string) string { return addr[strings.LastIndexByte(addr, ':')+1:] }

const startTime = 30 * time.Second

// Start starts the program and waits until it listens. The caller stops it.
func (p *Program) Start(s Setup) (*pinned.Process, error) {
	argv, err := p.command(s)
	if err != nil {
		return nil, err
	}
	return Launch(s, argv...)
}

// command writes the configuration file, and returns the command line of the program.
func (p *Program) command(s Setup) ([]string, error) {
	if p.file == "" {
		return p.argv(s, ""), nil
	}
	var text strings.Builder
	if err := p.text.Execute(&text, s); err != nil {
		return nil, fmt.Errorf("httpproxy: %s: %w", p.Name, err)
	}
	file := filepath.Join(s.Dir, p.file)
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		return nil, fmt.Errorf("httpproxy: %s: %w", p.Name, err)
	}
	return p.argv(s, file), nil
}

// Join starts one more process of the program, which listens on the same address as a running one.
func (p *Program) Join(s Setup) (*pinned.Process, error) {
	before, err := listeners(s.Port())
	if err != nil {
		return nil, err
	}
	argv, err := p.command(s)
	if err != nil {
		return nil, err
	}
	process, err := start(s, argv)
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(startTime); ; time.Sleep(5 * time.Millisecond) {
		now, err := listeners(s.Port())
		if err == nil && now > before {
			return process, nil
		}
		if err == nil && time.Now().After(deadline) {
			err = fmt.Errorf("httpproxy: %s does not share %s after %v: %s", p.Name, s.Listen, startTime, process.Output())
		}
		if err != nil {
			process.Stop()
			return nil, err
		}
	}
}

// Launch starts any program, and waits until it listens.
func Launch(s Setup, argv ...string) (*pinned.Process, error) {
	if err := pinned.Free(s.Listen); err != nil {
		return nil, err
	}
	return start(s, argv)
}

func start(s Setup, argv []string) (*pinned.Process, error) {
	p, err := pinned.Start(s.Cores, s.Dir, argv...)
	if err != nil {
		return nil, err
	}
	if err := p.WaitListening(s.Listen, startTime); err != nil {
		p.Stop()
		return nil, err
	}
	return p, nil
}

// listeners returns the number of sockets that listen on a port. proc_net(5).
func listeners(port string) (int, error) {
	n, err := strconv.Atoi(port)
	if err != nil {
		return 0, fmt.Errorf("httpproxy: port %q: %w", port, err)
	}
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		return 0, fmt.Errorf("httpproxy: %w", err)
	}
	count := 0
	for line := range strings.Lines(string(table)) {
		if f := strings.Fields(line); len(f) > 3 && f[3] == "0A" && strings.HasSuffix(f[1], fmt.Sprintf(":%04X", n)) {
			count++
		}
	}
	return count, nil
}

// Peers returns the installed programs, and a note about each missing program.
func Peers() (found []Program, notes []string) {
	return look(nginx, haproxy, envoyProxy, fastHTTP, reverseProxy, caddy, nghttpx)
}

func look(programs ...func() (Program, error)) (found []Program, notes []string) {
	for _, program := range programs {
		p, err := program()
		if err != nil {
			notes = append(notes, fmt.Sprintf("%s has no row: %v.", p.Name, err))
			continue
		}
		found = append(found, p)
	}
	return found, notes
}

// versionPattern matches a version number.
var versionPattern = regexp.MustCompile(`[0-9]+\.[0-9.]*[0-9]`)

// Installed finds a program and its version, which it prints when it is called with args.
func Installed(name string, args ...string) (path, version string, err error) {
	for _, candidate := range []string{name, "/usr/sbin/" + name} { // users do not have sbin in their PATH
		if path, err = exec.LookPath(candidate); err == nil {
			break
		}
	}
	if err != nil {
		return "", "", errors.New("it is not installed; make deps installs it")
	}
	version, err = versionOf(append([]string{path}, args...)...)
	return path, version, err
}

// versionOf runs a command that prints a version.
func versionOf(command ...string) (string, error) {
	said, err := exec.Command(command[0], command[1:]...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%v: %w", command, err)
	}
	version := string(versionPattern.Find(said))
	if version == "" {
		return "", fmt.Errorf("%v says %q and not which version it is", command, said)
	}
	return version, nil
}

// configured returns a program that reads a configuration file.
func configured(name, version, file, text string, argv func(s Setup, file string) []string) Program {
	return Program{Name: name, Version: version, file: file, text: template.Must(template.New(name).Parse(text)), argv: argv}
}
