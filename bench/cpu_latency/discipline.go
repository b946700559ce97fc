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

// The names of the disciplines.
const (
	plainGo   = "plain"
	gosched   = "gosched"
	semaphore = "semaphore"
	inPool    = "pool"
	inWorker  = "worker"
)

// discipline is a way to run jobs beside quick requests.
type discipline struct {
	name   string
	every  time.Duration
	tokens int
	slices bool
	idle   bool
	gogc   int
}

// start prepares the process, and returns what makes a handler of a job.
func (d discipline) start() (func(job) http.Handler, error) {
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
	return nil, fmt.Errorf("server: no discipline %q: want plain, gosched, semaphore, pool or worker", d.name)
}

func handler(j job, checkpoint func(context.Context) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { j.answer(w, r, checkpoint) })
}

// answer runs the job for a request.
func (j job) answer(w http.ResponseWriter, r *http.Request, checkpoint func(context.Context) error) {
	if n, sum, err := j.run(r.Context(), checkpoint); err == nil {
		fmt.Fprintf(w, answer, n, sum)
	}
}

// goscheds has a job call runtime.Gosched every so often.
func (d discipline) goscheds(j job) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		last := time.Now()
		j.answer(w, r, func(ctx context.Context) error {
			if time.Since(last) >= d.every {
				runtime.Gosched()
				last = time.Now()
			}
			return ctx.Err()
		})
	})
}

// newSemaphore lets as many jobs run as there are cores, each to its end, and has twice the processors.
func newSemaphore() func(job) http.Handler {
	cores := runtime.NumCPU()
	runtime.GOMAXPROCS(2 * cores)
	tokens := make(chan struct{}, cores)
	return func(j job) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			tokens <- struct{}{}
			defer func() { <-tokens }()
			j.answer(w, r, context.Context.Err)
		})
	}
}

// pool is package cpu as its documentation says to use it.
func (d discipline) pool() (func(job) http.Handler, error) {
	cpu.TuneProcess(cpu.Tuning{Tokens: d.tokens, KeepKernelSlices: !d.slices})
	pool, err := cpu.New(cpu.Config{Tokens: d.tokens})
	if err != nil {
		return nil, err
	}
	asJob := cpu.Middleware(pool)
	return func(j job) http.Handler { return asJob(handler(j, cpu.Checkpoint)) }, nil
}

// workers runs jobs in as many processes as there are cores. They count together.
func (d discipline) workers() (func(job) http.Handler, error) {
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

// A worker finds the name of the file to count in here.
const counterVariable = "FERRY_BENCH_COUNTER"

// handleJobs is what this program does as a worker: the jobs whose paths it is sent.
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
		return out.Send(ctx, ferry.Message{Tag: m.Tag, Payload: fmt.Appendf(nil, answer, n, sum)})
	}))
}
