package boltload

// Workload is a case of a benchmark of Bolt proxies.
type Workload struct {
	Name        string
	Conns       int
	InFlight    int // requests in flight on each connection
	Least, Most int // smallest and largest content of a request, in bytes
	Upstream    int // connections to the backend, for proxies that share them; 0 means Shared
	Cores       []int
}

// Shared is ferry's default number of connections to the backend.
const Shared = 4

// The workloads with one core for the proxy.
var (
	FourEach = Workload{"100 × 4, one core", 100, 4, 1024, 1024, 0, []int{0}}
	OneEach  = Workload{"500 × 1, one core", 500, 1, 1024, 1024, 0, []int{0}}
	Mixed    = Workload{"1000 × 1, 0–10 KiB, one core", 1000, 1, 0, 10 << 10, 6, []int{0}}
)

// The same workloads with two cores for the proxy. The proxy shares the second core with the load.
var (
	FourEachTwo = FourEach.on("100 × 4, two cores", 0, 1)
	OneEachTwo  = OneEach.on("500 × 1, two cores", 0, 1)
)

func (w Workload) on(name string, cores ...int) Workload {
	w.Name, w.Cores = name, cores
	return w
}
