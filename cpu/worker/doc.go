// Package worker runs a message handler in separate processes. Each process has its own heap and garbage collector,
// runs at a lower priority, and is killed if it overruns its deadline.
//
// Use it for functions that allocate much, call C or are not trusted. The only way to stop a loop that does not stop by
// itself is to kill its process. Start runs several processes of one program and connects each by a socket. The program
// calls Serve. A Pool is a ferry.Handler and a ferry.BatchHandler. Each message is handled by one process. A process
// handles one message at a time, in order. The next messages of a batch are sent early, so that a process does not wait
// between messages. If a process dies, the message that it was handling fails, and the error has the process's status
// and the end of its output. The Pool then starts another process. No message is handled twice. If the parent dies, the
// processes end.
//
// docs/worker.md specifies the protocol for workers in other languages.
//
// The parent:
//
//	pool, err := worker.Start(worker.Config{Name: "resize", Command: []string{"./resize"}, Deadline: time.Second})
//	if err != nil {
//		return err
//	}
//	defer pool.Close()
//	return client.Run(ctx, stream.Function{Observe: []string{"images/#"}, Handler: pool})
//
// The program:
//
//	func main() {
//		if err := worker.Serve(context.Background(), ferry.HandlerFunc(resize)); err != nil {
//			log.Fatal(err)
//		}
//	}
package worker

// Files: a handler in processes of its own: the parent's side is pool.go, call.go, process.go, the program's serve.go; both
// speak frame.go, which docs/worker.md specifies.
