package main

import (
	"fmt"
	"path/filepath"

	"example.com/ferry/bench/internal/durable"
	"example.com/ferry/bench/internal/ferrynode"
	"example.com/ferry/bench/internal/harness"
)

// row is what is compared.
type row struct {
	name    string
	kind    harness.Kind
	version string
	system  durable.System
}

var natsVersion = "nats-server " + harness.Version("github.com/nats-io/nats-server/v2") + ", nats.go " + harness.Version("github.com/nats-io/nats.go")

const thisCommit = "this commit"

var rows = []row{
	{string(durable.Ferry), harness.Ferry, thisCommit, durable.Ferry},
	{string(durable.FerryExternal), harness.Ferry, thisCommit, durable.FerryExternal},
	{string(durable.NATS), harness.Limit, natsVersion, durable.NATS},
}

// keep is how many bytes a stream keeps.
const keep = 256 << 20

// experiment is the state that all measurements of a run share.
type experiment struct {
	cases   []variant
	dir     string
	servers map[string]*durable.Servers // that run, by case: all rows of a case use the same ones
	users   map[string]int
	started int // streams and servers so far: each has a directory of its own
}

func (e *experiment) prepare(dir string) error {
	e.dir = dir
	return ferrynode.Build(dir)
}

// check sends a few messages through each row in each case.
func (e *experiment) check() error {
	for _, v := range e.cases {
		if err := e.checkCase(v); err != nil {
			return fmt.Errorf("%s: %w", v.name, err)
		}
	}
	return nil
}

func (e *experiment) checkCase(v variant) error {
	if _, err := e.use(v); err != nil { // so that the servers run for all rows
		return err
	}
	defer e.release(v)
	for _, r := range rows {
		s, err := e.open(r, v)
		if err != nil {
			return err
		}
		if s == nil {
			continue
		}
		err = s.Check(50)
		s.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

func (e *experiment) contender(r row) harness.Contender {
	return harness.Contender{Name: r.name, Kind: r.kind, Version: r.version, Open: func(name string) (harness.Session, error) {
		for _, v := range e.cases {
			if v.name != name {
				continue
			}
			s, err := e.open(r, v)
			if s == nil || err != nil {
				return nil, err
			}
			return s, nil
		}
		return nil, fmt.Errorf("stream_durable: no case %q", name)
	}}
}

// session is a Session that uses the servers of its case.
type session struct {
	*durable.Session
	release func()
}

func (s *session) Close() {
	s.Session.Close()
	s.release()
}

// open starts a row. It returns nil if the row does not take part in the case.
func (e *experiment) open(r row, v variant) (*session, error) {
	if r.system == durable.Ferry && v.replicas > 1 {
		return nil, nil // one process has one copy
	}
	servers, err := e.use(v)
	if err != nil {
		return nil, err
	}
	e.started++
	s, err := durable.Open(durable.Setup{
		System: r.system, Servers: servers, Dir: e.dir, Name: fmt.Sprint("stream", e.started), Replicas: v.replicas, Always: v.always, Size: v.size, Keep: keep,
	})
	if err != nil {
		e.release(v)
		return nil, err
	}
	return &session{s, func() { e.release(v) }}, nil
}

// use returns the servers of a case, and starts them if no row uses them.
func (e *experiment) use(v variant) (_ *durable.Servers, err error) {
	if e.users[v.name] == 0 {
		e.started++
		if e.servers[v.name], err = durable.StartServers(filepath.Join(e.dir, fmt.Sprint("servers", e.started)), v.replicas, v.always); err != nil {
			return nil, err
		}
	}
	e.users[v.name]++
	return e.servers[v.name], nil
}

// release ends the servers of a case with their last user.
func (e *experiment) release(v variant) {
	if e.users[v.name]--; e.users[v.name] == 0 {
		e.servers[v.name].Close()
	}
}
