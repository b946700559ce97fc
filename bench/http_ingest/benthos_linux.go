package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"

	_ "github.com/redpanda-data/benthos/v4/public/components/io"   // the input http_server
	_ "github.com/redpanda-data/benthos/v4/public/components/pure" // processors and outputs
	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/ferry/bench/internal/httpproxy"
	"example.com/ferry/bench/internal/pinned"
)

// A process of this program that finds this variable in its environment is benthos. The value is the case; the argument is the address.
const benthosVariable = "FERRY_BENCH_HTTP_INGEST"

func (e *experiment) benthos(load string) (*pinned.Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return httpproxy.Launch(httpproxy.Setup{Dir: e.dir, Cores: []int{0}, Workers: 1, Listen: e.listen}, "env", benthosVariable+"="+load, self, e.listen)
}

// benthosMain runs benthos if this process was started as such, and does not return then.
func benthosMain() {
	load, ok := os.LookupEnv(benthosVariable)
	if !ok {
		return
	}
	fmt.Fprintln(os.Stderr, serveBenthos(load, os.Args[1]))
	os.Exit(1)
}

// serveBenthos runs a stream that parses each message and drops it. A message that is no JSON makes the response 502.
func serveBenthos(load, addr string) error {
	b := service.NewStreamBuilder()
	b.SetThreads(1)
	b.SetHTTPMux(http.NewServeMux()) // no server beside that of the input
	errs := []error{
		b.SetLoggerYAML("level: OFF"),
		b.AddInputYAML(fmt.Sprintf("http_server: {address: '%s', path: %s}", addr, path)),
		b.AddOutputYAML("reject_errored: {drop: {}}"),
	}
	if load == batch {
		errs = append(errs, b.AddProcessorYAML("unarchive: {format: lines}"))
	}
	errs = append(errs, b.AddProcessorYAML("mapping: 'root = this'"))
	if err := errors.Join(errs...); err != nil {
		return err
	}
	s, err := b.Build()
	if err != nil {
		return err
	}
	return s.Run(context.Background())
}
