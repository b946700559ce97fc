package ferrynode

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// startTimeout is the timeout of WaitReady.
const startTimeout = 30 * time.Second

// FreeAddr returns a loopback address whose port was just free for both TCP and UDP. Another program may still bind the port.
func FreeAddr() (string, error) {
	for range 100 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return "", err
		}
		addr := l.Addr().String()
		u, err := net.ListenPacket("udp", addr)
		_ = l.Close()
		if err == nil {
			_ = u.Close()
			return addr, nil
		}
	}
	return "", errors.New("ferrynode: no port is free for both TCP and UDP")
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
