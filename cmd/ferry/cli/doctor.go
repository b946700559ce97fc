package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"example.com/ferry/internal/doctor"
	"example.com/ferry/node/config"
)

type doctorCmd struct {
	Argument string `arg:"" optional:"" name:"admin" help:"The admin server of a running node. The default is that of the configuration, if a node responds there."`
	Admin    string `short:"a" placeholder:"URL" help:"The same as the argument."`
	Config   string `short:"c" placeholder:"FILE" help:"The configuration of a node, YAML. Without it, what ferry run does."`
	Dial     bool   `help:"Connect to the servers that the configuration names: upstreams, links, bridges and the engine."`
	All      bool   `help:"Print what is fine, too, and what was not checked."`
	Output   string `short:"o" enum:"text,json" default:"text" placeholder:"FORMAT" help:"text or json."`
	adminFlags
}

// Help returns the part of ferry doctor --help that is not in the grammar.
func (*doctorCmd) Help() string {
	return `It says what is wrong on this machine for running ferry, where, why it matters, and the command
or setting that mends it: kernel, clock, CPU and memory limits, descriptors, network buffers, disk,
permissions, certificates, settings, ports, names, and the node that runs. It changes nothing. Run it
as the user of the node, who may read its files.

A fault keeps the node from starting, from doing what is configured, or from keeping a secret. A
warning shows under load, later, or to an attacker.

Exit status: 0 no fault, 1 a fault was found, 2 wrong command line.

Examples:

    ferry doctor
    ferry doctor -c node.yaml --dial
    sudo -u ferry ferry doctor -c /etc/ferry/node.yaml -o json`
}

// doctorTimeout bounds the requests to a node.
const doctorTimeout = 5 * time.Second

// Run makes the checks and prints what they find.
func (c *doctorCmd) Run(e *env) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	exam := doctor.Config{Node: config.Default(), Dial: c.Dial}
	exam.Node.DataDir = c.DataDir
	var findings []doctor.Finding
	if c.Config != "" {
		source, err := config.Read(c.Config)
		if err != nil {
			return usageError{err}
		}
		cfg, err := source.Config(e.extensions.Program())
		if findings = invalidConfiguration(c.Config, err); err == nil {
			exam.Node, exam.Source = cfg, source
		}
	}
	if err := exam.Node.Check(e.extensions.Program()); err != nil { // sets the defaults of its parts, too
		return err
	}
	running, err := c.running(ctx, exam.Node)
	if err != nil {
		return err
	}
	exam.Running = running
	findings = append(findings, doctor.Examine(ctx, exam)...)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := c.print(e, findings); err != nil {
		return err
	}
	for _, f := range findings {
		if f.Severity == doctor.Fault {
			return quietError(statusFailed)
		}
	}
	return nil
}

// invalidConfiguration returns a fault for each error of a configuration. The other checks look at the defaults then.
func invalidConfiguration(file string, err error) []doctor.Finding {
	if err == nil {
		return nil
	}
	fault := func(what, where string) doctor.Finding {
		return doctor.Finding{
			Severity: doctor.Fault, Check: "configuration", What: what, Where: where,
			Why: "the node does not start with it; the other checks look at a node without a file", Mend: "correct the field; ferry check -c " + file,
		}
	}
	var errs config.Errors
	if !errors.As(err, &errs) {
		return []doctor.Finding{fault(err.Error(), file)}
	}
	var all []doctor.Finding
	for _, each := range errs {
		where := fmt.Sprintf("%s:%d", each.File, each.Line)
		if each.Field != "" {
			where += ": " + each.Field
		}
		all = append(all, fault(each.Reason, where))
	}
	return all
}

// running requests what a node says of itself. It returns nil if there is no address to request.
func (c *doctorCmd) running(ctx context.Context, cfg *config.Config) (*doctor.Running, error) {
	named, err := oneAdmin(c.Argument, c.Admin)
	if err != nil {
		return nil, err
	}
	address, flags := named, c.adminFlags
	if address == "" {
		if cfg.Admin.Address == "" {
			return nil, nil
		}
		address = "http://" + reachable(cfg.Admin.Address)
		if cfg.Admin.CertFile != "" || cfg.Admin.OwnCertificate() {
			address = "https://" + reachable(cfg.Admin.Address)
		}
		if flags.AdminTokenFile == "" {
			flags.AdminTokenFile = cfg.Admin.TokenFile
		}
		if c.Config != "" {
			flags.DataDir = cfg.DataDir
		}
	}
	r := &doctor.Running{Address: address, Named: named != "", Version: buildInfo().Version}
	client, err := flags.client(address)
	if err != nil && named != "" {
		return nil, err
	}
	if err != nil {
		r.Err = err
		return r, nil
	}
	defer client.close()
	ctx, cancel := context.WithTimeout(ctx, doctorTimeout)
	defer cancel()
	client.health(ctx, r)
	return r, nil
}

// reachable returns the address of this machine at which a server responds that listens at an address, which may stand for all.
func reachable(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	if ip := net.ParseIP(host); host == "" || ip.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return address
}

// health asks for readiness and metrics.
func (c *adminClient) health(ctx context.Context, r *doctor.Running) {
	r.Address = c.base.String()
	began := time.Now()
	response, err := c.open(ctx, http.MethodGet, "/ready")
	r.Took = time.Since(began)
	var refused *adminError
	switch {
	case errors.As(err, &refused):
		r.Ready, r.Said, r.Clock = refused.status, refused.text, refused.date
	case err != nil:
		r.Err = err
		return
	default:
		r.Ready, r.Clock = response.StatusCode, dateOf(response)
		text, _ := io.ReadAll(io.LimitReader(response.Body, 4096)) // the status says enough without it
		_ = response.Body.Close()
		r.Said = strings.TrimSpace(string(text))
	}
	body, err := c.do(ctx, http.MethodGet, "/metrics")
	r.Metrics, r.MetricsErr = string(body), err
}

// print prints the findings.
func (c *doctorCmd) print(e *env, findings []doctor.Finding) error {
	if c.Output == "json" {
		text, err := json.Marshal(findings)
		if err != nil {
			return err
		}
		return e.print(append(text, '\n'))
	}
	count := map[doctor.Severity]int{}
	var b strings.Builder
	for _, f := range findings {
		count[f.Severity]++
		bad := f.Severity == doctor.Fault || f.Severity == doctor.Warning
		if !bad && !c.All {
			continue
		}
		fmt.Fprintf(&b, "%-9s %s: %s\n", f.Severity, f.Check, f.What)
		for _, part := range []struct{ name, text string }{{"where", f.Where}, {"why", f.Why}, {"mend", f.Mend}} {
			if part.text != "" {
				fmt.Fprintf(&b, "  %-6s  %s\n", part.name, part.text)
			}
		}
		if bad {
			b.WriteString("\n")
		}
	}
	fmt.Fprintf(&b, "faults: %d, warnings: %d, fine: %d, not checked: %d", count[doctor.Fault], count[doctor.Warning], count[doctor.Fine], count[doctor.Unchecked])
	if !c.All {
		b.WriteString("   (--all prints all of them)")
	}
	b.WriteString("\n")
	return e.print([]byte(b.String()))
}
