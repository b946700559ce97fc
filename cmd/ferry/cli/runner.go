package cli

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"example.com/ferry/cpu"
	"example.com/ferry/internal/handover"
	"example.com/ferry/node"
	"example.com/ferry/node/config"
)

// runner is a process of ferry run. It runs one node, and another one in its place if an upgrade failed after the node had released its
// streams.
type runner struct {
	*env
	cmd     *runCmd
	sockets *handover.Set
	before  *handover.Predecessor // nil if this process replaces none
	served  bool                  // a node has served
	program string                // the file of the program
	ending  context.Context       // ends when a signal ends the process, or its last node has ended

	endWatchdog context.CancelFunc // nil without a watchdog

	upgrading sync.Mutex                         // held during an upgrade
	next      atomic.Pointer[handover.Successor] // that an upgrade in progress has started
	mu        sync.Mutex                         // guards the fields below
	node      *node.Node                         // that serves; nil before and afterwards
	since     time.Time                          // of the end of the last node, while node is nil
	stop      func()                             // ends the node
	again     bool                               // the node has ended to be run again
	last      *config.Config                     // that the node ran; set with again
	replaced  bool                               // another process has taken over
	left      <-chan struct{}                    // closed when the clients of the last node that was left have been disconnected
}

// run runs nodes until a signal comes, or another process has taken over.
func (p *runner) run() error {
	cfg, source, err := p.cmd.load(p.env)
	if err != nil {
		return configError(p.env, err)
	}
	if cfg.Heavy() {
		tuned := cpu.TuneProcess(cpu.Tuning{Tokens: cfg.CPU.Tokens, KeepKernelSlices: !cfg.CPU.KernelSlices})
		if tuned.Err != nil {
			p.note("heavy functions run without short time slices: %v", tuned.Err)
		}
	}
	if p.before != nil && (!cfg.Heavy() || !cfg.CPU.KernelSlices) {
		_ = cpu.ResetKernelSlices() // the process that is replaced may have passed on short ones. Where it fails, there are none
	}
	if p.program, err = programPath(); err != nil {
		return err
	}
	ctx, drain := context.WithCancel(context.Background())
	p.ending = ctx
	defer p.endUpgrade(drain)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	defer signal.Stop(signals)
	go func() {
		<-signals
		p.note("draining; Ctrl-C again ends at once")
		drain()
		<-signals
		if next := p.next.Load(); next != nil {
			next.Kill() // it would go on alone
		}
		os.Exit(statusKilled)
	}()
	defer p.upgradeOnSignal(ctx)()
	hangups := make(chan os.Signal, 1)
	if source != nil {
		signal.Notify(hangups, syscall.SIGHUP) // also between two nodes: otherwise the signal would end the process
		defer signal.Stop(hangups)
	}
	defer p.stopWatchdog()
	for {
		again, err := p.runNode(ctx, cfg, source, hangups)
		if !again || ctx.Err() != nil {
			p.awaitClients()
			return err
		}
		if err != nil {
			p.note("the node has not ended cleanly: %v", err)
		}
		cfg = p.last // the file may have what the new process failed at. Watch reloads what has changed
	}
}

// awaitClients returns when the clients of the streams that were passed on have been disconnected, which takes up to 10 s if there are many. The
// end of the process would disconnect all of them in one moment.
func (p *runner) awaitClients() {
	p.mu.Lock()
	left := p.left
	p.mu.Unlock()
	if left != nil {
		<-left
	}
}

// endUpgrade ends an upgrade that is in progress, and the new process with it. Files of Unix domain sockets that nothing uses then are
// removed.
func (p *runner) endUpgrade(drain func()) {
	drain()
	p.upgrading.Lock() // no other one begins
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.served && !p.replaced {
		p.sockets.Drop()
	}
}

// runNode runs a node. It reports whether another one is to be run.
func (p *runner) runNode(ctx context.Context, cfg *config.Config, source *config.Source, hangups <-chan os.Signal) (again bool, err error) {
	command, err := ownCommand("worker")
	if err != nil {
		return false, err
	}
	extensions := p.extensions
	extensions.Worker, extensions.Sockets, extensions.Upgrade = command, p.sockets, p.upgrade
	extensions.Phases, extensions.Version = p.systemdPhases(), buildInfo().Version
	if p.before != nil && !p.served {
		extensions.Exclusive = p.want
	}
	n, err := node.Build(cfg, extensions)
	if err != nil {
		return false, err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if source != nil {
		go n.Watch(ctx, source, hangups)
	}
	ran := make(chan error, 1)
	go func() { ran <- n.Run(ctx) }()
	select {
	case err := <-ran:
		return false, err
	case <-n.Ready():
	}
	if err := p.serves(cfg, n, stop); err != nil {
		stop()
		return false, errors.Join(err, <-ran)
	}
	err = <-ran
	p.mu.Lock()
	defer p.mu.Unlock()
	p.node, p.since = nil, time.Now()
	again, p.again = p.again, false
	return again, err
}

// want asks the process that this one replaces for the streams. If that process has ended, they are free.
func (p *runner) want() error {
	err := p.before.Want()
	if errors.Is(err, handover.ErrGone) {
		p.note("upgrade: this process goes on: %v", err)
		return nil
	}
	return err
}

// serves notes that a node serves. It reports this to the process that this one replaces, or else prints the welcome text.
func (p *runner) serves(cfg *config.Config, n *node.Node, stop func()) error {
	first := !p.served
	p.served = true
	if first && p.before != nil { // until then the other process may go on, with all its sockets
		if err := p.before.Ready(); err != nil {
			p.note("upgrade: this process goes on: %v", err)
		}
		p.systemdMain()
	}
	closes, stay := p.sockets.Unused()
	for _, address := range closes {
		p.note("%s was passed to this process, and the configuration has no listener there: it is closed", address)
	}
	for _, address := range stay {
		p.note("%s is a socket of systemd, and the configuration has no listener there: clients that connect wait until a reload adds one", address)
	}
	p.sockets.Drop()
	p.mu.Lock()
	p.node, p.stop = n, stop
	p.mu.Unlock()
	if first {
		p.startWatchdog()
		go debug.FreeOSMemory() // most of the heap is garbage of the start
	}
	if first && p.before == nil {
		if err := welcome(p.env, cfg, n); err != nil && !errors.As(err, new(quietError)) {
			return err
		}
	}
	return nil
}

// programPath returns the path that this program was started by. A link stays one: it may lead to another version later.
func programPath() (string, error) {
	path, err := exec.LookPath(os.Args[0])
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return os.Executable()
	}
	return path, nil
}
