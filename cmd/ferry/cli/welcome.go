package cli

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"example.com/ferry/internal/pki"
	"example.com/ferry/node"
	"example.com/ferry/node/config"
)

var welcomeText = template.Must(template.New("").Parse(`
{{- define "proxy"}}{{range .Forwards}}ferry forwards {{.From}}
{{- with .To}} to {{.}}{{else}} to no server: its routes respond themselves{{end}}
{{end}}{{end -}}

{{if not .Streams}}{{template "proxy" .}}
{{- with .Admin}}dashboard: {{.}}
{{end}}
{{- with .Request}}
a request, from another terminal:
  {{.}}
{{end}}
{{- with .Admin}}
the requests and their latency:
  curl -s {{.}}metrics | grep -E '^ferry_(proxy|upstream)'
{{end}}
{{else -}}
ferry is running at {{.Addresses}}
{{with .Engine}}streams: {{.}}
{{end -}}
{{template "proxy" .}}
{{- with .Admin}}dashboard: {{.}}
{{end}}
{{if .MQTT -}}
Two things to try, in another terminal:

the messages of all tags, as they come:
  mosquitto_sub {{.MQTT}} -v -t '#'
publish one:
  mosquitto_pub {{.MQTT}} -t {{with .SampleTag}}{{.}}{{else}}sensors/demo{{end}} -m '{"value":31}'
{{else if .HTTP -}}
Two things to try, in another terminal:

the messages of all tags, as they come:
  curl -N {{.HTTP}}/v1/tags/%23
publish one:
  curl -d '{"value":31}' {{.HTTP}}/v1/tags/{{with .SampleTag}}{{.}}{{else}}sensors/demo{{end}}
{{else -}}
Three things to try, in another terminal and this directory:
{{if .Live}}
the messages of this machine's sensors:
  {{.Ferry}} sub{{.Flags}} 'sensors/#'
one field of one message, found without decoding it:
  {{.Ferry}} sub{{.Flags}} --count 1 -o raw 'sensors/+/cpu' | {{.Ferry}} get -q readings.0.value
publish a high average, and the dashboard shows an alert:
  echo '{"deviceName":"demo","sourceName":"cpu","readings":[{"resourceName":"cpu","value":"97"}]}' | {{.Ferry}} pub{{.Flags}} averages/demo/cpu
{{else if .Stored}}
publish a message, and wait until it is stored:
  echo '{"value":31}' | {{.Ferry}} pub{{.Flags}} --ack {{.SampleTag}}
all that is stored, and then what comes:
  {{.Ferry}} sub{{.Flags}} --from first {{.Stored}}
the streams and who reads them:
  {{.Ferry}} stream ls{{.AdminFlags}}
{{else}}
what clients publish:
  {{.Ferry}} sub{{.Flags}} '#'
only messages with a value above 30, filtered at the node:
  {{.Ferry}} sub{{.Flags}} --where 'readings.0.value > 30' 'sensors/#'
publish a message that both print:
  echo '{"deviceName":"demo","readings":[{"value":"31"}]}' | {{.Ferry}} pub{{.Flags}} sensors/demo
{{end}}
{{end}}
{{- end}}`))

// welcome prints the addresses of the node and commands to try. Each command works when pasted.
func welcome(e *env, cfg *config.Config, n *node.Node) error {
	var text strings.Builder
	streams, forwards := n.Addresses(), []forward(nil)
	if cfg.Proxy != nil {
		at := len(streams) - len(cfg.Proxy.Listeners)
		forwards = forwarding(cfg.Proxy, streams[at:])
		streams = streams[:at]
	}
	native, web, mqtt := nativeAddresses(cfg, streams)
	stored := ""
	if len(cfg.Streams) > 0 && n.Admin() != "" {
		stored = cfg.Streams[0].Tags[0]
	}
	err := welcomeText.Execute(&text, struct {
		Streams                                 []string
		HTTP, MQTT                              string
		Forwards                                []forward
		Addresses, Admin, Request, Ferry, Flags string
		Live                                    bool
		Engine, Stored, SampleTag, AdminFlags   string
	}{
		streams, web, mqtt, forwards,
		strings.Join(streams, " and "), n.Admin(), sampleRequest(cfg.Proxy, forwards), invocation(os.Args[0]), clientFlags(native, cfg.DataDir),
		cfg.Live.Sensors && cfg.Live.Functions,
		n.Engine(), shellWord(stored), shellWord(sampleTag(stored)), adminClientFlags(n.Admin(), cfg.DataDir),
	})
	if err != nil {
		return err
	}
	return e.print([]byte(text.String()))
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
