package cpu_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	"example.com/ferry/cpu"
)

func Example() {
	pool, err := cpu.New(cpu.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pool.Close()
	sum, err := cpu.Do(context.Background(), pool, func(ctx context.Context) (int64, error) {
		sum := int64(0)
		for i := range int64(1_000_000) {
			if err := cpu.Checkpoint(ctx); err != nil {
				return 0, err
			}
			sum += i
		}
		return sum, nil
	})
	fmt.Println(sum, err)
	// Output: 499999500000 <nil>
}

func ExampleNew() {
	_, err := cpu.New(cpu.Config{Tokens: -2})
	fmt.Println(err)
	// Output: cpu: Config.Tokens is -2: want 0 for the default, or more
}

// A panic in a job is an error of Do; the program continues.
func ExampleDo() {
	pool, _ := cpu.New(cpu.Config{Tokens: 1})
	defer pool.Close()
	_, err := cpu.Do(context.Background(), pool, func(context.Context) (int, error) {
		var none []int
		return none[3], nil
	})
	var panicked *cpu.PanicError
	fmt.Println(errors.As(err, &panicked))
	fmt.Println(panicked.Value)
	// Output:
	// true
	// runtime error: index out of range [3] with length 0
}

// A function that checkpoints ends soon after its context has ended.
func ExampleCheckpoint() {
	pool, _ := cpu.New(cpu.Config{Tokens: 1})
	defer pool.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	_, err := cpu.Do(ctx, pool, func(ctx context.Context) (int, error) {
		for {
			if err := cpu.Checkpoint(ctx); err != nil {
				return 0, err
			}
		}
	})
	fmt.Println(err)
	// Output: context deadline exceeded
}

// A hot loop looks its job up once, and then checkpoints with one atomic load.
func ExampleFrom() {
	pool, _ := cpu.New(cpu.Config{Tokens: 1})
	defer pool.Close()
	count := func(ctx context.Context) (int, error) {
		job := cpu.From(ctx)
		n := 0
		for range 1000 {
			n++
			if err := job.Checkpoint(); err != nil {
				return n, err
			}
		}
		return n, nil
	}
	fmt.Println(cpu.Do(context.Background(), pool, count))
	// Output: 1000 <nil>
}

// While a job waits for something other than the CPU, another job uses its token.
func ExampleBlocking() {
	pool, _ := cpu.New(cpu.Config{Tokens: 1})
	defer pool.Close()
	ctx := context.Background()
	_, err := cpu.Do(ctx, pool, func(job context.Context) (int, error) {
		return 0, cpu.Blocking(job, func() error {
			other, err := cpu.Do(ctx, pool, func(context.Context) (string, error) { return "another job", nil })
			fmt.Println(other, "ran meanwhile")
			return err
		})
	})
	fmt.Println(err)
	// Output:
	// another job ran meanwhile
	// <nil>
}

func ExampleFor() {
	pool, _ := cpu.New(cpu.Config{Tokens: 1})
	defer pool.Close()
	pixels := []int{10, 20, 30, 40}
	_, err := cpu.Do(context.Background(), pool, func(ctx context.Context) (int, error) {
		return 0, cpu.For(ctx, pixels, 2, func(p *int) error { *p = 255 - *p; return nil })
	})
	fmt.Println(pixels, err)
	// Output: [245 235 225 215] <nil>
}

func ExampleWithName() {
	pool, _ := cpu.New(cpu.Config{Tokens: 1})
	defer pool.Close()
	var stop atomic.Bool
	started := make(chan struct{})
	go cpu.Do(cpu.WithName(context.Background(), "resize"), pool, func(context.Context) (int, error) {
		close(started)
		for !stop.Load() { // without a checkpoint
		}
		return 0, nil
	})
	<-started
	cpu.Do(context.Background(), pool, func(context.Context) (int, error) { return 0, nil })
	stop.Store(true)
	for _, u := range pool.Stats().Unyielding {
		fmt.Println(u.Name, "does not yield")
	}
	// Output: resize does not yield
}

func ExamplePool_Stats() {
	pool, _ := cpu.New(cpu.Config{Tokens: 3})
	defer pool.Close()
	cpu.Do(context.Background(), pool, func(context.Context) (int, error) {
		s := pool.Stats()
		fmt.Println(s.Tokens, "tokens,", s.Running, "running,", s.Queued, "waiting,", s.Jobs, "started")
		return 0, nil
	})
	// Output: 3 tokens, 1 running, 0 waiting, 1 started
}

func ExamplePool_Close() {
	pool, _ := cpu.New(cpu.Config{Tokens: 1})
	pool.Close()
	_, err := cpu.Do(context.Background(), pool, func(context.Context) (int, error) { return 1, nil })
	fmt.Println(err)
	// Output: cpu: the pool is closed
}

func ExampleMiddleware() {
	pool, _ := cpu.New(cpu.Config{})
	defer pool.Close()
	mux := http.NewServeMux()
	mux.Handle("/primes", cpu.Middleware(pool)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := 0
		for i := 2; i < 1000; i++ {
			if cpu.Checkpoint(r.Context()) != nil {
				return // the client has gone
			}
			prime := true
			for d := 2; d*d <= i; d++ {
				prime = prime && i%d != 0
			}
			if prime {
				n++
			}
		}
		fmt.Fprint(w, n)
	})))
	answer := httptest.NewRecorder()
	mux.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/primes", nil))
	fmt.Println(answer.Code, answer.Body)
	// Output: 200 168
}

// A binary calls TuneProcess at the beginning of main.
func ExampleTuneProcess() {
	tuned := cpu.TuneProcess(cpu.Tuning{KeepKernelSlices: true})
	fmt.Println(tuned.GOMAXPROCS >= 1, tuned.KernelSlices)
	// Output: true false
}

func ExampleCores() {
	fmt.Println(cpu.Cores() >= 1)
	// Output: true
}
