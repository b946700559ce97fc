package httpproxy

import (
	"bufio"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Goroutines asks a program written in Go how many it has, at the address of its metrics.
func Goroutines(admin string) (float64, error) {
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get("http://" + admin + "/metrics")
	if err != nil {
		return 0, fmt.Errorf("httpproxy: %w", err)
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), "go_goroutines "); ok {
			return strconv.ParseFloat(value, 64)
		}
	}
	return 0, fmt.Errorf("httpproxy: no go_goroutines at %s: %w", admin, lines.Err())
}
