package config

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"example.com/ferry/internal/naming"
)

func TestStreams(t *testing.T) {
	_, err := parse(`
streams:
  - tags: orders/#
    delivery: at-least-once
    dead_letter: dead/orders
  - {tags: [dead/#], delivery: at-least-once, retention: {age: 720h}}
  - {name: last, tags: [a, b/+/c], storage: memory, retention: {per_tag: 1}}
  - {tags: '#'}
engine: {sync: interval}
`)
	if err == nil || !strings.Contains(err.Error(), "streams[3].tags[0]: \"#\" and \"orders/#\" of streams[0].tags[0] match the same tags") {
		t.Errorf("a stream of all tags beside others: %v", err)
	}
	got, err := parse(`
streams:
  - tags: orders/#
    delivery: at-least-once
    dead_letter: dead/orders
  - {tags: [dead/#], delivery: at-least-once, retention: {age: 720h}, redelivery: {max: 2, backoff: [5s], wait: 1m}, idempotency: {window: 1h}}
  - {name: last, tags: [a, b/+/c], storage: memory, retention: {per_tag: 1}}
engine: {sync: interval}
`)
	if err != nil {
		t.Fatal(err)
	}
	backoff := []time.Duration{time.Second, 5 * time.Second, 30 * time.Second}
	want := []Stream{
		{
			Name: "orders", Tags: Filters{"orders/#"}, Delivery: AtLeastOnce, Replicas: 1, Storage: StorageFile,
			Idempotency: Idempotency{Window: 2 * time.Minute},
			Redelivery:  Redelivery{Max: 5, Backoff: backoff, Wait: 30 * time.Second}, DeadLetter: "dead/orders",
		},
		{
			Name: "dead", Tags: Filters{"dead/#"}, Delivery: AtLeastOnce, Retention: Retention{Age: 720 * time.Hour}, Replicas: 1, Storage: StorageFile,
			Idempotency: Idempotency{Window: time.Hour},
			Redelivery:  Redelivery{Max: 2, Backoff: []time.Duration{5 * time.Second}, Wait: time.Minute},
		},
		{
			Name: "last", Tags: Filters{"a", "b/+/c"}, Delivery: AtMostOnce, Retention: Retention{PerTag: 1, Size: 64 << 20}, Replicas: 1, Storage: StorageMemory,
			Idempotency: Idempotency{Window: 2 * time.Minute},
		},
	}
	if !reflect.DeepEqual(got.Streams, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got.Streams, want)
	}
	if want := (Engine{Address: EmbeddedEngine, Sync: SyncInterval, Interval: time.Second}); got.Engine != want {
		t.Errorf("got %+v, want %+v", got.Engine, want)
	}
}

func TestEngineDefault(t *testing.T) {
	for _, tt := range []struct {
		text string
		want Engine
	}{
		{"{}", Engine{Address: "memory"}},
		{"streams: [{tags: a}]", Engine{Address: "memory"}},
		{"streams: [{tags: a, storage: file, retention: {age: 1h}}]", Engine{Address: "embedded", Sync: SyncAlways}},
		{"streams: [{tags: a, delivery: at-least-once}]", Engine{Address: "embedded", Sync: SyncAlways}},
		{"engine: {address: 'nats://a,b:4000,[::1]:5'}", Engine{Address: "nats://a,b:4000,[::1]:5"}},
	} {
		got, err := parse(tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
		} else if got.Engine != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.text, got.Engine, tt.want)
		}
	}
}

func TestStreamNames(t *testing.T) {
	for filter, want := range map[string]string{
		"orders": "orders", "orders/#": "orders", "plant/+/pump": "plant-pump", "#": "all", "+/+": "all", "/a.b/ü": "a_b-_",
		strings.Repeat("a", 70): strings.Repeat("a", 64),
	} {
		if got := streamName(filter); got != want || !naming.Valid(got) {
			t.Errorf("%s: got %q, want %q", filter, got, want)
		}
	}
}

