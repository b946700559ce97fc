package durable

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"

	"example.com/ferry/bench/internal/child"
	"example.com/ferry/bench/internal/ferrynode"
	"example.com/ferry/bench/internal/kafka"
)

// interval is how often servers sync what is stored, unless they sync before each acknowledgement.
const interval = time.Second

// patience is the timeout for the start of a process, and for an order besides its own time.
const patience = 60 * time.Second

// server is one nats-server.
type server struct {
	Number int
	Addr   string
	Routes []string // addresses of all servers for each other; nil if there is one
	Always bool     // sync before each acknowledgement
}

// Servers are processes with one nats-server each, which form a cluster if there are several, or one with Kafka.
type Servers struct {
	addrs []string
	all   []interface{ End() string }
}

// StartKafka starts a Kafka that stores its data below dir.
func StartKafka(dir string) (*Servers, error) {
	b, err := kafka.Start(dir)
	if err != nil {
		return nil, err
	}
	return &Servers{addrs: []string{b.Addr}, all: []interface{ End() string }{b}}, nil
}

// StartServers starts n servers that store their data below dir.
func StartServers(dir string, n int, always bool) (_ *Servers, err error) {
	s := new(Servers)
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	var routes []string
	for range n {
		addr, err := ferrynode.FreeAddr()
		if err != nil {
			return nil, err
		}
		s.addrs = append(s.addrs, addr)
		if n == 1 {
			break
		}
		if addr, err = ferrynode.FreeAddr(); err != nil {
			return nil, err
		}
		routes = append(routes, addr)
	}
	for i, addr := range s.addrs {
		one := spec{Role: serverRole, Dir: filepath.Join(dir, fmt.Sprint("nats", i)), Server: server{Number: i, Addr: addr, Routes: routes, Always: always}}
		p, err := child.Role(one.name(), variable, one, new(report), patience)
		s.all = append(s.all, p)
		if err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Close ends the servers.
func (s *Servers) Close() {
	for _, p := range s.all {
		p.End()
	}
}

// runServer starts a nats-server in this process.
func runServer(s spec) error {
	host, port, err := net.SplitHostPort(s.Server.Addr)
	if err != nil {
		return err
	}
	o := &natsserver.Options{
		ServerName: fmt.Sprint("n", s.Server.Number), Host: host, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: s.Dir, SyncInterval: interval, SyncAlways: s.Server.Always,
		JetStreamMaxStore: 64 << 30, JetStreamMaxMemory: 1 << 30,
	}
	if o.Port, err = strconv.Atoi(port); err != nil {
		return err
	}
	for i, route := range s.Server.Routes {
		if i != s.Server.Number {
			o.Routes = append(o.Routes, &url.URL{Scheme: "nats", Host: route})
			continue
		}
		o.Cluster.Name = "bench"
		if o.Cluster.Host, port, err = net.SplitHostPort(route); err != nil {
			return err
		}
		if o.Cluster.Port, err = strconv.Atoi(port); err != nil {
			return err
		}
	}
	one, err := natsserver.NewServer(o)
	if err != nil {
		return err
	}
	one.Start()
	if !one.ReadyForConnections(patience / 2) {
		return errors.New("it did not start")
	}
	return nil
}
