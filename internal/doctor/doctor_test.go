package doctor

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/ferry/node/config"
)

// healthy is the /proc and /sys of a machine with nothing wrong.
var healthy = map[string]string{
	"/proc/sys/kernel/osrelease":             "6.12.3-generic\n",
	"/proc/sys/net/core/rmem_max":            "16777216\n",
	"/proc/sys/net/core/wmem_max":            "16777216\n",
	"/proc/sys/net/core/somaxconn":           "4096\n",
	"/proc/sys/net/ipv4/tcp_max_syn_backlog": "4096\n",
	"/proc/self/cgroup":                      "0::/system.slice/ferry.service\n",
	"/proc/meminfo":                          "MemTotal: 16000000 kB\nMemAvailable: 15000000 kB\n",
}

var today = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// newMachine returns a machine with nothing wrong.
func newMachine(t *testing.T) *Machine {
	t.Helper()
	m := &Machine{
		OS: "linux", Root: t.TempDir(), Built: today.AddDate(0, -1, 0), User: 1000,
		Now:         func() time.Time { return today },
		Getenv:      func(string) string { return "" },
		MemoryLimit: func() int64 { return math.MaxInt64 },
		Descriptors: func() (uint64, error) { return 65536, nil },
		Clock:       func() (bool, error) { return true, nil },
		FileSystem:  func(string) (FileSystem, error) { return FileSystem{Kind: "ext4", Size: 1 << 40, Free: 1 << 39}, nil },
		Writable:    func(string) error { return nil },
		Listen:      func(string, string) error { return nil },
		Lookup:      func(context.Context, string) error { return nil },
		Dial:        func(context.Context, string, string) error { return nil },
	}
	for name, text := range healthy {
		m.write(t, name, text)
	}
	return m
}