func TestRefusedStreams(t *testing.T) {
	const durable = "streams:\n  - tags: [orders/#]\n    delivery: at-least-once\n"
	const dead = "  - tags: dead/#\n    delivery: at-least-once\n"
	for _, tt := range []struct{ name, text, want string }{
		{
			"durable on memory", "engine:\n  address: memory\n" + durable,
			"node.yaml:5:15: streams[0].delivery: engine memory cannot promise at-least-once: what it stores ends with the process; write engine: {address: embedded}",
		},
		{"the engine of a stream", "streams:\n  - tags: a\n    engine: memory\n", "node.yaml:3:5: streams[0].engine: unknown field: want one of dead_letter, delivery,"},
		{"unknown engine", "engine: {address: kafka://a}\n", `node.yaml:1:19: engine.address: this program has no engine "kafka://a": want memory, embedded, nats://HOST:PORT or tls://HOST:PORT`},
		{"embedded with a scheme", "engine: {address: 'embedded://a'}\n", `this program has no engine "embedded://a"`},
		{"a password", "engine:\n  address: nats://bob:hunter2@a\n", "node.yaml:2:12: engine.address: has a user or a password: name the account's .creds file"},
		{"no server", "engine: {address: 'nats://a,,b'}\n", `engine.address: "nats://a,,b": "" is no server`},
		{"a path", "engine: {address: 'nats://a/b'}\n", `"a/b" is no server: write HOST:PORT`},
		{"a large port", "engine: {address: 'nats://a:70000'}\n", `"a:70000" is no server`},
		{"sync of memory", "engine: {address: memory, sync: always}\n", "node.yaml:1:33: engine.sync: says when engine embedded writes"},
		{"sync of a cluster", "engine: {address: 'nats://a', sync: interval}\n", "engine.sync: says when engine embedded writes"},
		{"unknown sync", "engine: {sync: never}\n", `engine.sync: "never" is not one of always, interval`},
		{"interval of always", "engine: {interval: 2s}\n", "engine.interval: is the time between two writes of sync: interval"},
		{"negative interval", "engine: {sync: interval, interval: -2s}\n", "engine.interval: is negative"},
		{"credentials of embedded", "engine: {address: embedded, credentials_file: a}\n", "engine.credentials_file: is for servers elsewhere"},
		{"no credentials", "engine: {address: 'nats://a', credentials_file: absent}\n", "engine.credentials_file: stat absent: no such file"},
		{"CA without TLS", "engine: {address: 'nats://a', ca_file: a}\n", "engine.ca_file: verifies servers with TLS"},
		{"no CA", "engine: {address: 'tls://a', ca_file: load.go}\n", "engine.ca_file: "},
		{"no tags", "streams: [{name: a}]\n", "streams[0]: missing field tags"},
		{"an empty list of tags", "streams: [{name: a, tags: []}]\n", "streams[0].tags: none: name the tags"},
		{"a number as tag", "streams: [{tags: 1}]\n", "streams[0].tags: number where string or array is expected"},
		{"bad filter", "streams:\n  - tags: [b, 'a/#/b']\n", `node.yaml:2:15: streams[0].tags[1]: filter "a/#/b" goes on behind #`},
		{"overlap in one stream", "streams: [{tags: [a/+, a/b]}]\n", `streams[0].tags[1]: "a/b" and "a/+" of streams[0].tags[0] match the same tags`},
		{"a name twice", "streams:\n  - {name: x, tags: a}\n  - {name: x, tags: b}\n", `node.yaml:3:12: streams[1].name: "x" is the name of streams[0] already`},
		{"a made name twice", "streams: [{tags: a/#}, {tags: +/a}]\n", `match the same tags`},
		{"bad name", "streams: [{name: a.b, tags: a}]\n", `streams[0].name: "a.b" is no name`},
		{"unknown delivery", "streams: [{tags: a, delivery: exactly-once}]\n", "is not one of at-most-once, at-least-once"},
		{"nothing to keep", "streams: [{tags: a, storage: file}]\n", "streams[0].retention: none: a stream that is delivered at most once is stored to be read again"},
		{"files in memory", "engine: {address: memory}\nstreams: [{tags: a, storage: file, retention: {age: 1h}}]\n", "streams[0].storage: engine memory has no files"},
		{"durable in memory", "streams: [{tags: a, storage: memory, delivery: at-least-once}]\n", "streams[0].storage: one copy in memory cannot promise at-least-once"},
		{"replicas of embedded", durable + "    replicas: 3\n", "node.yaml:4:15: streams[0].replicas: engine embedded has one copy, on this machine"},
		{"too many replicas", "engine: {address: 'nats://a'}\n" + durable + "    replicas: 7\n", "streams[0].replicas: 7 copies: JetStream has at most 5"},
		{"bad duration", durable + "    retention: {age: 7 days}\n", `streams[0].retention.age: "7 days" is not a duration`},
		{"negative age", durable + "    retention: {age: -7h}\n", `streams[0].retention.age: -7h0m0s is too short: at least 0s`},
		{"bad backoff", durable + "    redelivery: {backoff: [1s, 0s]}\n", "streams[0].redelivery.backoff[1]: 0s is too short"},
		{"bad key", durable + "    key: a..b\n", "streams[0].key: "},
		{"bad idempotency key", durable + "    idempotency: {key: 'a..b'}\n", "streams[0].idempotency.key: "},
		{"unknown scope", durable + "    idempotency: {scope: node}\n", "is not one of tag, stream"},
		{"redelivery of at-most-once", "streams: [{tags: a, redelivery: {max: 3}}]\n", "streams[0].redelivery: needs delivery: at-least-once"},
		{"dead letter of at-most-once", "streams: [{tags: a, dead_letter: b}]\n", "streams[0].dead_letter: needs delivery: at-least-once"},
		{"dead letter without a stream", durable + "    dead_letter: dead/a\n", `node.yaml:4:18: streams[0].dead_letter: no stream stores "dead/a": add one, such as {tags: dead/a, delivery: at-least-once}`},
		{"dead letter with a wildcard", durable + "    dead_letter: dead/#\n", "streams[0].dead_letter: tag \"dead/#\" holds the wildcard"},
		{"dead letter to itself", durable + "    dead_letter: orders/dead\n", `"orders/dead" is a tag of this stream`},
		{"dead letter that may be lost", durable + "    dead_letter: dead/a\n  - {tags: dead/#, retention: {age: 1h}}\n", `"dead/a" is a tag of streams[1], which may lose it`},
		{"dead letters in a circle", durable + "    dead_letter: dead/a\n" + dead + "    dead_letter: orders/a\n", "dead letters would come back to this stream"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg, err := parse(tt.text)
			if err == nil {
				t.Fatalf("accepted as %+v %+v", cfg.Engine, cfg.Streams)
			}
			if !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("got  %s\nwant %s", err, tt.want)
			}
		})
	}
}

// TestStreamsNeedListeners: a node without listeners for streams has no engine.
func TestStreamsNeedListeners(t *testing.T) {
	for _, text := range []string{"engine: {address: embedded}\n", "streams: [{tags: a}]\n"} {
		if _, err := parse(text + proxyYAML); err == nil || !strings.Contains(err.Error(), "for streams, of which this node has none") {
			t.Errorf("%s: got %v", text, err)
		}
	}
}
