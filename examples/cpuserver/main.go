// Command cpuserver shows CPU-heavy requests beside quick ones. /delay1ms responds after a millisecond. The other paths compute
// 10,000 to 20,000 CRC-32 checksums of 256 KiB. /checksumWithCpuWorker does so in a job of a cpu.Pool, and /delay1ms stays
// quick meanwhile. /checksumWithoutCpuWorker does so in a plain handler, and /delay1ms becomes slow.
//
//	go run ./examples/cpuserver
//	hey -c 10 -z 10s http://127.0.0.1:8080/checksumWithCpuWorker &
//	hey -c 10 -z 10s http://127.0.0.1:8080/delay1ms
//
// /checksumSmallTaskWithCpuWorker is a job of about a millisecond, and /stats returns the number of checksums so far. With -mode
// plain there is no pool, and the process has Go's default settings.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"example.com/ferry/cpu"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	if stop(); err != nil && !errors.Is(err, flag.ErrHelp) {
		log.Fatal(err)
	}
}

// run serves until ctx ends, and then finishes the requests in flight.
func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("cpuserver", flag.ContinueOnError)
	addr := flags.String("addr", "127.0.0.1:8080", "`address` to listen on; port 0 takes a free one")
	mode := flags.String("mode", "pool", "pool, or plain for Go's defaults and no pool")
	tokens := flags.Int("tokens", 0, "jobs that run at once; 0 means the usable cores")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 || *mode != "pool" && *mode != "plain" {
		return fmt.Errorf("cpuserver: mode %q, arguments %q: want -mode pool or plain, and no arguments", *mode, flags.Args())
	}
	listener, err := net.Listen("tcp", *addr)
	if err != nil {
		return fmt.Errorf("cpuserver: %w: choose another with -addr", err)
	}
	fmt.Fprintln(out, "listening on", listener.Addr())

	var sums counter
	mux := http.NewServeMux()
	mux.HandleFunc("/delay1ms", delay)
	mux.Handle("/checksumWithoutCpuWorker", sums.handler(10_000, 20_000))
	mux.HandleFunc("/stats", sums.stats)
	if *mode == "pool" {
		tuned := cpu.TuneProcess(cpu.Tuning{Tokens: *tokens})
		pool, err := cpu.New(cpu.Config{Tokens: *tokens})
		if err != nil {
			return err
		}
		defer pool.Close()
		asJob := cpu.Middleware(pool)
		mux.Handle("/checksumWithCpuWorker", asJob(sums.handler(10_000, 20_000)))
		mux.Handle("/checksumSmallTaskWithCpuWorker", asJob(sums.handler(140, 140)))
		fmt.Fprintf(out, "%d tokens, GOMAXPROCS %d, kernel slices: %v\n", pool.Stats().Tokens, tuned.GOMAXPROCS, tuned.KernelSlices)
	}
	return serve(ctx, listener, mux)
}

func serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return server.Shutdown(last)
}

func delay(w http.ResponseWriter, _ *http.Request) {
	time.Sleep(time.Millisecond)
	fmt.Fprintln(w, "done")
}

// block is the input of each checksum.
var block = make([]byte, 256<<10)

// counter counts checksums.
type counter struct{ n atomic.Uint64 }

// handler computes least to most checksums. It checkpoints after each one, every few microseconds: in a job this lets other jobs
// run, and everywhere it ends the work when the client has gone.
func (c *counter) handler(least, most int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		sum, n := uint32(0), least+rand.IntN(most-least+1)
		for range n {
			sum = crc32.Update(sum, crc32.IEEETable, block)
			c.n.Add(1)
			if cpu.Checkpoint(ctx) != nil {
				return
			}
		}
		fmt.Fprintf(w, "%d checksums, %08x\n", n, sum)
	})
}

func (c *counter) stats(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, "{\"checksums\":%d}\n", c.n.Load())
}
