package admin

import (
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"example.com/ferry/broker"
)

// maxSeries bounds the values of a label that clients choose: tags and subscriptions. The first values have a series each; later
// ones are counted together as "other".
const maxSeries = 500

// metricsHandler serves the metrics of the parts in cfg, from a registry of its own.
func (s *Server) metricsHandler(cfg Config) http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), collectors.NewBuildInfoCollector())
	r.MustRegister(busyCollector{s})
	if cfg.Token != "" {
		r.MustRegister(tokenCollector{&s.unauthorized})
	}
	if cfg.Snapshot != nil {
		r.MustRegister(&hopCollector{snapshot: cfg.Snapshot})
	}
	if cfg.Services != nil {
		r.MustRegister(&callCollector{services: cfg.Services})
	}
	if cfg.Streams != nil {
		r.MustRegister(&storedCollector{streams: cfg.Streams, log: cfg.Log})
	}
	if cfg.Functions != nil {
		r.MustRegister(functionCollector{cfg.Functions})
	}
	r.MustRegister(outgoingCollector{cfg.Links, cfg.Bridges})
	if cfg.Web != nil {
		r.MustRegister(webCollector{cfg.Web})
	}
	if cfg.MQTT != nil {
		r.MustRegister(mqttCollector{cfg.MQTT})
	}
	if cfg.Logins != nil {
		r.MustRegister(loginCollector{cfg.Logins})
	}
	if cfg.CPU != nil {
		r.MustRegister(cpuCollector{cfg.CPU})
	}
	if cfg.Certificates != nil {
		r.MustRegister(certificateCollector{cfg.Certificates})
	}
	if cfg.Reloads != nil {
		r.MustRegister(reloadCollector{cfg.Reloads})
	}
	if cfg.Vitals != nil {
		r.MustRegister(vitalsCollector{cfg.Vitals})
	}
	if cfg.Drain != nil {
		r.MustRegister(drainCollector{cfg.Drain})
	}
	if cfg.Version != "" {
		r.MustRegister(buildCollector{cfg.Version})
	}
	if cfg.Proxy != nil {
		r.MustRegister(proxyCollector{cfg.Proxy})
	}
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{MaxRequestsInFlight: 8, Timeout: 10 * time.Second})
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

var (
	messagesDesc    = desc("ferry_messages_total", "Messages by tag: in from publishers, out to each subscription.", "tag", "dir")
	bytesDesc       = desc("ferry_bytes_total", "Bytes of messages and their frames by tag: in from publishers, out to each subscription.", "tag", "dir")
	droppedDesc     = desc("ferry_dropped_total", "Messages the node did not deliver.", "reason")
	refusedDesc     = desc("ferry_refused_total", "Connections that the node refused or ended.", "reason")
	mismatchedDesc  = desc("ferry_predicate_mismatched_total", "Predicates that were false because a field was of another kind.")
	validatedDesc   = desc("ferry_validated_total", "Messages whose payload the node has validated.")
	latencyDesc     = desc("ferry_latency_seconds", "Time from a message's source to the node.")
	connectionsDesc = desc("ferry_connections", "Clients connected now.")
	queueBytesDesc  = desc("ferry_queue_bytes", "Bytes queued for a subscription.", "client", "filter")
	queueDesc       = desc("ferry_queue_messages", "Messages queued for a subscription.", "client", "filter")
	creditDesc      = desc("ferry_credit_bytes", "Credit of a subscription for the tag that has least.", "client", "filter")
	withheldDesc    = desc("ferry_credit_withheld", "Publishers whose credit a full subscription withholds.", "client", "filter")
	deliveredDesc   = desc("ferry_delivered_total", "Messages sent to a subscription since it began.", "client", "filter")
)

// hopCollector collects the metrics of the broker.
type hopCollector struct {
	snapshot func() broker.Snapshot

	mu            sync.Mutex
	tags          series[string]
	subscriptions series[subscription]
}

type subscription struct{ client, filter string }

// series is the set of label values that have their own series.
type series[K comparable] map[K]bool

// label returns k, or other if there is no room for k.
func (s *series[K]) label(k, other K) K {
	if *s == nil {
		*s = series[K]{}
	}
	if !(*s)[k] {
		if len(*s) >= maxSeries {
			return other
		}
		(*s)[k] = true
	}
	return k
}

// Describe sends no descriptions: which metrics there are depends on the snapshot.
func (c *hopCollector) Describe(chan<- *prometheus.Desc) {}

// Collect sends one snapshot's metrics.
func (c *hopCollector) Collect(ch chan<- prometheus.Metric) {
	s := c.snapshot()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.collectTags(ch, s.Tags, s.Freed)
	c.collectSubscriptions(ch, s.Subscriptions)
	for reason, n := range s.Dropped {
		ch <- counter(droppedDesc, n, reason)
	}
	for reason, n := range s.Refused {
		ch <- counter(refusedDesc, n, reason)
	}
	ch <- counter(mismatchedDesc, s.Mismatched)
	ch <- counter(validatedDesc, s.Validated)
	ch <- gauge(connectionsDesc, s.Connections)
	ch <- histogram(latencyDesc, HistogramOf(s.Latency))
}

func (c *hopCollector) collectTags(ch chan<- prometheus.Metric, tags []broker.TagStats, freed broker.TagStats) {
	sums := map[string]broker.TagStats{}
	if freed != (broker.TagStats{}) {
		sums["other"] = freed
	}
	for _, t := range tags {
		label := c.tags.label(t.Name, "other")
		sum := sums[label]
		sum.In.Add(t.In)
		sum.Out.Add(t.Out)
		sums[label] = sum
	}
	for tag, sum := range sums {
		ch <- counter(messagesDesc, sum.In.Messages, tag, "in")
		ch <- counter(messagesDesc, sum.Out.Messages, tag, "out")
		ch <- counter(bytesDesc, sum.In.Bytes, tag, "in")
		ch <- counter(bytesDesc, sum.Out.Bytes, tag, "out")
	}
}

func (c *hopCollector) collectSubscriptions(ch chan<- prometheus.Metric, subs []broker.SubscriptionStats) {
	sums := map[subscription]broker.SubscriptionStats{}
	for _, sub := range subs {
		label := c.subscriptions.label(subscription{strings.ToValidUTF8(sub.Client, "?"), sub.Filter}, subscription{"other", "other"})
		sum, more := sums[label]
		sum.QueuedBytes += sub.QueuedBytes
		sum.QueuedMessages += sub.QueuedMessages
		sum.Withheld += sub.Withheld
		if !more || sub.Credit < sum.Credit {
			sum.Credit = sub.Credit
		}
		sum.Out.Add(sub.Out)
		sums[label] = sum
	}
	for l, sum := range sums {
		ch <- gauge(queueBytesDesc, sum.QueuedBytes, l.client, l.filter)
		ch <- gauge(queueDesc, sum.QueuedMessages, l.client, l.filter)
		ch <- gauge(creditDesc, sum.Credit, l.client, l.filter)
		ch <- gauge(withheldDesc, sum.Withheld, l.client, l.filter)
		ch <- counter(deliveredDesc, sum.Out.Messages, l.client, l.filter)
	}
}

func counter(d *prometheus.Desc, n uint64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), validLabels(labels)...)
}

func gauge(d *prometheus.Desc, n int, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n), validLabels(labels)...)
}

// validLabels replaces invalid UTF-8 in label values, which Prometheus refuses.
func validLabels(labels []string) []string {
	for i, l := range labels {
		labels[i] = strings.ToValidUTF8(l, "?")
	}
	return labels
}
