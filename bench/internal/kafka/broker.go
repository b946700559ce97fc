package kafka

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"example.com/ferry/bench/internal/child"
	"example.com/ferry/bench/internal/ferrynode"
)

// Broker is a process with one Kafka, which is its own controller. End kills it.
type Broker struct {
	Addr string

	*child.Process
}

// properties are those of a broker; all others have their defaults, so what is stored is synced when the kernel does it.
const properties = `process.roles=broker,controller
node.id=1
controller.quorum.voters=1@%[1]s
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://%[2]s,CONTROLLER://%[1]s
advertised.listeners=PLAINTEXT://%[2]s
log.dirs=%[3]s
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
`

// clusterID names the cluster: 16 bytes in base64.
const clusterID = "ferrybenchferrybenchfe"

// Start starts a broker that stores its data below dir, or has stored it there. It is ready when its clients can connect, which takes
// some seconds.
func Start(dir string) (*Broker, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("kafka: %w", err)
	}
	addr, err := ferrynode.FreeAddr()
	if err != nil {
		return nil, err
	}
	controller, err := ferrynode.FreeAddr()
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "broker.properties")
	if err := os.WriteFile(file, fmt.Appendf(nil, properties, controller, addr, filepath.Join(dir, "data")), 0o600); err != nil {
		return nil, fmt.Errorf("kafka: %w", err)
	}
	format, err := java("kafka.tools.StorageTool", "format", "--ignore-formatted", "-t", clusterID, "-c", file)
	if err != nil {
		return nil, err
	}
	if out, err := exec.Command(format[0], format[1:]...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("kafka: %v: %w: %s", format, err, out)
	}
	serve, err := java("kafka.Kafka", file)
	if err != nil {
		return nil, err
	}
	p, err := child.Program("", "kafka", serve...)
	return &Broker{addr, p}, err
}

// java returns the command of a class, with the memory that Kafka's own script gives it.
func java(class string, args ...string) ([]string, error) {
	dir, err := home()
	if err != nil {
		return nil, fmt.Errorf("kafka: %w", err)
	}
	return append([]string{"java", "-Xms1g", "-Xmx1g", "-cp", filepath.Join(dir, "*"), class}, args...), nil
}
