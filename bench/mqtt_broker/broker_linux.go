package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	mochi "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/hooks/auth"
	"github.com/mochi-mqtt/server/v2/listeners"
	natsserver "github.com/nats-io/nats-server/v2/server"

	"example.com/ferry/bench/internal/ferrynode"
	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/natsnode"
	"example.com/ferry/bench/internal/pinned"
)

const (
	ferryRow     = "ferry"
	mosquittoRow = "mosquitto"
)

// A process of this program that finds this variable in its environment is a broker. The value is its kind; the arguments are its address and
// its directory.
const brokerVariable = "FERRY_BENCH_MQTT_BROKER"

// The kinds of brokers that are processes of this program.
const (
	natsKind   = "nats"
	alwaysKind = "nats, sync always"
	mochiKind  = "mochi"
)

// broker is a row.
type broker struct {
	row     string
	kind    harness.Kind
	version string
	stored  bool // only QoS 1 is measured, with messages that are stored
	launch  func(s *server) (*pinned.Process, error)
}

func brokers(e *experiment) []broker {
	stored := func(sync string) string {
		return "engine: {address: embedded, sync: " + sync + "}\nstreams: [{name: bench, tags: 'bench/#', delivery: at-least-once, retention: {size: 1GiB}}]\n"
	}
	all := []broker{
		{ferryRow, harness.Ferry, "this commit", false, e.ferry("")},
		{"ferry, stored", harness.Ferry, "this commit", true, e.ferry(stored("interval, interval: 1s"))},
		{"ferry, stored, sync always", harness.Ferry, "this commit", true, e.ferry(stored("always"))},
		{"NATS, QoS 1 stored", harness.Peer, natsnode.Version, false, e.self(natsKind)},
		{"NATS, QoS 1 stored, sync always", harness.Peer, natsnode.Version, true, e.self(alwaysKind)},
		{"mochi", harness.Peer, harness.Version("github.com/mochi-mqtt/server/v2"), false, e.self(mochiKind)},
	}
	if version := mosquittoVersion(); version != "" {
		all = append(all,
			broker{mosquittoRow, harness.Peer, version, false, e.mosquitto("set_tcp_nodelay true\n")},
			broker{"mosquitto, as shipped", harness.Peer, version, false, e.mosquitto("")})
	}
	return all
}

// server is a running broker, on core 0.
type server struct {
	*pinned.Process
	addr string
	dir  string
}

func (e *experiment) start(b broker) (*server, error) {
	addr, err := ferrynode.FreeAddr()
	if err != nil {
		return nil, err
	}
	s := &server{addr: addr}
	if s.dir, err = os.MkdirTemp(e.dir, "broker"); err != nil {
		return nil, err
	}
	if s.Process, err = b.launch(s); err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.dir))
	}
	if err := s.WaitListening(addr, patience); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

// Stop ends the broker, and removes what it has stored.
func (s *server) Stop() {
	s.Process.Stop()
	_ = os.RemoveAll(s.dir)
}

// run starts a program with as many descriptors as it may have.
func run(dir string, argv ...string) (*pinned.Process, error) {
	return pinned.Start([]int{0}, dir, append([]string{"sh", "-c", `ulimit -n "$(ulimit -Hn)" && exec "$@"`, "sh"}, argv...)...)
}

func (s *server) write(name, text string) (string, error) {
	file := filepath.Join(s.dir, name)
	return file, os.WriteFile(file, []byte(text), 0o600)
}

func (e *experiment) ferry(streams string) func(*server) (*pinned.Process, error) {
	return func(s *server) (*pinned.Process, error) {
		admin, err := ferrynode.FreeAddr()
		if err != nil {
			return nil, err
		}
		file, err := s.write("node.yaml", fmt.Sprintf("listeners: [{address: 'mqtt://%s', anonymous: guest}]\n"+
			"identities: [{name: guest, publish: ['#'], subscribe: ['#']}]\nadmin: {address: %s}\ndata_dir: %s\n"+
			"limits: {max_connections: %[4]d}\nmqtt: {sessions: %[4]d}\n%[5]s",
			s.addr, admin, filepath.Join(s.dir, "data"), idle+many, streams))
		if err != nil {
			return nil, err
		}
		p, err := run(s.dir, filepath.Join(e.dir, ferrynode.Binary), "run", "-c", file)
		if err != nil {
			return nil, err
		}
		if err := ferrynode.WaitReady(admin); err != nil {
			p.Stop()
			return nil, fmt.Errorf("%w: %s", err, p.Output())
		}
		return p, nil
	}
}

// mosquittoVersion returns the version of mosquitto, or "" if it is not installed.
func mosquittoVersion() string {
	text, _ := exec.Command("mosquitto", "-h").Output() // exits with 1
	if m := regexp.MustCompile(`mosquitto version (\S+)`).FindSubmatch(text); m != nil {
		return string(m[1])
	}
	return ""
}

// mosquitto has no limit of the messages for a client.
func (e *experiment) mosquitto(options string) func(*server) (*pinned.Process, error) {
	return func(s *server) (*pinned.Process, error) {
		host, port, err := net.SplitHostPort(s.addr)
		if err != nil {
			return nil, err
		}
		file, err := s.write("mosquitto.conf", fmt.Sprintf("listener %s %s\nallow_anonymous true\nmax_queued_messages 0\nmax_inflight_messages 0\nlog_type error\n%s",
			port, host, options))
		if err != nil {
			return nil, err
		}
		return run(s.dir, "mosquitto", "-c", file)
	}
}

// self starts this program as a broker.
func (e *experiment) self(kind string) func(*server) (*pinned.Process, error) {
	return func(s *server) (*pinned.Process, error) {
		program, err := os.Executable()
		if err != nil {
			return nil, err
		}
		return run(s.dir, "env", brokerVariable+"="+kind, program, s.addr, s.dir)
	}
}

// brokerMain runs a broker if this process was started as one, and does not return then.
func brokerMain() {
	kind, ok := os.LookupEnv(brokerVariable)
	if !ok {
		return
	}
	serve := serveNATS
	if kind == mochiKind {
		serve = serveMochi
	}
	if err := serve(kind, os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	select {}
}

func serveNATS(kind, addr, dir string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return err
	}
	o := &natsserver.Options{
		ServerName: "bench", Host: host, Port: natsserver.RANDOM_PORT, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: dir, SyncInterval: time.Second, SyncAlways: kind == alwaysKind,
	}
	o.MQTT.Host = host
	if o.MQTT.Port, err = strconv.Atoi(port); err != nil {
		return err
	}
	s, err := natsserver.NewServer(o)
	if err != nil {
		return err
	}
	s.Start()
	if !s.ReadyForConnections(patience) {
		return errors.New("mqtt_broker: NATS has not started within " + patience.String())
	}
	return nil
}

func serveMochi(_, addr, _ string) error {
	s := mochi.New(&mochi.Options{Logger: slog.New(slog.DiscardHandler)})
	return errors.Join(
		s.AddHook(new(auth.AllowHook), nil),
		s.AddListener(listeners.NewTCP(listeners.Config{ID: "bench", Address: addr})),
		s.Serve(),
	)
}
