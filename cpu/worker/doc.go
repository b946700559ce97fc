// Package worker runs a message handler in processes of its own: with their own heap and garbage collector, at a lower
// priority, and killed when they overrun their deadline.
//
// It is for functions that allocate much, call C or are not trusted: the one way to stop a loop that does not stop itself
// is to end its process. Start runs a program a number of times, each at the end of a socket; the program calls Serve.
// A Pool is a ferry.Handler and a ferry.BatchHandler that has each message handled by one of the processes. A process
// handles one message at a time, in order; a batch is sent ahead, so that a process need not wait between messages. A
// process that dies fails the message it was handling, by name and with the last of what it printed, and is started
// again. No message is handled twice. The death of the parent ends the processes.
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
