package node

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"example.com/ferry"
	"example.com/ferry/cpu/worker"
	"example.com/ferry/node/admin"
	"example.com/ferry/node/config"
	"example.com/ferry/stream"
	"example.com/ferry/stream/pipeline"
)

// startTimeout bounds how long a function may take to connect and be accepted.
const startTimeout = 10 * time.Second

// functions are the functions that the node runs. They implement admin.Functions. A nil *functions has none.
type functions struct {
	mu   sync.Mutex
	list []*function // in the order of the configuration, behind those of live.functions
}

var _ admin.Functions = (*functions)(nil)

// function is one function. While it runs it is a client of its own.
type function struct {
	config.Function
	node *Node

	version int // of a deployed function; 0 for one of the configuration

	change   sync.Mutex // held while it is started or stopped, which may take startTimeout
	client   *stream.Client
	pipeline *pipeline.Pipeline
	backend  backend // of a worker: its processes; of a wasm function: the instances of its guest
	retired  bool    // a reload has removed it: it does not start again
	prepared backend // what a reload has started for the next start

	draining sync.WaitGroup // instances of guests that another one has replaced
	calls    functionCalls

	mu       sync.Mutex // held for a moment
	guest    *guest     // of a wasm function
	running  *running
	restarts uint64             // of it, its processes and its instances, without those of running
	err      error              // why it did not start or has ended, unless it was stopped
	unkeep   context.CancelFunc // ends keep; nil while the function is stopped
}

// backend handles the messages of a function whose code is not part of this program.
type backend interface {
	ferry.Handler
	io.Closer
}

// running is a running function and its statistics.
type running struct {
	*stream.Running
	client   func() stream.Stats
	backend  backend               // nil if its code is part of this program
	pipeline func() pipeline.Stats // nil unless it has a pipeline
}

// wantedFunctions returns the functions that a node with this configuration runs.
func wantedFunctions(cfg *config.Config) []config.Function {
	var all []config.Function
	if cfg.Live.Functions {
		all = liveFunctions()
	}
	return append(all, cfg.Functions...)
}

// newFunction returns a function that is not started.
func (n *Node) newFunction(c config.Function) (*function, error) {
	if c.Run != "" && !slices.Contains(names(n.extensions.Functions), c.Run) {
		return nil, fmt.Errorf("node: function %s: this program brings no function %s", c.Name, c.Run)
	}
	if c.Run != "" && c.CPU == config.Worker && n.extensions.Worker == nil {
		return nil, fmt.Errorf("node: function %s: this program does not run its functions in processes of their own: want cpu: light or heavy", c.Name)
	}
	f := &function{Function: c, node: n}
	if c.Wasm != "" {
		var err error
		if f.guest, err = readGuest(c.Wasm); err != nil {
			return nil, fmt.Errorf("node: function %s: %w", c.Name, err)
		}
	}
	return f, nil
}

func names(list []Function) []string {
	all := make([]string, len(list))
	for i, f := range list {
		all[i] = f.Name
	}
	return all
}

// all returns the functions of the moment.
func (fs *functions) all() []*function {
	if fs == nil {
		return nil
	}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return fs.list
}

// replace makes list the functions.
func (fs *functions) replace(list []*function) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.list = list
}

// List returns the state of all functions.
func (fs *functions) List() []admin.Function {
	all := fs.all()
	if len(all) == 0 {
		return nil
	}
	queued := map[string]int{} // by function
	for _, s := range all[0].node.broker.Snapshot().Subscriptions {
		if s.Identity == localIdentity || s.Identity == deployedIdentity {
			queued[s.Client] += s.QueuedMessages
		}
	}
	list := make([]admin.Function, len(all))
	for i, f := range all {
		list[i] = f.state()
		list[i].Queued = queued[f.Name]
	}
	return list
}

// Start starts the named function.
func (fs *functions) Start(name string) error {
	return fs.with(name, func(f *function) error { return f.start(f.node.untilDrain()) })
}

// Stop stops the named function.
func (fs *functions) Stop(name string) error {
	return fs.with(name, func(f *function) error { f.stop(); return nil })
}

// RestartFunction stops and starts the named function, so that a worker runs its program as it is now.
func (n *Node) RestartFunction(name string) error {
	if err := n.functions.Stop(name); err != nil {
		return err
	}
	return n.functions.Start(name)
}

func (fs *functions) with(name string, do func(*function) error) error {
	for _, f := range fs.all() {
		if f.Name == name {
			return do(f)
		}
	}
	return fmt.Errorf("%w: %s", admin.ErrNoFunction, name)
}

// startAll starts the functions at the same time. One that does not start is logged, and keep starts it again: the other parts of the node do
// not depend on it.
func (fs *functions) startAll(ctx context.Context) {
	each(fs.all(), func(f *function) {
		if err := f.start(ctx); err != nil && ctx.Err() == nil {
			f.node.log.Error("a function does not run: it is started again", "function", f.Name, "err", err)
		}
	})
}

func (fs *functions) stopAll() {
	for _, f := range fs.all() {
		f.stop()
	}
}

