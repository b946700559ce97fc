package wasm

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"example.com/ferry"
	"example.com/ferry/stream/wasm/internal/meter"
)

// What a guest exports. docs/wasm.md.
const (
	exportMemory     = "memory"
	exportHandle     = "ferry_handle" // (size i32, type i32) -> i32: 0, or another number if the message failed
	exportInitialize = "_initialize"  // () -> (): runs once, before any message
	exportCommand    = "_start"       // of a program, not of a library
)

// startLimit is the least time that initialization may take: a runtime such as Go's starts in it.
const startLimit = 10 * time.Second

// instance is one instance of the guest. One call at a time runs in it. It is the context of that call within the runtime, so that
// the host's functions find it without an allocation.
type instance struct {
	pool       *Pool
	module     api.Module
	memory     api.Memory
	function   api.Function
	stopGlobal api.MutableGlobal
	stopped    chan struct{} // closed when the call is to end
	outside    atomic.Bool   // the call waits in a Sender
	stack      [2]uint64     // parameters and result of ferry_handle

	// What the guest has said so far.
	paths       []path
	buffer      uint32 // where payloads of up to bufferSize bytes are copied to
	bufferSize  uint32
	failure     []byte // of this call
	sendFailure error  // of this call
	sent        int    // messages of this call
	lines       int    // logged in this call
	open        int    // files that the guest has open
	crashed     bool

	// p.mu is held where these are used, but for the call's own use of ctx, in and out.
	ctx   context.Context
	in    *ferry.Message
	out   ferry.Sender
	busy  bool
	ended ended
	calls uint64        // calls that began
	seen  uint64        // calls when the watchdog last looked
	fresh uint64        // calls when function was made
	spent time.Duration // of this call, as far as the watchdog has seen
	limit time.Duration // of this call
}

var _ context.Context = (*instance)(nil)

// Deadline returns no deadline: the watchdog ends calls.
func (i *instance) Deadline() (time.Time, bool) { return time.Time{}, false }

// Done returns nil.
func (i *instance) Done() <-chan struct{} { return nil }

// Err returns nil.
func (i *instance) Err() error { return nil }

// Value returns nil: the options that the runtime looks up are not set.
func (i *instance) Value(any) any { return nil }

// checkModule reports what a module lacks to be a guest.
func checkModule(m wazero.CompiledModule) error {
	functions := m.ExportedFunctions()
	handle, ok := functions[exportHandle]
	i32 := api.ValueTypeI32
	_, command := functions[exportCommand]
	switch {
	case !ok && command:
		return fmt.Errorf("it is a program, with %s and without %s: build a library (in Go -buildmode=c-shared) that exports %s", exportCommand, exportHandle, exportHandle)
	case !ok:
		return fmt.Errorf("it does not export the function %s", exportHandle)
	case !slices.Equal(handle.ParamTypes(), []api.ValueType{i32, i32}) || !slices.Equal(handle.ResultTypes(), []api.ValueType{i32}):
		return fmt.Errorf("%s has another signature: want (i32, i32) -> i32", exportHandle)
	}
	if initialize, ok := functions[exportInitialize]; ok && len(initialize.ParamTypes())+len(initialize.ResultTypes()) > 0 {
		return fmt.Errorf("%s has parameters or results: want none", exportInitialize)
	}
	if _, ok := m.ExportedMemories()[exportMemory]; !ok {
		return errors.New("it does not export its memory as memory")
	}
	return nil
}

// instantiate makes an instance and runs its initialization.
func (p *Pool) instantiate(ctx context.Context) (*instance, error) {
	i := &instance{pool: p, stopped: make(chan struct{}), limit: max(startLimit, p.cfg.Timeout)}
	printed := &lineWriter{instance: i}
	cfg := wazero.NewModuleConfig().WithName("").WithStartFunctions().WithStdout(printed).WithStderr(printed).
		WithSysWalltime().WithSysNanotime().WithNanosleep(i.sleep).WithRandSource(rand.Reader).WithArgs(p.cfg.Name)
	for name, value := range p.cfg.Env {
		cfg = cfg.WithEnv(name, value)
	}
	if len(p.cfg.Mounts) > 0 {
		cfg = cfg.WithFSConfig(mounts(p.cfg.Mounts, &i.open))
	}
	var err error
	if i.module, err = p.runtime.InstantiateModule(ctx, p.module, cfg); err != nil {
		return nil, fmt.Errorf("wasm: %s: %w", p.cfg.Name, err)
	}
	i.memory = i.module.Memory()
	i.renew()
	i.stopGlobal = i.module.ExportedGlobal(meter.Stop).(api.MutableGlobal)
	if err := i.initialize(ctx); err != nil {
		i.close()
		return nil, err
	}
	i.limit = p.cfg.Timeout
	return i, nil
}

// initialize runs the guest's initialization, under the watchdog.
func (i *instance) initialize(ctx context.Context) error {
	p := i.pool
	p.mu.Lock()
	p.begin(i, ctx, nil, nil)
	p.starting = append(p.starting, i)
	p.mu.Unlock()
	var err error
	for _, name := range []string{meter.Start, exportInitialize} {
		if f := i.module.ExportedFunction(name); f != nil && err == nil {
			err = f.CallWithStack(i, nil)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.starting = slices.DeleteFunc(p.starting, func(other *instance) bool { return other == i })
	if err != nil || i.ended != notEnded {
		err = fmt.Errorf("its initialization failed: %w", i.crash(err))
	}
	i.busy = false
	i.ctx = nil
	return err
}

// handle calls the guest with the message that begin has given.
func (i *instance) handle() error {
	i.failure, i.sendFailure, i.sent, i.lines = i.failure[:0], nil, 0, 0
	payload := i.in.Payload
	if n := uint32(len(payload)); n <= i.bufferSize && n > 0 {
		if to, ok := i.memory.Read(i.buffer, n); ok {
			copy(to, payload)
		}
	}
	i.stack = [2]uint64{uint64(len(payload)), uint64(i.in.Type)}
	if err := i.function.CallWithStack(i, i.stack[:]); err != nil {
		i.crashed = true
		i.pool.mu.Lock()
		defer i.pool.mu.Unlock()
		return i.crash(err)
	}
	if i.sendFailure != nil {
		return i.sendFailure
	}
	if status := int32(uint32(i.stack[0])); status != 0 {
		return &HandlerError{i.pool.cfg.Name, status, string(i.failure)}
	}
	return nil
}

// sleep is how long the guest sleeps: until the call is to end at the latest.
func (i *instance) sleep(ns int64) {
	select {
	case <-time.After(time.Duration(ns)):
	case <-i.stopped:
	}
}

// renew makes function anew. The runtime keeps a stack for it, of up to 100 MB, that grows with the calls and never shrinks. p.mu is held, or nothing else
// has the instance yet.
func (i *instance) renew() { i.function, i.fresh = i.module.ExportedFunction(exportHandle), i.calls }

// close releases the instance's memory.
func (i *instance) close() { _ = i.module.Close(context.Background()) }
