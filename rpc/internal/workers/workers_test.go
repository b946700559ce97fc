package workers_test

import (
	"sync"
	"testing"
	"testing/synctest"

	"example.com/ferry/rpc/internal/workers"
)

type task func()

func (t task) Run() { t() }

// TestAll: tasks run at once, however many others block, and all goroutines have ended after Close.
func TestAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // fails if a goroutine is left
		var p workers.Pool
		const n = 1000
		for range 3 {
			var arrived, done sync.WaitGroup
			arrived.Add(n)
			release := make(chan int)
			for range n {
				done.Add(1)
				p.Go(task(func() {
					arrived.Done()
					<-release
					done.Done()
				}))
			}
			arrived.Wait()
			close(release)
			done.Wait()
		}
		p.Close()
		var late sync.WaitGroup
		late.Add(1)
		p.Go(task(late.Done))
		late.Wait()
	})
}

// TestReuse: a task finds the goroutine of the one before, so nothing is allocated.
func TestReuse(t *testing.T) {
	var p workers.Pool
	defer p.Close()
	done := make(chan int)
	run := task(func() { done <- 1 })
	var asTask workers.Task = run
	for range 100 {
		p.Go(asTask)
		<-done
	}
	// A goroutine may not have become idle yet when the next task begins, so now and then a new one is started.
	if n := testing.AllocsPerRun(1000, func() { p.Go(asTask); <-done }); n >= 1 {
		t.Errorf("%v allocations per task", n)
	}
}
