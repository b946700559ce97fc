//go:build linux

package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"slices"
	"time"

	"example.com/ferry"
	"example.com/ferry/cpu"
	"example.com/ferry/cpu/worker"
)

// The ways to schedule jobs.
const (
	plainGo   = "plain"
	gosched   = "gosched"
	semaphore = "semaphore"
	inPool    = "pool"
	inWorker  = "worker"
)

// scheduling is a way to run jobs beside quick requests.
type scheduling struct {
	name   string
	every  time.Duration
	tokens int
	slices bool
	idle   bool
	gogc   int
}

// start prepares the process, and returns a function that makes a handler for a job.
func (d scheduling) start() (func(job) http.Handler, error) {
	switch d.name {
	case plainGo:
		return func(j job) http.Handler { return handler(j, context.Context.Err) }, nil
	case gosched:
		return d.goscheds, nil
	case semaphore:
		return newSemaphore(), nil
	case inPool:
		return d.pool()
	case inWorker:
		return d.workers()
	}
	return nil, fmt.Errorf("server: no scheduling %q: want plain, gosched, semaphore, pool or worker", d.name)
}

func handler(j job, checkpoint func(context.Context) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { j.respond(w, r, checkpoint) })
}

// respond runs the job and writes its checksum.
func (j job) respond(w http.ResponseWriter, r *http.Request, checkpoint func(context.Context) error) {
	if n, sum, err := j.run(r.Context(), checkpoint); err == nil {
		fmt.Fprintf(w, responseFormat, n, sum)
	}
}

// goscheds makes a handler that calls runtime.Gosched at intervals.
func (d scheduling) goscheds(j job) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		last := time.Now()
		j.respond(w, r, func(ctx context.Context) error {
			if time.Since(last) >= d.every {
				runtime.Gosched()
				last = time.Now()
			}
			return ctx.Err()
		})
	})
}

// newSemaphore runs at most one job per core at a time, without preemption. GOMAXPROCS is twice the number of cores.
func newSemaphore() func(job) http.Handler {
	cores := runtime.NumCPU()
	runtime.GOMAXPROCS(2 * cores)
	tokens := make(chan struct{}, cores)
	return func(j job) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			tokens <- struct{}{}
			defer func() { <-tokens }()
			j.respond(w, r, context.Context.Err)
		})
	}
}

// pool runs jobs in a cpu.Pool as its documentation says.
func (d scheduling) pool() (func(job) http.Handler, error) {
	cpu.TuneProcess(cpu.Tuning{Tokens: d.tokens, KeepKernelSlices: !d.slices})
	pool, err := cpu.New(cpu.Config{Tokens: d.tokens})
	if err != nil {
		return nil, err
	}
	asJob := cpu.Middleware(pool)
	return func(j job) http.Handler { return asJob(handler(j, cpu.Checkpoint)) }, nil
}

// workers runs jobs in one process per core. The processes share the counter of units.
func (d scheduling) workers() (func(job) http.Handler, error) {
	cpu.TuneProcess(cpu.Tuning{})
	counter, err := os.CreateTemp("", "ferry-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(counter.Name()) }() // once the processes have it
	if err := counter.Truncate(8); err != nil {
		return nil, err
	}
	if err := countIn(counter); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	env := append(os.Environ(), roleVariable+"="+roleWorker, counterVariable+"="+counter.Name(), fmt.Sprintf("GOGC=%d", d.gogc))
	pool, err := worker.Start(worker.Config{Command: []string{self}, Env: env, Workers: runtime.NumCPU(), Idle: d.idle})
	if err != nil {
		return nil, err
	}
	return func(j job) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			text, err := pool.Call(r.Context(), []byte(j.path), nil)
			if err != nil {
				http.Error(w, err.Error(), http.StatusServiceUnavailable)
				return
			}
			_, _ = w.Write(text)
		})
	}, nil
}

// The environment variable with the name of the shared counter's file.
const counterVariable = "FERRY_BENCH_COUNTER"

// handleJobs is the handler of a worker process. A message is the path of a job.
func handleJobs() error {
	counter, err := os.OpenFile(os.Getenv(counterVariable), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := countIn(counter); err != nil {
		return err
	}
	return worker.Serve(context.Background(), ferry.HandlerFunc(func(ctx context.Context, m *ferry.Message, out ferry.Sender) error {
		i := slices.IndexFunc(jobs, func(j job) bool { return j.path == string(m.Payload) })
		if i < 0 {
			return fmt.Errorf("worker: no job %q", m.Payload)
		}
		n, sum, err := jobs[i].run(ctx, context.Context.Err)
		if err != nil {
			return err
		}
		return out.Send(ctx, ferry.Message{Tag: m.Tag, Payload: fmt.Appendf(nil, responseFormat, n, sum)})
	}))
}