// write writes a file of /proc or /sys; an empty text removes it.
func (m *Machine) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(m.Root, name)
	if text == "" {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// examine returns what is found for a configuration.
func examine(t *testing.T, m *Machine, text string, change func(*Config)) []Finding {
	t.Helper()
	dir := t.TempDir()
	name := filepath.Join(dir, "node.yaml")
	text = "data_dir: " + filepath.ToSlash(filepath.Join(dir, "data")) + "\n" + text
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	source, err := config.Read(name)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := source.Config(config.Program{})
	if err != nil {
		t.Fatal(err)
	}
	c := Config{Node: cfg, Source: source, Machine: m}
	if change != nil {
		change(&c)
	}
	return Examine(t.Context(), c)
}

// bad returns the faults and warnings.
func bad(all []Finding) []Finding {
	return slices.DeleteFunc(slices.Clone(all), func(f Finding) bool { return f.Severity != Fault && f.Severity != Warning })
}

const stored = "streams: [{tags: 'a/#', delivery: at-least-once, retention: {size: 1GiB}}]\n"

// TestChecks checks that each fault is found alone, on a machine with nothing else wrong.
func TestChecks(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("needs Linux: the files of control groups are read there only")
	}
	file := func(name, text string) func(*testing.T, *Machine) {
		return func(t *testing.T, m *Machine) { m.write(t, name, text) }
	}
	disk := func(fs FileSystem) func(*testing.T, *Machine) {
		return func(_ *testing.T, m *Machine) { m.FileSystem = func(string) (FileSystem, error) { return fs, nil } }
	}
	large := func(kind string) FileSystem { return FileSystem{Kind: kind, Size: 1 << 40, Free: 1 << 39} }
	listen := func(err error) func(*testing.T, *Machine) {
		return func(_ *testing.T, m *Machine) {
			m.Listen = func(network, address string) error {
				if network == "tcp" && address == "127.0.0.1:4190" {
					return err
				}
				return nil
			}
		}
	}
	environment := func(name, value string) func(*testing.T, *Machine) {
		return func(_ *testing.T, m *Machine) {
			m.Getenv = func(n string) string {
				if n == name {
					return value
				}
				return ""
			}
		}
	}
	const proxied = "admin: {address: 'off'}\nproxy:\n  listeners: [{address: '127.0.0.1:8080', protocol: http1, cluster: a}]\n  clusters: [{name: a, endpoints: [{address: 'a.example:80'}]}]\n"
	operated := strings.Replace(proxied, "'off'", "'127.0.0.1:1'", 1)
	readOnly := func(_ *testing.T, m *Machine) { m.Writable = func(string) error { return syscall.EACCES } }
	for _, row := range []struct {
		name, text string
		machine    func(*testing.T, *Machine)
		config     func(*Config)
		want       string // severity check: part of What; empty for nothing
	}{
		{name: "nothing"},
		{name: "nothing, stored", text: stored},
		{name: "nothing, proxy", text: proxied},
		{name: "admin server of a proxy", text: operated},
		{name: "admin server of a proxy, no data_dir", text: operated, machine: readOnly, want: "warning permissions: may not make it"},
		{name: "admin server of a proxy, read-only disk", text: operated, machine: disk(FileSystem{Kind: "ext4", ReadOnly: true, Size: 1 << 40, Free: 1 << 39}), want: "warning disk: mounted read-only"},
		{name: "proxy alone, no data_dir", text: proxied, machine: readOnly},
		{name: "old kernel", machine: file("/proc/sys/kernel/osrelease", "4.14.0"), want: "warning kernel: lacks segmentation of UDP"},
		{name: "very old kernel", text: "listeners: [{address: 'tcp://127.0.0.1:1'}]\n", machine: file("/proc/sys/kernel/osrelease", "4.4.0"), want: "fault kernel: lacks epoll"},
		{name: "clock before the build", machine: func(_ *testing.T, m *Machine) { m.Built = today.AddDate(1, 0, 0) }, want: "fault clock: the clock says 2026-06-01"},
		{name: "clock long after the build", machine: func(_ *testing.T, m *Machine) { m.Built = today.AddDate(-20, 0, 0) }, want: "warning clock: 10 years"},
		{name: "clock not synchronized", machine: func(_ *testing.T, m *Machine) { m.Clock = func() (bool, error) { return false, nil } }, want: "warning clock: not synchronized"},
		{name: "half a CPU", machine: file("/sys/fs/cgroup/system.slice/cpu.max", "50000 100000"), want: "warning cpu: 0.50 CPUs"},
		{name: "more loops than CPUs", text: "admin: {address: 'off'}\nproxy: {loops: 8, listeners: [{address: '127.0.0.1:1', protocol: http1, cluster: a}], clusters: [{name: a, endpoints: [{address: '127.0.0.1:2'}]}]}\n", machine: file("/sys/fs/cgroup/cpu.max", "200000 100000"), want: "warning cpu: 8 event loops"},
		{name: "no GOMEMLIMIT", machine: file("/sys/fs/cgroup/memory.max", "8589934592"), want: "warning memory: GOMEMLIMIT is not set"},
		{name: "GOMEMLIMIT above the group's limit", machine: func(t *testing.T, m *Machine) {
			m.write(t, "/sys/fs/cgroup/memory.max", "8589934592")
			m.MemoryLimit = func() int64 { return 9 << 30 }
		}, want: "fault memory: GOMEMLIMIT is 9 GiB"},
		{name: "little memory", text: "deploy: {functions: -1}\n", machine: file("/proc/meminfo", "MemAvailable: 1024 kB\n"), want: "warning memory: one client may make the node keep 83 MiB"},
		{name: "memory for guests", text: "limits: {call_queue: 1MiB, call_window: 1MiB}\n", machine: file("/proc/meminfo", "MemAvailable: 102400 kB\n"), want: "warning memory: limits.wasm_memory is 1GiB"},
		{name: "streams in memory", text: "engine: {address: memory}\nstreams: [{tags: 'a/#', retention: {size: 64GiB}}]\n", want: "fault memory: may together take 64 GiB"},
		{name: "few descriptors", machine: func(_ *testing.T, m *Machine) { m.Descriptors = func() (uint64, error) { return 1024, nil } }, want: "fault descriptors: up to 1280"},
		{name: "few descriptors, proxy", text: proxied, machine: func(_ *testing.T, m *Machine) { m.Descriptors = func() (uint64, error) { return 1024, nil } }, want: "warning descriptors: accepts 896 clients"},
		{name: "small accept queue", machine: file("/proc/sys/net/core/somaxconn", "128"), want: "warning accept queue: somaxconn is 128"},
		{name: "small receive buffer", machine: file("/proc/sys/net/core/rmem_max", "212992"), want: "warning udp buffers: rmem_max is 208 KiB"},
		{name: "small receive buffer, no QUIC", text: "listeners: [{address: 'tcp://127.0.0.1:1'}]\n", machine: file("/proc/sys/net/core/rmem_max", "212992")},
		{name: "stored on tmpfs", text: stored, machine: disk(large("tmpfs")), want: "fault disk: is on tmpfs"},
		{name: "tmpfs", machine: disk(large("tmpfs")), want: "warning disk: is on tmpfs"},
		{name: "stored on nfs", text: stored, machine: disk(large("nfs")), want: "warning disk: network file system"},
		{name: "stored in a container", text: stored, machine: disk(large("overlay")), want: "warning disk: writable layer"},
		{name: "vfat", machine: disk(large("vfat")), want: "fault disk: has no permissions"},
		{name: "read-only", machine: disk(FileSystem{Kind: "ext4", ReadOnly: true, Size: 1 << 40, Free: 1 << 39}), want: "fault disk: mounted read-only"},
		{name: "full disk", machine: disk(FileSystem{Kind: "ext4", Size: 1 << 40, Free: 1 << 20}), want: "fault disk: is full: 1 MiB free"},
		{name: "little space", text: stored, machine: disk(FileSystem{Kind: "ext4", Size: 1 << 33, Free: 1 << 29}), want: "warning disk: may grow to 1 GiB"},
		{name: "no inodes", machine: disk(FileSystem{Kind: "ext4", Size: 1 << 40, Free: 1 << 39, NoFiles: true}), want: "fault disk: inodes"},
		{name: "data_dir cannot be made", machine: readOnly, want: "fault permissions: may not make it"},
		{name: "token for everyone", config: func(c *Config) { secretIn(t, c, 0o644) }, want: "fault permissions: every user of this machine may use"},
		{name: "open folder", config: func(c *Config) { secretIn(t, c, 0o600); chmod(t, c.Node.DataDir, 0o777) }, want: "fault permissions: other users may write in"},
		{name: "port in use", machine: listen(fmt.Errorf("listen: %w", syscall.EADDRINUSE)), want: "fault ports: tcp port 127.0.0.1:4190 is in use"},
		{name: "port for root", machine: listen(fmt.Errorf("listen: %w", syscall.EACCES)), want: "fault ports: cannot be bound"},
		{name: "another machine's address", machine: listen(fmt.Errorf("listen: %w", syscall.EADDRNOTAVAIL)), want: "fault ports: is not an address of this machine"},
		{name: "port of the running node", machine: listen(syscall.EADDRINUSE), config: func(c *Config) { c.Running = &Running{Ready: 200, Said: "ready"} }},
		{name: "socket in no folder", text: "listeners: [{address: 'unix:///nowhere/at/all/f.sock'}]\n", want: "fault ports: does not exist"},
		{name: "unknown name", text: proxied, machine: func(_ *testing.T, m *Machine) {
			m.Lookup = func(_ context.Context, host string) error { return errors.New(host + "?") }
		}, want: "fault names: a.example cannot be looked up"},
		{name: "server away", text: proxied, machine: func(_ *testing.T, m *Machine) {
			m.Dial = func(context.Context, string, string) error { return syscall.ECONNREFUSED }
		}, config: func(c *Config) { c.Dial = true }, want: "fault reach: a.example:80 cannot be reached"},
		{name: "server away, without --dial", text: proxied, machine: func(_ *testing.T, m *Machine) {
			m.Dial = func(context.Context, string, string) error { return syscall.ECONNREFUSED }
		}},
		{name: "plain on a public address", text: "listeners: [{address: 'tcp://0.0.0.0:1', insecure: true}]\n", want: "warning configuration: not encrypted"},
		{name: "validation off on a public address", text: "listeners: [{address: 'quic://0.0.0.0:1', validate: 'off'}]\n", want: "warning configuration: not validated"},
		{name: "anonymous", text: "identities: [{name: a, publish: ['a/#']}]\nlisteners: [{address: 'https://0.0.0.0:1', anonymous: a}]\n", want: "warning configuration: without a credential"},
		{name: "plain proxy on a public address", text: strings.Replace(proxied, "127.0.0.1:8080", "0.0.0.0:8080", 1), want: "warning configuration: 0.0.0.0:8080 is reachable"},
		{name: "servers are not verified", text: strings.Replace(proxied, "name: a,", "name: a, tls: {insecure_skip_verify: true},", 1), want: "warning configuration: not verified"},
		{name: "no health checks", text: strings.Replace(proxied, "[{address: 'a.example:80'}]", "[{address: 'a.example:80'}, {address: 'b.example:80'}]", 1), want: "warning configuration: neither health nor outlier"},
		{name: "no retention", text: "streams: [{tags: 'a/#', delivery: at-least-once}]\n", want: "warning configuration: no retention"},
		{name: "root", machine: func(_ *testing.T, m *Machine) { m.User = 0 }, want: "warning configuration: this user is root"},
		{name: "pod without delay", machine: environment("KUBERNETES_SERVICE_HOST", "10.0.0.1"), want: "warning configuration: drain.delay is not set"},
		{name: "pod that drains too long", text: "drain: {delay: 5s, timeout: 40s}\n", machine: environment("KUBERNETES_SERVICE_HOST", "10.0.0.1"), want: "warning configuration: draining may take 45s"},
		{name: "node not ready", config: func(c *Config) { c.Running = &Running{Ready: 503, Said: "not ready: draining"} }, want: "fault node: not ready: draining"},
		{name: "node with a link down", config: func(c *Config) { c.Running = &Running{Ready: 200, Said: "ready, but 1 of 1 links are down"} }, want: "warning node: links are down"},
		{name: "no node", config: func(c *Config) { c.Running = &Running{Err: syscall.ECONNREFUSED} }},
		{name: "node with another certificate", machine: listen(syscall.EADDRINUSE), config: func(c *Config) {
			c.Running = &Running{Err: fmt.Errorf("tls: %w", &tls.CertificateVerificationError{Err: errors.New("not for 127.0.0.1")})}
		}},
		{name: "node that hangs", config: func(c *Config) { c.Running = &Running{Err: context.DeadlineExceeded} }, want: "warning node: does not respond as a node does"},
		{name: "no node at the named address", config: func(c *Config) { c.Running = &Running{Named: true, Err: errors.New("refused")} }, want: "fault node: no node responds"},
		{name: "clock of the node", config: func(c *Config) { c.Running = &Running{Ready: 200, Said: "ready", Clock: today.Add(-time.Minute)} }, want: "warning node: differ by 1m0s"},
		{name: "descriptors of the node", config: func(c *Config) {
			c.Running = &Running{Ready: 200, Said: "ready", Metrics: "process_open_fds 9000\nprocess_max_fds 10000\n"}
		}, want: "warning node: 9000 of 10000 descriptors"},
		{name: "refused reload", config: func(c *Config) {
			c.Running = &Running{Ready: 200, Said: "ready", Metrics: "ferry_config_last_reload_successful 0\n"}
		}, want: "fault node: has refused the configuration"},
		{name: "another version", config: func(c *Config) {
			c.Running = &Running{Ready: 200, Said: "ready", Version: "v2", Metrics: "ferry_build_info{version=\"v1\"} 1\n"}
		}, want: "warning node: runs version v1, and this ferry is v2"},
		{name: "broken certificate file", config: func(c *Config) {
			c.Running = &Running{Ready: 200, Said: "ready", Metrics: "ferry_certificate_reloads_total{file=\"a.pem\",kind=\"certificate\",result=\"error\"} 2\n"}
		}, want: "warning node: a.pem"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			if row.machine != nil {
				row.machine(t, m)
			}
			found := bad(examine(t, m, row.text, row.config))
			if row.want == "" {
				if len(found) > 0 {
					t.Fatalf("found %+v, want nothing", found)
				}
				return
			}
			head, part, _ := strings.Cut(row.want, ": ")
			if len(found) != 1 {
				t.Fatalf("found %+v, want one: %s", found, row.want)
			}
			f := found[0]
			if string(f.Severity)+" "+f.Check != head || !strings.Contains(f.What, part) {
				t.Errorf("found %s %s: %s, want %s", f.Severity, f.Check, f.What, row.want)
			}
			if f.Where == "" && f.Check != "clock" && f.Check != "node" || f.Why == "" || f.Mend == "" {
				t.Errorf("%+v does not say where, why and what mends it", f)
			}
		})
	}
}

