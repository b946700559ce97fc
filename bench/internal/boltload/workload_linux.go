package boltload

// Workload is a case of a question about a proxy of Bolt.
type Workload struct {
	Name        string
	Conns       int
	InFlight    int // on each connection
	Least, Most int // bytes of content
	Upstream    int // connections to the backend of proxies that share them; 0: as ferry ships, which is Shared
	Cores       []int
}

// Shared is how many connections to the backend ferry shares unless it is told otherwise.
const Shared = 4

// The workloads on one core for the proxy.
var (
	FourEach = Workload{"100 × 4, one core", 100, 4, 1024, 1024, 0, []int{0}}
	OneEach  = Workload{"500 × 1, one core", 500, 1, 1024, 1024, 0, []int{0}}
	Mixed    = Workload{"1000 × 1, 0–10 KiB, one core", 1000, 1, 0, 10 << 10, 6, []int{0}}
)

// The same on two cores, of which the second is the load's too.
var (
	FourEachTwo = FourEach.on("100 × 4, two cores", 0, 1)
	OneEachTwo  = OneEach.on("500 × 1, two cores", 0, 1)
)

func (w Workload) on(name string, cores ...int) Workload {
	w.Name, w.Cores = name, cores
	return w
}
