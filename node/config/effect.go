package config

import "strings"

// Effect is what a reload does with a change.
type Effect string

// The values of Effect.
const (
	Applies      Effect = "applies"       // the running node goes on with the new value
	Restarts     Effect = "restarts"      // what the entry describes is stopped and started again
	NeedsRestart Effect = "needs restart" // the reload is refused as a whole
)

// Rule says what a reload does with changes of a field and of all fields below it.
type Rule struct {
	Field  string // limits.queue; listeners[].http for the entries of a list
	Effect Effect
	Note   string // for which connections, and what else happens
	Gone   string // what becomes of an entry that is removed
}

// rules has each field of the configuration, by the longest Field that is a prefix of its name. Reloads and ferry diff follow it.
var rules = []Rule{
	{"include", Applies, "the included files are a part of the configuration", ""},

	{"listeners[]", Applies, "", "its clients have drain.timeout to leave"},
	{"listeners[].validate", Applies, "for later messages", ""},
	{"listeners[].cert_file", Applies, "for new handshakes", ""},
	{"listeners[].key_file", Applies, "for new handshakes", ""},
	{"listeners[].min_version", Applies, "for new handshakes", ""},
	{"listeners[].client_ca_file", Applies, "for new handshakes; connections that a certificate has identified are closed", ""},
	{"listeners[].anonymous", Applies, "clients that have another anonymous identity are disconnected", ""},
	{"listeners[].http", Applies, "for later requests", ""},
	{"listeners[].receive_window", NeedsRestart, "", ""},

	{"proxy", Applies, "requests in flight end by the configuration before", "requests in flight have drain.timeout to end"},
	{"proxy.loops", NeedsRestart, "", ""},
	{"proxy.reuse_port", NeedsRestart, "", ""},
	{"proxy.goroutines", NeedsRestart, "", ""},
	{"proxy.listeners[]", Applies, "", "its connections are closed after their responses"},
	{"proxy.listeners[].protocol", NeedsRestart, "at the same address", ""},
	{"proxy.clusters[]", Applies, "endpoints that stay keep their connections only if nothing of the cluster changes", ""},
	{"proxy.access_log", Applies, "", ""},

	{"admin", Applies, "another token ends requests that are in progress", ""},
	{"data_dir", NeedsRestart, "", ""},
	{"names", Applies, "the node makes another certificate, for new handshakes", ""},
	{"identities[]", Applies, "clients with another credential are disconnected; lost grants end, others stay", "its clients are disconnected"},

	{"limits.max_frame", NeedsRestart, "", ""},
	{"limits.call_stream_window", NeedsRestart, "", ""},
	{"limits.max_connections", Applies, "for new connections", ""},
	{"limits.max_tags", Applies, "for new tags", ""},
	{"limits.window", Applies, "for new connections", ""},
	{"limits.queue", Applies, "for new connections", ""},
	{"limits.max_subscriptions", Applies, "for new connections", ""},
	{"limits.max_calls", Applies, "for new connections", ""},
	{"limits.call_window", Applies, "for new connections", ""},
	{"limits.call_queue", Applies, "for new connections", ""},
	{"limits.wasm_memory", Applies, "for functions that are started or deployed", ""},
	{"limits.wasm_timeout", Applies, "for functions that are started or deployed", ""},
	{"limits.handshake_timeout", Applies, "for new connections; TLS and HTTP listeners that are bound keep theirs", ""},
	{"limits.heartbeat", Applies, "for new connections", ""},
	{"limits.write_timeout", Applies, "for new connections; HTTP listeners that are bound keep theirs", ""},

	{"drain", Applies, "", ""},
	{"mqtt", NeedsRestart, "", ""},
	{"mqtt.password_file", Applies, "clients with another password are disconnected", ""},
	{"mqtt.acl_file", Applies, "lost grants end, others stay", ""},
	{"mqtt.identity_share", Applies, "for new sessions and retained messages", ""},
	{"engine", NeedsRestart, "", ""},
	{"streams[]", Applies, "", "its messages stay in the engine"},
	{"streams[].tags", NeedsRestart, "", ""},
	{"streams[].delivery", NeedsRestart, "", ""},
	{"streams[].retention", Applies, "messages beyond the new bounds are removed at once", ""},
	{"streams[].replicas", NeedsRestart, "", ""},
	{"streams[].storage", NeedsRestart, "", ""},
	{"streams[].key", NeedsRestart, "", ""},
	{"streams[].idempotency.window", NeedsRestart, "", ""},
	{"streams[].idempotency.scope", NeedsRestart, "", ""},
	{"forward[]", Applies, "the link dials again", "its messages stay in its spool"},
	{"forward[].tags", Applies, "", ""},
	{"forward[].spool", NeedsRestart, "", ""},
	{"bridges[]", Applies, "the bridge connects again", "its messages stay in its spool"},
	{"bridges[].spool", NeedsRestart, "", ""},

	{"serve[]", Restarts, "calls in progress end with the server as it was", "its calls in progress have drain.timeout to end"},

	{"live", Applies, "", ""},
	{"functions[]", Restarts, "other functions stay", ""},
	{"deploy", Applies, "for later deployments", ""},
	{"cpu", NeedsRestart, "", ""},
	{"log", Applies, "", ""},
}

// mayRestart reports whether a change of a field, or of one below it, may need a restart. field is without indices: listeners[].address.
func mayRestart(field string) bool {
	if RuleOf(field).Effect == NeedsRestart {
		return true
	}
	for _, r := range rules {
		if rest, below := strings.CutPrefix(r.Field, field); below && r.Effect == NeedsRestart && rest != "" && (rest[0] == '.' || rest[0] == '[') {
			return true
		}
	}
	return false
}

// Rules returns what a reload does with each field. A field is subject to the Rule with the longest Field that is a prefix of its name.
func Rules() []Rule { return rules }

// RuleOf returns the rule of a field, such as listeners[].address.
func RuleOf(field string) (best Rule) {
	for _, r := range rules {
		rest, ok := strings.CutPrefix(field, r.Field)
		if ok && len(r.Field) > len(best.Field) && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			best = r
		}
	}
	return best
}
