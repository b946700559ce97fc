package cli

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"example.com/ferry/internal/pki"
	"example.com/ferry/node"
	"example.com/ferry/node/config"
)

// welcome prints the addresses of the node and commands to try. Each command works when pasted.
func welcome(e *env, cfg *config.Config, n *node.Node) error {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	streams, forwards := n.Addresses(), []forward(nil)
	if cfg.Proxy != nil {
		at := len(streams) - len(cfg.Proxy.Listeners)
		forwards = forwarding(cfg.Proxy, streams[at:])
		streams = streams[:at]
	}
	if len(streams) > 0 {
		say("ferry is running at %s", strings.Join(streams, " and "))
		if n.Engine() != "" {
			say("streams: %s", n.Engine())
		}
	}
	for _, f := range forwards {
		if f.To == "" {
			say("ferry forwards %s to no server: its routes respond themselves", f.From)
		} else {
			say("ferry forwards %s to %s", f.From, f.To)
		}
	}
	if n.Admin() != "" {
		say("dashboard: %s", n.Admin())
	}
	if len(streams) > 0 {
		welcomeStreams(say, cfg, n, streams)
		return e.print([]byte(b.String()))
	}
	if request := sampleRequest(cfg.Proxy, forwards); request != "" {
		say("\na request, from another terminal:\n  %s", request)
	}
	if n.Admin() != "" {
		say("\nthe requests and their latency:\n  curl -s %smetrics | grep -E '^ferry_(proxy|upstream)'", n.Admin())
	}
	say("")
	return e.print([]byte(b.String()))
}

// welcomeStreams says what to try with streams.
func welcomeStreams(say func(format string, args ...any), cfg *config.Config, n *node.Node, streams []string) {
	native, web, mqtt := nativeAddresses(cfg, streams)
	stored := ""
	if len(cfg.Streams) > 0 && n.Admin() != "" {
		stored = cfg.Streams[0].Tags[0]
	}
	tag := shellWord(sampleTag(stored))
	if mqtt != "" || web != "" {
		say("\nTwo things to try, in another terminal:\n\nthe messages of all tags, as they come:")
		if stored == "" {
			tag = "sensors/demo"
		}
	} else {
		say("\nThree things to try, in another terminal and this directory:\n")
	}
	ferry, flags := invocation(os.Args[0]), clientFlags(native, cfg.DataDir)
	switch {
	case mqtt != "":
		say("  mosquitto_sub %s -v -t '#'", mqtt)
		say("publish one:\n  mosquitto_pub %s -t %s -m '{\"value\":31}'", mqtt, tag)
		return
	case web != "":
		say("  curl -N %s/v1/tags/%%23", web)
		say("publish one:\n  curl -d '{\"value\":31}' %s/v1/tags/%s", web, tag)
		return
	case cfg.Live.Sensors && cfg.Live.Functions:
		say("the messages of this machine's sensors:\n  %s sub%s 'sensors/#'", ferry, flags)
		say("one field of one message, found without decoding it:")
		say("  %[1]s sub%[2]s --count 1 -o raw 'sensors/+/cpu' | %[1]s get -q readings.0.value", ferry, flags)
		say("publish a high average, and the dashboard shows an alert:")
		say(`  echo '{"deviceName":"demo","sourceName":"cpu","readings":[{"resourceName":"cpu","value":"97"}]}' | %s pub%s averages/demo/cpu`, ferry, flags)
	case stored != "":
		say("publish a message, and wait until it is stored:\n  echo '{\"value\":31}' | %s pub%s --ack %s", ferry, flags, tag)
		say("all that is stored, and then what comes:\n  %s sub%s --from first %s", ferry, flags, shellWord(stored))
		say("the streams and who reads them:\n  %s stream ls%s", ferry, adminClientFlags(n.Admin(), cfg.DataDir))
	default:
		say("what clients publish:\n  %s sub%s '#'", ferry, flags)
		say("only messages with a value above 30, filtered at the node:\n  %s sub%s --where 'readings.0.value > 30' 'sensors/#'", ferry, flags)
		say("publish a message that both print:")
		say(`  echo '{"deviceName":"demo","readings":[{"value":"31"}]}' | %s pub%s sensors/demo`, ferry, flags)
	}
	say("")
}

