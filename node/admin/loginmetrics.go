package admin

import (
	"github.com/prometheus/client_golang/prometheus"

	"example.com/ferry/edge"
)

var (
	loginsDesc        = desc("ferry_logins_total", "Logins of devices and of clients of HTTP whose password was compared (check password), or that mqtt.login_url was asked about (callback). delayed: others have failed before; busy: too many wait; unavailable: the callback has not decided; unusable: it has granted what cannot be granted.", "check", "result")
	loginsWaitingDesc = desc("ferry_logins_waiting", "Logins that wait to be checked.", "check")
)

// loginCollector collects the metrics of logins by password.
type loginCollector struct{ logins *edge.Logins }

// Describe sends no descriptions, as the other collectors of listeners.
func (c loginCollector) Describe(chan<- *prometheus.Desc) {}

// Collect sends the metrics of each kind of check.
func (c loginCollector) Collect(ch chan<- prometheus.Metric) {
	compared, asked := c.logins.Stats()
	all := map[string]edge.LoginStats{"password": compared}
	if c.logins.Asks() {
		all["callback"] = asked
	}
	for check, s := range all {
		ch <- gauge(loginsWaitingDesc, s.Waiting, check)
		for result, n := range map[string]uint64{
			"right": s.Right, "remembered": s.Remembered, "wrong": s.Wrong, "delayed": s.Delayed, "busy": s.Busy, "unavailable": s.Unavailable, "unusable": s.Unusable,
		} {
			ch <- counter(loginsDesc, n, check, result)
		}
	}
}