// TestAdvice checks that advice can be followed as it stands.
func TestAdvice(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.Descriptors = func() (uint64, error) { return 1024, nil }
	for _, f := range bad(examine(t, m, "", nil)) {
		if strings.Contains(f.Mend, "ulimit -n") {
			t.Errorf("%s: %s: the limit of a process of Go is the hard limit of its shell, which ulimit -n cannot raise", f.What, f.Mend)
		}
	}
}

// secretIn makes the data directory with a token.
func secretIn(t *testing.T, c *Config, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(c.Node.DataDir, 0o700); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(c.Node.DataDir, "token")
	if err := os.WriteFile(name, []byte("0123456789abcdef0123\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	chmod(t, name, mode)
}

// chmod sets a mode whatever the umask is.
func chmod(t *testing.T, name string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(name, mode); err != nil {
		t.Fatal(err)
	}
}

// TestNotChecked checks that what cannot be checked is said, and is no fault.
func TestNotChecked(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.OS, m.User = "plan9", -1
	m.Descriptors = func() (uint64, error) { return 0, errors.ErrUnsupported }
	found := examine(t, m, "", nil)
	if wrong := bad(found); len(wrong) > 0 {
		t.Errorf("found %+v, want nothing", wrong)
	}
	for _, each := range checks {
		i := slices.IndexFunc(found, func(f Finding) bool { return f.Check == each.name })
		switch {
		case i < 0:
			t.Errorf("nothing is said about %s", each.name)
		case each.linux && found[i].What != "not checked on plan9":
			t.Errorf("%s: %+v, want that it is not checked", each.name, found[i])
		}
	}
}

// TestThisMachine makes all checks on the machine of the test.
func TestThisMachine(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	cfg.DataDir = filepath.Join(t.TempDir(), "data")
	if err := cfg.Check(config.Program{Functions: []string{"averages", "alerts"}}); err != nil {
		t.Fatal(err)
	}
	found := Examine(t.Context(), Config{Node: cfg})
	for _, each := range checks {
		if !slices.ContainsFunc(found, func(f Finding) bool { return f.Check == each.name && f.What != "" }) {
			t.Errorf("nothing is said about %s: %+v", each.name, found)
		}
	}
	order := func(f Finding) int { return slices.Index(severities, f.Severity) }
	if !slices.IsSortedFunc(found, func(a, b Finding) int { return order(a) - order(b) }) {
		t.Errorf("%+v, want the worst first", found)
	}
	if _, err := os.Stat(cfg.DataDir); err == nil {
		t.Error("the data directory was made")
	}
}
