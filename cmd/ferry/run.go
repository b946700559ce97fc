package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"text/template"

	"example.com/ferry/cpu"
	"example.com/ferry/node"
	"example.com/ferry/node/config"
)

type runCmd struct {
	Config string `short:"c" placeholder:"FILE" help:"The configuration, YAML. Without it everything is embedded, and this machine's sensors are live input."`
}

// Help is what ferry run --help says on top of the model.
func (*runCmd) Help() string {
	return `Ctrl-C, or SIGTERM, lets the node finish what is on its way; a second one ends it at once.

Examples:

    ferry run
    ferry run -c node.yaml`
}

// Run runs a node until a signal comes.
func (c *runCmd) Run(e *env) error {
	cfg := config.Default()
	if c.Config != "" {
		var err error
		if cfg, err = config.Load(c.Config, functionNames(e.formats)...); err != nil {
			return configError(e, err)
		}
	}
	if cfg.Heavy() {
		tuned := cpu.TuneProcess(cpu.Tuning{Tokens: cfg.CPU.Tokens, KeepKernelSlices: !cfg.CPU.KernelSlices})
		if tuned.Err != nil {
			e.note("heavy functions run without short time slices: %v", tuned.Err)
		}
	}
	command, err := workerCommand()
	if err != nil {
		return err
	}
	n, err := node.Build(cfg, node.Sets{Formats: e.formats, Functions: functions(e.formats), Worker: command})
	if err != nil {
		return err
	}
	ctx, drain := context.WithCancel(context.Background())
	defer drain()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	defer signal.Stop(signals)
	go func() {
		<-signals
		e.note("finishing what is on its way; Ctrl-C again ends at once")
		drain()
		<-signals
		os.Exit(statusKilled)
	}()
	ran := make(chan error, 1)
	go func() { ran <- n.Run(ctx) }()
	select {
	case err := <-ran:
		return err
	case <-n.Ready():
	}
	if err := welcome(e, cfg, n); err != nil && !errors.As(err, new(quietError)) {
		drain()
		return errors.Join(err, <-ran)
	}
	return <-ran
}

// configError reports a configuration that cannot be used: each error on a line of its own, as editors read them.
func configError(e *env, err error) error {
	var errs config.Errors
	if errors.As(err, &errs) {
		fmt.Fprintln(e.stderr, errs)
		return quietError(statusUsage)
	}
	return usageError{err}
}

var welcomeText = template.Must(template.New("").Parse(`ferry is running at {{.Addresses}}
{{- with .Admin}}
dashboard: {{.}}{{end}}

Three things to try, in another terminal and this directory:
{{if .Live}}
what this machine's sensors say:
  {{.Ferry}} sub{{.Flags}} 'sensors/#'
one field of one message, found without decoding it:
  {{.Ferry}} sub{{.Flags}} --count 1 -o raw 'sensors/+/cpu' | {{.Ferry}} get -q readings.0.value
an alert, which the dashboard shows:
  echo '{"deviceName":"demo","sourceName":"cpu","readings":[{"resourceName":"cpu","value":"97"}]}' | {{.Ferry}} pub{{.Flags}} averages/demo/cpu
{{else}}
what clients publish:
  {{.Ferry}} sub{{.Flags}} '#'
only what is worth a look, chosen at the node:
  {{.Ferry}} sub{{.Flags}} --where 'readings.0.value > 30' 'sensors/#'
something for both of them:
  echo '{"deviceName":"demo","readings":[{"value":"31"}]}' | {{.Ferry}} pub{{.Flags}} sensors/demo
{{end}}
`))

// welcome says where the node is, and what to do with it: each line works when pasted.
func welcome(e *env, cfg *config.Config, n *node.Node) error {
	var text strings.Builder
	addresses := n.Addresses()
	err := welcomeText.Execute(&text, struct {
		Addresses, Admin, Ferry, Flags string
		Live                           bool
	}{
		strings.Join(addresses, " and "), n.Admin(), invocation(os.Args[0]), clientFlags(addresses, cfg.DataDir),
		cfg.Live.Sensors && cfg.Live.Functions,
	})
	if err != nil {
		return err
	}
	return e.print([]byte(text.String()))
}

// invocation is how the user called this program. The binary that go run makes goes with it.
func invocation(arg0 string) string {
	switch {
	case strings.Contains(arg0, "go-build"):
		return "go run ./cmd/ferry"
	case strings.Contains(arg0, string(filepath.Separator)):
		return shellWord(arg0)
	}
	return "ferry"
}

// clientFlags are the flags, if any, that a client in this directory needs to find the node.
func clientFlags(addresses []string, dataDir string) string {
	var flags string
	if !slices.Contains(addresses, "quic://127.0.0.1:4190") {
		flags += " -a " + strings.NewReplacer("0.0.0.0", "127.0.0.1", "[::]", "127.0.0.1").Replace(addresses[0])
	}
	if filepath.Clean(dataDir) != "ferry-data" {
		flags += " --data-dir " + shellWord(dataDir)
	}
	return flags
}

// shellWord quotes s if a shell would take it apart.
func shellWord(s string) string {
	if !strings.ContainsAny(s, " \t\n'\"\\$`&|;<>()*?[]#~!{}") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