// start starts the function. Until it is stopped, keep starts it again after each end, also if this start fails.
func (f *function) start(ctx context.Context) error {
	f.change.Lock()
	defer f.change.Unlock()
	if f.retired {
		return fmt.Errorf("%w: %s, which a reload has removed or replaced", admin.ErrNoFunction, f.Name)
	}
	if f.state().Running {
		return nil
	}
	err := f.restart(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.unkeep == nil && ctx.Err() == nil {
		var kept context.Context
		kept, f.unkeep = context.WithCancel(context.WithoutCancel(ctx))
		go f.keep(kept)
	}
	return err
}

// restart opens the function. After an error nothing of it is open. change is held.
func (f *function) restart(ctx context.Context) error {
	f.release()
	r, err := f.open(ctx)
	if err != nil {
		f.release()
		return f.set(nil, err)
	}
	return f.set(r, nil)
}

// open starts the function's backend, connects it and subscribes. After an error, release closes what was opened. change is held.
func (f *function) open(ctx context.Context) (*running, error) {
	if err := f.startBackend(ctx); err != nil { // a guest may wait until others are compiled
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	var err error
	if f.client, err = f.dial(ctx); err != nil {
		return nil, err
	}
	if err := f.openPipeline(ctx); err != nil {
		return nil, err
	}
	policy, err := stream.ParsePolicy(string(f.Policy))
	if err != nil {
		return nil, err
	}
	from := stream.From{}
	if f.From != "" {
		if from, err = stream.ParseFrom(f.From); err != nil {
			return nil, err
		}
	}
	r := &running{client: f.client.Stats, backend: f.backend}
	concurrency := f.Concurrency
	if f.CPU == config.Worker {
		concurrency = f.Processes
	}
	if f.pipeline != nil {
		r.pipeline = f.pipeline.Stats
	}
	r.Running, err = f.client.Start(ctx, stream.Function{
		Observe: f.Observe, Where: f.Where, Group: f.Group, Policy: policy, Concurrency: concurrency, Handler: f.calls.meter(f.handler()),
		Durable: f.Durable, From: from,
	})
	return r, err
}

// dial connects the function. A deployed one has the grants of the identity deployed.
func (f *function) dial(ctx context.Context) (*stream.Client, error) {
	if f.version > 0 {
		return f.node.dialAs(ctx, f.Name, f.node.deployed.token)
	}
	return f.node.dial(ctx, f.Name)
}

func (f *function) stop() {
	f.forget()
	f.change.Lock()
	defer f.change.Unlock()
	f.forget() // a start may have waited for change
	f.end()
}

// retire stops a function that a reload removes. The admin server may still hold it, and cannot start it again.
func (f *function) retire() {
	f.forget()
	f.change.Lock()
	defer f.change.Unlock()
	f.forget()
	f.retired = true
	f.end()
}

// end closes what is open and forgets why the function did not run; change is held.
func (f *function) end() {
	f.release()
	_ = f.set(nil, nil)
}

// release closes connection and backend; change is held.
func (f *function) release() {
	f.mu.Lock()
	f.leave()
	f.mu.Unlock()
	if f.pipeline != nil {
		closeQuietly(f.pipeline)
		f.pipeline = nil
	}
	if f.client != nil {
		closeQuietly(f.client)
		f.client = nil
	}
	if f.backend != nil {
		closeQuietly(f.backend)
		f.backend = nil
	}
	f.draining.Wait()
}

// leave notes that the function does not run. mu is held.
func (f *function) leave() {
	if f.running != nil {
		f.restarts += restartsOf(f.running.backend)
		f.running = nil
	}
}

// restartsOf returns how many processes of a worker, or instances of a guest, had to be replaced.
func restartsOf(b backend) uint64 {
	switch b := b.(type) {
	case *worker.Pool:
		p := b.Stats()
		return p.Started - min(p.Started, uint64(p.Workers))
	case *guestBackend:
		return b.Load().Stats().Crashed
	}
	return 0
}

func (f *function) set(r *running, err error) error {
	if err != nil {
		err = fmt.Errorf("node: function %s: %w", f.Name, err)
		f.calls.failed(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running, f.err = r, err
	return err
}

// state returns the state of the function for the admin server. If it has ended by itself, state records why.
func (f *function) state() admin.Function {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := admin.Function{Name: f.Name, Kind: f.kind(), Observe: f.Observe, Where: f.Where, CPU: string(f.CPU)}
	if f.guest != nil {
		s.Guest = &admin.Guest{Number: f.version, Version: f.guest.version()}
	}
	if f.CPU == config.Worker {
		s.Processes = &admin.Processes{Wanted: f.Processes}
	}
	if f.running != nil {
		select {
		case <-f.running.Done():
			if f.err = f.running.Err(); f.err != nil {
				f.calls.failed(f.err)
			}
			f.leave()
		default:
			f.running.fill(&s)
			s.Restarts = restartsOf(f.running.backend)
		}
	}
	if f.err != nil {
		s.Error = f.err.Error()
	}
	s.Restarts += f.restarts
	f.calls.fill(&s)
	return s
}

// fill writes the statistics of a running function into s.
func (r *running) fill(s *admin.Function) {
	s.Running = true
	c := r.client()
	s.Handled, s.Failed = c.Handled, c.Failed
	if r.pipeline != nil {
		s.Pipeline = pipelineState(r.pipeline())
	}
	switch b := r.backend.(type) {
	case *worker.Pool:
		p := b.Stats()
		s.Processes.Ready, s.Processes.Died = p.Ready, p.Died
		if p.Ready == 0 {
			s.Error = "no process runs: the next one is being started"
		}
	case *guestBackend:
		g := b.Load().Stats()
		s.Guest.Instances, s.Guest.Memory, s.Guest.Crashed = g.Instances, g.Memory, g.Crashed
	}
}

// kind returns what the function is made of, as the configuration names it.
func (f *function) kind() string {
	switch {
	case f.Wasm != "":
		return "wasm"
	case len(f.Command) > 0:
		return "command"
	case len(f.Pipeline) > 0:
		return "pipeline"
	}
	return "run"
}
