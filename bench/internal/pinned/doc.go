// Package pinned runs programs on chosen cores and measures their CPU time and memory.
//
// CPU time is that of the process and its descendants, in nanoseconds, as the kernel counts it. It includes threads that have
// ended. Programs inherit the environment; put `env` before the program to change it. harness.Used measures how much other
// programs used the cores. Linux only.
//
//	p, err := pinned.Start([]int{0}, dir, "env", "GOGC=50", "ferry", "run", "-c", "bolt.yaml")
//	if err != nil {
//		return err
//	}
//	defer p.Stop()
//	if err := p.WaitListening("127.0.0.1:12200", 5*time.Second); err != nil {
//		return err
//	}
//	before, _ := p.CPU()
//	load()
//	after, _ := p.CPU()
//	fmt.Println(after - before)
package pinned
