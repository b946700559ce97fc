package worker_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"example.com/ferry"
	"example.com/ferry/cpu/worker"
)

// self returns a Config that runs this test's own program as a worker. One program may be both sides.
func self() worker.Config {
	return worker.Config{
		Name:    "upper",
		Command: []string{os.Args[0]},
		Env:     append(os.Environ(), "FERRY_TEST_ROLE=upper"),
	}
}

func Example() {
	pool, err := worker.Start(self())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pool.Close()
	answer, err := pool.Call(context.Background(), []byte("from another process"), nil)
	fmt.Printf("%s %v\n", answer, err)
	// Output: FROM ANOTHER PROCESS <nil>
}

// printer is a Sender that prints. The Sender of a stream function publishes.
type printer struct{}

func (printer) Send(_ context.Context, m ferry.Message) error {
	fmt.Printf("%s: %s\n", m.Tag, m.Payload)
	return nil
}

func ExamplePool_Handle() {
	pool, err := worker.Start(self())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pool.Close()
	err = pool.Handle(context.Background(), &ferry.Message{Tag: "greeting", Payload: []byte("hello")}, printer{})
	fmt.Println(err)
	err = pool.Handle(context.Background(), &ferry.Message{Tag: "greeting"}, printer{})
	fmt.Println(err)
	// Output:
	// greeting: HELLO
	// <nil>
	// worker: handler: nothing to do
}

func ExamplePool_HandleBatch() {
	pool, err := worker.Start(self())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pool.Close()
	batch := []ferry.Message{{Tag: "a", Payload: []byte("one")}, {Tag: "b"}, {Tag: "c", Payload: []byte("three")}}
	err = pool.HandleBatch(context.Background(), batch, printer{})
	fmt.Println(err)
	// Output:
	// a: ONE
	// c: THREE
	// worker: handler: nothing to do
}

func ExampleStart_deadline() {
	cfg := self()
	cfg.Env = append(os.Environ(), "FERRY_TEST_ROLE=tight") // its handler never returns
	cfg.Deadline = time.Second
	pool, err := worker.Start(cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pool.Close()
	_, err = pool.Call(context.Background(), nil, nil)
	var died *worker.DiedError
	fmt.Println(errors.Is(err, worker.ErrDeadline), errors.As(err, &died) && died.Status == "signal: killed")
	// Output: true true
}

func ExampleStart_notAWorker() {
	_, err := worker.Start(worker.Config{Name: "date", Command: []string{"/no/such/program"}})
	fmt.Println(err)
	// Output: worker: date did not start as a worker: the program ["/no/such/program"] has to call worker.Serve: fork/exec /no/such/program: no such file or directory
}

func ExampleServe() {
	// In a program that Start has not run, Serve returns an error at once.
	err := worker.Serve(context.Background(), ferry.HandlerFunc(nil))
	fmt.Println(err)
	// Output: worker: FERRY_WORKER_SOCKET is not set: Serve is for programs that worker.Start runs
}
