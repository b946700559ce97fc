// Package workers runs handlers on goroutines that are used again, whose stacks have grown already.
//
//	var pool workers.Pool
//	defer pool.Close()
//	pool.Go(task) // task.Run runs on a goroutine
package workers
