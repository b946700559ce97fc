// Package pinned runs programs on chosen cores and tells what they cost.
//
// A proxy that has a core to itself shows what it costs by its own account: nanoseconds on a core, as the kernel counts them
// for the process and those it started, threads that have ended included; and memory. Programs inherit the environment; `env`
// in front of one changes it. What others took of the cores meanwhile is openloop.Used's to say. Linux only.
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
