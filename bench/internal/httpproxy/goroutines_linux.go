package httpproxy

import (
	"bufio"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Goroutines reads the number of goroutines from the metrics of a program written in Go.
func Goroutines(admin string) (float64, error) {
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get("http://" + admin + "/metrics")
	if err != nil {
		return 0, fmt.Errorf("httpproxy: %w", err)
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), "go_goroutines "); ok {
			return strconv.ParseFloat(value, 64)
		}
	}
	return 0, fmt.Errorf("httpproxy: no go_goroutines at %s: %w", admin, lines.Err())
}