// nativeAddresses returns the addresses that ferry's own clients connect to. If there are none, web is the address of an http listener,
// or mqtt are the flags for that of an mqtt listener.
func nativeAddresses(cfg *config.Config, addresses []string) (native []string, web, mqtt string) {
	for i, address := range addresses {
		scheme, rest, _ := strings.Cut(nearby.Replace(address), "://")
		switch {
		case !cfg.Listeners[i].Edge():
			native = append(native, address)
		case strings.HasPrefix(scheme, "http") && web == "":
			web = nearby.Replace(address)
		case cfg.Listeners[i].MQTT() && !cfg.Listeners[i].WebSocket() && mqtt == "":
			if host, port, err := net.SplitHostPort(rest); err == nil {
				mqtt = "-h " + host + " -p " + port + mosquittoFlags(cfg, cfg.Listeners[i])
			}
		}
	}
	switch {
	case len(native) > 0:
		web, mqtt = "", ""
	case web != "":
		mqtt = ""
	}
	return native, web, mqtt
}

// mosquittoFlags returns the flags with which mosquitto's clients trust a listener and log in to it, with the token of the data directory.
func mosquittoFlags(cfg *config.Config, l config.Listener) (flags string) {
	if l.Scheme() == "mqtts" && l.CertFile == "" {
		flags = " --cafile " + shellWord(filepath.Join(cfg.DataDir, pki.CAFile))
	} else if l.Scheme() == "mqtts" {
		flags = " --tls-use-os-certs"
	}
	if l.Anonymous == "" {
		flags += ` -u local -P "$(cat ` + shellWord(filepath.Join(cfg.DataDir, pki.TokenFile)) + `)"`
	}
	return flags
}

// invocation returns how the user called this program. For the temporary binary of go run it is the go run command.
func invocation(arg0 string) string {
	switch {
	case strings.Contains(arg0, "go-build"):
		return "go run ./cmd/ferry"
	case strings.Contains(arg0, string(filepath.Separator)):
		return shellWord(arg0)
	}
	return "ferry"
}

// nearby replaces unspecified hosts in a bound address, for clients on this machine.
var nearby = strings.NewReplacer("0.0.0.0", "127.0.0.1", "[::]", "127.0.0.1")

// clientFlags returns the flags that a client in this directory needs to find the node.
func clientFlags(addresses []string, dataDir string) string {
	var flags string
	if len(addresses) > 0 && !slices.Contains(addresses, "quic://127.0.0.1:4190") {
		flags += " -a " + nearby.Replace(addresses[0])
	}
	if filepath.Clean(dataDir) != "ferry-data" {
		flags += " --data-dir " + shellWord(dataDir)
	}
	return flags
}

// sampleTag returns a tag that a filter matches.
func sampleTag(filter string) string {
	return strings.NewReplacer("+", "1", "#", "1").Replace(filter)
}

// adminClientFlags returns the flags that verbs in this directory need to find the admin server.
func adminClientFlags(url, dataDir string) string {
	var flags string
	if url = nearby.Replace(strings.TrimSuffix(url, "/")); url != "http://127.0.0.1:4195" {
		flags += " -a " + url
	}
	if filepath.Clean(dataDir) != "ferry-data" {
		flags += " --data-dir " + shellWord(dataDir)
	}
	return flags
}

// shellWord quotes s if a shell would split or expand it.
func shellWord(s string) string {
	if !strings.ContainsAny(s, " \t\n'\"\\$`&|;<>()*?[]#~!{}") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
