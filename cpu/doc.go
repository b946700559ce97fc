// Package cpu runs CPU-heavy functions on a fully used machine without delaying other goroutines.
//
// A Pool has as many tokens as there are cores. A function runs while it holds a token. Go has more processors (GOMAXPROCS)
// than there are tokens. So one processor is always idle and reacts to the network immediately. The waiting job with the least
// running time so far runs first. A job that is asked to yield does so at its next Checkpoint. A job that never checkpoints
// loses its token to shorter jobs, and Stats names its function. A binary calls TuneProcess once. A Pool itself changes
// nothing in the process.
//
//	func main() {
//		cpu.TuneProcess(cpu.Tuning{})
//		pool, err := cpu.New(cpu.Config{})
//		if err != nil {
//			log.Fatal(err)
//		}
//		defer pool.Close()
//		sum, err := cpu.Do(context.Background(), pool, func(ctx context.Context) (int64, error) {
//			sum := int64(0)
//			for i := range int64(100_000_000) {
//				if err := cpu.Checkpoint(ctx); err != nil {
//					return 0, err
//				}
//				sum += i
//			}
//			return sum, nil
//		})
//		fmt.Println(sum, err)
//	}
package cpu

// Files: CPU-heavy functions beside I/O: tokens, the queue, checkpoints (job.go), lending (lending.go), kernel slices and
// when the kernel preempts a job (preempt.go).
