package ferrynode

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"time"
)

// startTimeout is the timeout of WaitReady.
const startTimeout = 30 * time.Second

// given has the ports that FreeAddr has returned.
var given sync.Map

// FreeAddr returns a loopback address whose port was just free for both TCP and UDP. It returns no port twice. Its ports are below those that
// systems assign to outgoing connections, so only a program that asks for the port may still bind it.
func FreeAddr() (string, error) {
	const low, high = 20_000, 32_768
	for range 1000 {
		addr := fmt.Sprintf("127.0.0.1:%d", low+rand.IntN(high-low))
		if _, again := given.LoadOrStore(addr, true); again {
			continue
		}
		l, err := net.Listen("tcp", addr)
		if err != nil {
			continue
		}
		u, err := net.ListenPacket("udp", addr)
		_ = l.Close()
		if err == nil {
			_ = u.Close()
			return addr, nil
		}
	}
	return "", fmt.Errorf("ferrynode: no port between %d and %d is free for both TCP and UDP", low, high)
}

// WaitReady waits until the node whose admin server is at addr accepts clients.
func WaitReady(addr string) error {
	client := http.Client{Timeout: time.Second}
	defer client.CloseIdleConnections()
	var last error
	for end := time.Now().Add(startTimeout); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		response, err := client.Get("http://" + addr + "/ready")
		if err != nil {
			last = err
			continue
		}
		_ = response.Body.Close()
		if response.StatusCode == http.StatusOK {
			return nil
		}
		last = fmt.Errorf("%s responds %s", response.Request.URL, response.Status)
	}
	return fmt.Errorf("ferrynode: the node is not ready after %v: %w", startTimeout, last)
}
