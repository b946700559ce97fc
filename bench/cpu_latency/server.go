//go:build linux

package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// serve is the server process: examples/cpuserver with more ways to schedule a job, and more jobs. It ends with its standard
// input.
func serve(args []string) error {
	flags := flag.NewFlagSet("server", flag.ContinueOnError)
	var d scheduling
	flags.StringVar(&d.name, "scheduling", plainGo, "how jobs run: plain, gosched, semaphore, pool, worker")
	flags.DurationVar(&d.every, "every", 0, "gosched: how long a job runs before it calls runtime.Gosched")
	flags.IntVar(&d.tokens, "tokens", 0, "pool: jobs that run at once; 0 means the usable cores")
	flags.BoolVar(&d.slices, "slices", true, "pool: kernel slices")
	flags.BoolVar(&d.idle, "idle", false, "worker: SCHED_IDLE instead of nice 10")
	flags.IntVar(&d.gogc, "gogc", 100, "the collector's target, as GOGC")
	if err := flags.Parse(args); err != nil {
		return err
	}
	debug.SetGCPercent(d.gogc)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	run, err := d.start()
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	for _, j := range jobs {
		mux.Handle(j.path, run(j))
	}
	mux.HandleFunc("/delay1ms", func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(time.Millisecond)
		fmt.Fprintln(w, "done")
	})
	mux.HandleFunc("/stats", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(stats{Checksums: done.Load(), GC: collecting()})
	})
	fmt.Println("listening on", listener.Addr())
	go endWithStdin()
	server := http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	return server.Serve(listener)
}

// stats is the body of /stats, here and, without GC, in examples/cpuserver.
type stats struct {
	Checksums uint64  `json:"checksums"`
	GC        float64 `json:"gc"` // CPU seconds of the collector
}

func collecting() float64 {
	sample := []metrics.Sample{{Name: "/cpu/classes/gc/total:cpu-seconds"}}
	metrics.Read(sample)
	return sample[0].Value.Float64()
}

// endWithStdin ends this process when its parent has ended.
func endWithStdin() {
	var b [1]byte
	for {
		if _, err := os.Stdin.Read(b[:]); err != nil {
			os.Exit(0)
		}
	}
}
