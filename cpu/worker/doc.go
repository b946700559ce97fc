// Package worker runs a message handler in processes of its own: with their own heap and garbage collector, at a lower
// priority, and killed when they overrun their deadline.
//
// It is for functions that allocate much, call C or are not trusted: the only way to stop a loop that does not stop itself
// is to end its process. Start runs a program a number of times, each one at the end of a socket; the program calls Serve.
// A Pool is a ferry.Handler and a ferry.BatchHandler: one of the processes handles each message. A process handles one
// message at a time, in order; the messages of a batch are sent ahead, so that a process does not wait between them. When a
// process dies, the message it was handling fails, with the process's status and the end of its output, and the Pool starts
// another process. No message is handled twice. When the parent dies, the processes end.
//
// Workers in other languages speak the protocol of docs/worker.md.
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
