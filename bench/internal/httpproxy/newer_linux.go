package httpproxy

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"example.com/ferry/bench/internal/pingora"
)

// The names of the newer versions that NewerPeers returns.
const (
	NewerNginx   = "nginx 1.26"
	NewerHAProxy = "HAProxy 3.0"
)

// NewerPeers returns Debian 13's nginx and HAProxy, as scripts/debian13.sh unpacks them, and Pingora, if pingora.Program is built. There
// is a note about each missing program.
func NewerPeers() (found []Program, notes []string) {
	return look(
		func() (Program, error) { return unpacked(NewerNginx, "nginx", "-v", nginxAt) },
		func() (Program, error) { return unpacked(NewerHAProxy, "haproxy", "-v", haproxyAt) },
		pingoraProxy,
	)
}

// unpacked returns a program of Debian 13. at makes a Program of a command line.
func unpacked(name, program, flag string, at func(command []string, version string) Program) (Program, error) {
	command, err := debian13(program)
	if err != nil {
		return Program{Name: name}, err
	}
	version, err := versionOf(append(command, flag)...)
	if err != nil {
		return Program{Name: name}, err
	}
	p := at(command, version+" of Debian 13")
	p.Name = name
	return p, nil
}

// debian13 returns the command line of a program that was built for Debian 13. The program runs with that system's C library, and so with
// its dynamic loader.
func debian13(program string) ([]string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("httpproxy: %w", err)
	}
	dir := filepath.Join(cache, "ferry-bench", "debian-13", "usr")
	path := filepath.Join(dir, "sbin", program)
	loaders, _ := filepath.Glob(filepath.Join(dir, "lib", "*-linux-gnu*", "ld-linux*.so.*"))
	if _, err := os.Stat(path); err != nil || len(loaders) == 0 {
		return nil, errors.New("it is not unpacked; make deps unpacks it on Debian 12")
	}
	return []string{loaders[0], "--library-path", filepath.Dir(loaders[0]), path}, nil
}

func pingoraProxy() (Program, error) {
	path := pingora.Program.Path()
	if path == "" {
		return Program{Name: "Pingora"}, errors.New("it is not built; the benchmark builds it where cargo is")
	}
	return Program{Name: "Pingora", Version: pingora.Version, argv: func(s Setup, _ string) []string {
		return []string{path, strconv.Itoa(s.Workers), s.Listen, s.Upstream}
	}}, nil
}
