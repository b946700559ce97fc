package admin

import (
	"github.com/prometheus/client_golang/prometheus"

	"example.com/ferry/cpu"
)

var (
	runningDesc  = desc("ferry_function_running", "1 while a function of the node runs.", "function")
	handledDesc  = desc("ferry_function_handled_total", "Messages that a function handled.", "function")
	failedDesc   = desc("ferry_function_failed_total", "Calls of a function that ended with an error or a panic.", "function")
	activeDesc   = desc("ferry_function_active", "Messages that a function handles, or that wait for a token, a process or an instance.", "function")
	queuedDesc   = desc("ferry_function_queue_messages", "Messages that wait in the node's queue for a function.", "function")
	tookDesc     = desc("ferry_function_seconds", "Time that a function took for a message, with the wait for a token, a process or an instance. The messages of a batch share its time.", "function")
	restartsDesc = desc("ferry_function_restarts_total", "Times that a function, a process of a worker or an instance of a guest had to be replaced because it had ended by itself.", "function")
	lastErrDesc  = desc("ferry_function_last_error_timestamp_seconds", "When a message of a function failed last, or the function did not start or ended by itself.", "function")
	readyDesc    = desc("ferry_worker_processes", "Running processes of a worker function.", "function")
	diedDesc     = desc("ferry_worker_died_total", "Messages lost as their process died, or was killed, while it handled them.", "function")

	guestInstancesDesc = desc("ferry_wasm_instances", "Instances of a wasm function.", "function")
	guestMemoryDesc    = desc("ferry_wasm_memory_bytes", "Memory of the idle instances of a wasm function.", "function")
	guestCrashedDesc   = desc("ferry_wasm_crashed_total", "Instances of a wasm function that were ended by a trap, or because a message took too long.", "function")

	tokensDesc     = desc("ferry_cpu_tokens", "Tokens: how many heavy calls may run at once.")
	heldDesc       = desc("ferry_cpu_tokens_held", "Heavy calls that run on a token.")
	lentDesc       = desc("ferry_cpu_tokens_lent", "Heavy calls that run on without a token, as they passed no checkpoint.")
	cpuQueueDesc   = desc("ferry_cpu_queue", "Heavy calls that wait for a token.")
	waitDesc       = desc("ferry_cpu_wait_seconds", "Time that heavy calls waited for their first token, over the last ten to twenty seconds.", "quantile")
	jobsDesc       = desc("ferry_cpu_jobs_total", "Heavy calls that got a token.")
	busyDesc       = desc("ferry_cpu_refused_total", "Heavy calls refused as the queue was full.")
	unyieldingDesc = desc("ferry_cpu_unyielding", "Running calls that passed no checkpoint in time, by function.", "job")
	longestDesc    = desc("ferry_cpu_unyielding_longest_seconds", "Longest run time of a call that passed no checkpoint, by function.", "job")
)

// functionCollector collects the metrics of the functions.
type functionCollector struct{ functions Functions }

// Describe sends no descriptions: which metrics there are depends on the functions.
func (c functionCollector) Describe(chan<- *prometheus.Desc) {}

// Collect sends the metrics of each function.
func (c functionCollector) Collect(ch chan<- prometheus.Metric) {
	for _, f := range c.functions.List() {
		ch <- gauge(runningDesc, boolToInt(f.Running), f.Name)
		ch <- counter(handledDesc, f.Handled, f.Name)
		ch <- counter(failedDesc, f.Failed, f.Name)
		ch <- gauge(activeDesc, int(f.Active), f.Name)
		ch <- gauge(queuedDesc, f.Queued, f.Name)
		ch <- histogram(tookDesc, f.Took, f.Name)
		ch <- counter(restartsDesc, f.Restarts, f.Name)
		if !f.LastErrorAt.IsZero() {
			ch <- seconds(lastErrDesc, float64(f.LastErrorAt.UnixMilli())/1000, f.Name)
		}
		if p := f.Processes; p != nil {
			ch <- gauge(readyDesc, p.Ready, f.Name)
			ch <- counter(diedDesc, p.Died, f.Name)
		}
		if f.Pipeline != nil {
			collectPipeline(ch, f.Name, f.Pipeline)
		}
		if g := f.Guest; g != nil {
			ch <- gauge(guestInstancesDesc, g.Instances, f.Name)
			ch <- gauge(guestMemoryDesc, int(g.Memory), f.Name)
			ch <- counter(guestCrashedDesc, g.Crashed, f.Name)
		}
	}
}

// cpuCollector collects the metrics of the pool of heavy functions.
type cpuCollector struct{ stats func() cpu.Stats }

// Describe sends no descriptions: which jobs there are depends on what runs.
func (c cpuCollector) Describe(chan<- *prometheus.Desc) {}

// Collect sends the metrics of this moment.
func (c cpuCollector) Collect(ch chan<- prometheus.Metric) {
	s := c.stats()
	ch <- gauge(tokensDesc, s.Tokens)
	ch <- gauge(heldDesc, s.Running)
	ch <- gauge(lentDesc, s.Lent)
	ch <- gauge(cpuQueueDesc, s.Queued)
	ch <- seconds(waitDesc, s.WaitP50.Seconds(), "0.5")
	ch <- seconds(waitDesc, s.WaitP99.Seconds(), "0.99")
	ch <- counter(jobsDesc, s.Jobs)
	ch <- counter(busyDesc, s.Busy)
	for _, u := range s.Unyielding {
		ch <- gauge(unyieldingDesc, int(u.Jobs), u.Name)
		ch <- seconds(longestDesc, u.Longest.Seconds(), u.Name)
	}
}

func seconds(d *prometheus.Desc, v float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, validLabels(labels)...)
}
