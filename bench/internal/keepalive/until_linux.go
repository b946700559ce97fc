package keepalive

import "time"

// longestWindow bounds the windows of RunUntil.
const longestWindow = 30 * time.Second

// RunUntil generates load l again and again, until n responses arrived in the windows together, or a request failed. Each window is
// twice as long as the one before, up to 30 s. So a check on a busy machine does not depend on how many responses one short window
// holds, nor on a window that began late and was too short. The report is the sum of all runs; it has fewer than n responses if the
// longest window was too short.
func (c *Client) RunUntil(l Load, n int) (*Report, error) {
	sum := new(Report)
	for least := l.Window / 2; ; l.Window = min(2*l.Window, longestWindow) {
		r, err := c.Run(l)
		if err != nil {
			return nil, err
		}
		sum.Merge(r)
		enough := min(sum.Requests, sum.Times.N) >= n && sum.Window >= least
		if enough || sum.Failures > 0 || l.Window >= longestWindow {
			return sum, nil
		}
	}
}
