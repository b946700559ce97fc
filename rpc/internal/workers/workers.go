package workers

import "sync"

// maxIdle is the number of goroutines that wait for tasks. Further ones end after their task.
const maxIdle = 512

// Task is what a Pool runs.
type Task interface{ Run() }

// Pool runs tasks. Its methods may overlap. The zero value is ready for use.
type Pool struct {
	mu     sync.Mutex
	idle   []chan Task // of the goroutines that wait, the one that waits longest first
	closed bool
}

// Go runs t at once, on the goroutine that has become idle last or on a new one. It does not block. It may also be called after Close.
func (p *Pool) Go(t Task) {
	p.mu.Lock()
	n := len(p.idle)
	if n == 0 {
		p.mu.Unlock()
		go p.run(t)
		return
	}
	next := p.idle[n-1]
	p.idle[n-1] = nil
	p.idle = p.idle[:n-1]
	p.mu.Unlock()
	next <- t // has room: its goroutine waits
}

// Close ends the idle goroutines, and each other one after its task.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, next := range p.idle {
		close(next)
	}
	p.idle = nil
}

func (p *Pool) run(t Task) {
	t.Run()
	next := make(chan Task, 1)
	for p.offer(next) {
		t, ok := <-next
		if !ok {
			return
		}
		t.Run()
	}
}

// offer lists a goroutine as idle, and reports whether it should wait.
func (p *Pool) offer(next chan Task) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.idle) >= maxIdle {
		return false
	}
	p.idle = append(p.idle, next)
	return true
}
