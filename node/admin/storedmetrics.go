package admin

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

var (
	streamRecordsDesc   = desc("ferry_stream_records", "Records that a stream holds.", "stream")
	streamBytesDesc     = desc("ferry_stream_bytes", "Bytes that a stream holds, as its engine counts them.", "stream")
	streamLastDesc      = desc("ferry_stream_last_sequence", "Sequence number of the newest record.", "stream")
	streamPendingDesc   = desc("ferry_stream_pending_bytes", "Bytes of payloads that wait to be stored.", "stream")
	streamFailingDesc   = desc("ferry_stream_store_failing", "1 while the engine cannot store records, for example because the disk is full.", "stream")
	streamAppendedDesc  = desc("ferry_stream_appended_total", "Records that were stored.", "stream")
	streamDroppedDesc   = desc("ferry_stream_dropped_total", "Messages of at-most-once streams that were not stored, because too many waited.", "stream")
	streamDuplicateDesc = desc("ferry_stream_duplicates_total", "Messages that were not stored again, because one with their ID is stored.", "stream")
	streamReplicasDesc  = desc("ferry_stream_replicas", "Copies of a stream that have all its records (current) or lack some (behind).", "stream", "state")

	durableLagDesc         = desc("ferry_durable_lag", "Records of a durable's stream that are not done.", "stream", "durable")
	durableHeldDesc        = desc("ferry_durable_held_messages", "Messages that members of a durable have and have not acknowledged.", "stream", "durable")
	durableHeldBytesDesc   = desc("ferry_durable_held_bytes", "Bytes of the messages that members of a durable have and have not acknowledged.", "stream", "durable")
	durableWaitingDesc     = desc("ferry_durable_waiting_messages", "Messages that wait for their next delivery.", "stream", "durable")
	durableMembersDesc     = desc("ferry_durable_members", "Clients of this node that are members of a durable.", "stream", "durable")
	durableDeliveredDesc   = desc("ferry_durable_delivered_total", "Deliveries to members of a durable, with the repeated ones.", "stream", "durable")
	durableRedeliveredDesc = desc("ferry_durable_redelivered_total", "Deliveries of messages that were delivered before.", "stream", "durable")
	durableDeadDesc        = desc("ferry_durable_dead_letters_total", "Messages that became dead letters, or were dropped where none are kept.", "stream", "durable")
	streamsUnreadDesc      = desc("ferry_stream_state_errors_total", "Scrapes that lack the metrics of streams, because the engine did not respond.")
)

// scrapeTimeout bounds how long the engine may take for its part of a scrape, which has 10 s in all.
const scrapeTimeout = 4 * time.Second

// storedCollector collects the metrics of the stored streams.
type storedCollector struct {
	streams Streams
	log     *slog.Logger

	mu       sync.Mutex
	durables series[durable] // clients choose their names
	unread   uint64
}

type durable struct{ stream, name string }

// Describe sends no descriptions: which metrics there are depends on the streams.
func (c *storedCollector) Describe(chan<- *prometheus.Desc) {}

// Collect sends the metrics of all streams. Durables beyond maxSeries are one, "other".
func (c *storedCollector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	state, err := c.streams.State(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.unread++
		c.log.Warn("metrics lack the stored streams", "err", err)
	}
	ch <- counter(streamsUnreadDesc, c.unread)
	sums := map[durable]DurableState{}
	members := map[durable]int{}
	for _, s := range state.Streams {
		collectStream(ch, s)
		for _, d := range s.Durables {
			label := c.durables.label(durable{s.Name, d.Name}, durable{"other", "other"})
			sums[label] = sums[label].plus(d)
			members[label] += len(d.Members)
		}
	}
	for l, d := range sums {
		ch <- gauge(durableLagDesc, int(d.Lag), l.stream, l.name)
		ch <- gauge(durableHeldDesc, d.Held, l.stream, l.name)
		ch <- gauge(durableHeldBytesDesc, d.HeldBytes, l.stream, l.name)
		ch <- gauge(durableWaitingDesc, d.Waiting, l.stream, l.name)
		ch <- gauge(durableMembersDesc, members[l], l.stream, l.name)
		ch <- counter(durableDeliveredDesc, d.Delivered, l.stream, l.name)
		ch <- counter(durableRedeliveredDesc, d.Redelivered, l.stream, l.name)
		ch <- counter(durableDeadDesc, d.DeadLetters, l.stream, l.name)
	}
}

func collectStream(ch chan<- prometheus.Metric, s StoredState) {
	current := 0
	for _, r := range s.Replicas {
		current += boolToInt(r.Current)
	}
	ch <- gauge(streamRecordsDesc, int(s.Records), s.Name)
	ch <- gauge(streamBytesDesc, int(s.Bytes), s.Name)
	ch <- gauge(streamLastDesc, int(s.Last), s.Name)
	ch <- gauge(streamPendingDesc, s.Pending, s.Name)
	ch <- gauge(streamFailingDesc, boolToInt(s.Error != ""), s.Name)
	ch <- counter(streamAppendedDesc, s.Appended, s.Name)
	ch <- counter(streamDroppedDesc, s.Dropped, s.Name)
	ch <- counter(streamDuplicateDesc, s.Duplicates, s.Name)
	ch <- gauge(streamReplicasDesc, current, s.Name, "current")
	ch <- gauge(streamReplicasDesc, len(s.Replicas)-current, s.Name, "behind")
}

// plus adds the figures of b to those of d.
func (d DurableState) plus(b DurableState) DurableState {
	d.Lag += b.Lag
	d.Held += b.Held
	d.HeldBytes += b.HeldBytes
	d.Waiting += b.Waiting
	d.Delivered += b.Delivered
	d.Redelivered += b.Redelivered
	d.DeadLetters += b.DeadLetters
	return d
}
