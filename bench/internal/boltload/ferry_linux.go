package boltload

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/pinned"
)

// Ferry is the shipped ferry binary with the Bolt example as its configuration.
type Ferry struct {
	Binary string
	Config string // the text of examples/proxy/bolt.yaml
}

// Addresses holds the listen addresses of a proxy, of its backend, and of its admin server.
type Addresses struct{ Proxy, Backend, Admin string }

// Shipped holds the addresses that the example names.
var Shipped = Addresses{Proxy: "127.0.0.1:12200", Backend: "127.0.0.1:12300", Admin: "127.0.0.1:12295"}

// Unused returns free addresses for tests. Their ports are below the range that systems assign to outgoing connections, so
// an outgoing connection cannot use one of them.
func Unused() (Addresses, error) {
	var found []string
	for range 1000 {
		addr := fmt.Sprintf("127.0.0.1:%d", 10_000+rand.IntN(20_000))
		if pinned.Free(addr) == nil && !slices.Contains(found, addr) {
			found = append(found, addr)
		}
		if len(found) == 3 {
			return Addresses{found[0], found[1], found[2]}, nil
		}
	}
	return Addresses{}, errors.New("boltload: no three ports from 10000 to 30000 are free")
}

// Build builds the binary into dir, with further flags of the go command, and reads the example.
func Build(dir, name string, flags ...string) (Ferry, error) {
	f := Ferry{Binary: filepath.Join(dir, name)}
	if err := harness.Program(f.Binary, "./cmd/ferry", flags...); err != nil {
		return f, err
	}
	root, err := harness.Root()
	if err != nil {
		return f, err
	}
	text, err := os.ReadFile(filepath.Join(root, "examples", "proxy", "bolt.yaml"))
	if err != nil {
		return f, fmt.Errorf("boltload: %w", err)
	}
	f.Config = string(text)
	for _, addr := range []string{Shipped.Proxy, Shipped.Backend, Shipped.Admin} {
		if !strings.Contains(f.Config, addr) {
			return f, fmt.Errorf("boltload: the example for Bolt does not name %s any more: change boltload.Shipped", addr)
		}
	}
	return f, nil
}

// Connections returns f with a limit of n connections to the backend, in place of the default.
func (f Ferry) Connections(n int) (Ferry, error) {
	const cluster = "    - name: server\n"
	if !strings.Contains(f.Config, cluster) {
		return f, fmt.Errorf("boltload: the example for Bolt has no line %q to write connections behind", cluster)
	}
	f.Config = strings.Replace(f.Config, cluster, fmt.Sprintf("%s      connections: %d\n", cluster, n), 1)
	return f, nil
}

// Command writes the example configuration to dir and returns the command line that runs it. The configuration uses the
// given addresses in place of the example's own. With Shipped the example stays as it is.
func (f Ferry) Command(dir string, at Addresses) ([]string, error) {
	text := strings.NewReplacer(Shipped.Proxy, at.Proxy, Shipped.Backend, at.Backend, Shipped.Admin, at.Admin).Replace(f.Config)
	file := filepath.Join(dir, "bolt.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, fmt.Errorf("boltload: %w", err)
	}
	return []string{f.Binary, "run", "-c", file}, nil
}

// metrics reads ferry's metrics from its admin server. It returns the metrics without labels, by name.
func metrics(admin string) (map[string]float64, error) {
	client := http.Client{Timeout: patience}
	defer client.CloseIdleConnections()
	response, err := client.Get("http://" + admin + "/metrics")
	if err != nil {
		return nil, fmt.Errorf("boltload: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("boltload: http://%s/metrics: %s", admin, response.Status)
	}
	all := make(map[string]float64)
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			all[name] = v
		}
	}
	return all, lines.Err()
}
