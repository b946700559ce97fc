package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"example.com/ferry/node/config"
	"example.com/ferry/node/deploy"
	"example.com/ferry/rpc"
	"example.com/ferry/rpc/call"
	"example.com/ferry/stream"
)

type deployCmd struct {
	nodeFlags
	Observe     []string      `sep:"none" placeholder:"TAG" help:"Tags whose messages it gets; + and # are wildcards. May be given more than once. Needed for a new function; a further version keeps what it has, with all flags below, unless this flag is given."`
	Where       string        `placeholder:"PRED" help:"Only messages for which this predicate holds."`
	Group       string        `placeholder:"NAME" help:"A consumer group: one of its members gets each message."`
	Durable     string        `placeholder:"NAME" help:"Consume a stream under this name: each message until it is handled without an error."`
	From        string        `placeholder:"PLACE" help:"Where a new durable begins: first, new, a sequence number or a time."`
	CPU         string        `name:"cpu" enum:",heavy,light" default:"" placeholder:"CLASS" help:"heavy, on a token of the node's pool, or light. The default is heavy."`
	Timeout     time.Duration `placeholder:"TIME" help:"How long a message may take. The default is 1s."`
	Memory      config.Size   `placeholder:"SIZE" help:"The memory of one instance. The default is 16MiB."`
	Concurrency int           `placeholder:"N" help:"How many messages it handles at once, each in an instance of its own. The default is 4."`

	List     bool   `help:"List what is deployed."`
	Rollback string `placeholder:"NAME" help:"Put the version before the one in use in its place."`
	Remove   string `placeholder:"NAME" help:"Stop a function and remove all its versions."`
	Output   string `short:"o" enum:"text,json" default:"text" placeholder:"FORMAT" help:"text or json."`

	Name string `arg:"" optional:"" help:"The function: letters, digits, dots, hyphens and underscores."`
	File string `arg:"" optional:"" help:"The WebAssembly module, as docs/wasm.md describes it."`
}

// Help returns the part of ferry deploy --help that is not in the grammar.
func (*deployCmd) Help() string {
	return `The function runs when the command ends, and also after a restart of the node, which keeps the last five versions in its data directory. A further version takes over without losing a message: it starts, new messages go to it, and the old one finishes its own.

The identity needs the verb deploy, which the token in the data directory has.

Examples:

    ferry deploy alerts alerts.wasm --observe 'sensors/#' --where 'value > 30'
    ferry deploy alerts alerts.wasm
    ferry deploy --rollback alerts
    ferry deploy --list`
}

// Run deploys, lists, rolls back or removes.
func (c *deployCmd) Run(e *env) error {
	do, err := c.action()
	if err != nil {
		return err
	}
	ctx, stop := interruptible()
	defer stop()
	return c.withFunctions(ctx, e, func(ctx context.Context, node *rpc.Client) error { return do(ctx, e, node) })
}

// withFunctions connects to the service of a node by which functions are deployed.
func (n *nodeFlags) withFunctions(ctx context.Context, e *env, do func(context.Context, *rpc.Client) error) error {
	client, err := n.dial(ctx, e, stream.Config{Name: "deploy"})
	if err != nil {
		return err
	}
	defer client.Close()
	node, err := rpc.DialNode(ctx, client, nil)
	if err != nil {
		return err
	}
	defer node.Close()
	return explainDeploy(do(ctx, node))
}

// explainDeploy says what to do about an error of the service.
func explainDeploy(err error) error {
	var s *call.Status
	if !errors.As(err, &s) {
		return err
	}
	switch s.Code {
	case call.PermissionDenied:
		return errors.New("this identity may not deploy: give it the verb deploy in the node's configuration")
	case call.Unimplemented, call.Unavailable:
		return fmt.Errorf("%s\nthis node takes no deployments: it is older, or has deploy.functions: -1", s.Message)
	}
	return errors.New(s.Message)
}

// action returns what the command line wants: one of four.
func (c *deployCmd) action() (func(context.Context, *env, *rpc.Client) error, error) {
	var wanted []string
	var do func(context.Context, *env, *rpc.Client) error
	for _, each := range []struct {
		name string
		set  bool
		do   func(context.Context, *env, *rpc.Client) error
	}{
		{"NAME", c.Name != "", c.deploy},
		{"--list", c.List, c.list},
		{"--rollback", c.Rollback != "", c.rollback},
		{"--remove", c.Remove != "", c.remove},
	} {
		if each.set {
			wanted, do = append(wanted, each.name), each.do
		}
	}
	switch {
	case len(wanted) == 0:
		return nil, usagef("nothing to do: give NAME and FILE, --list, --rollback NAME or --remove NAME")
	case len(wanted) > 1:
		return nil, usagef("%s: give one of them", strings.Join(wanted, " and "))
	case c.Name != "" && c.File == "":
		return nil, usagef("no FILE: give the WebAssembly module of %s", c.Name)
	}
	return do, nil
}

func (c *deployCmd) deploy(ctx context.Context, e *env, node *rpc.Client) error {
	module, err := os.ReadFile(c.File)
	if err != nil {
		return err
	}
	spec := deploy.Spec{
		Name: c.Name, Observe: c.Observe, Where: c.Where, Group: c.Group, Durable: c.Durable, From: c.From, CPU: c.CPU,
		Timeout: c.Timeout, Memory: int64(c.Memory), Concurrency: c.Concurrency,
	}
	done, err := deployModule(ctx, node, spec, module)
	if err != nil {
		return err
	}
	return c.printDeployed(e, done)
}

// deployModule sends a module in pieces.
func deployModule(ctx context.Context, node *rpc.Client, spec deploy.Spec, module []byte) (*deploy.Deployed, error) {
	s, err := rpc.Open[deploy.Deployed, deploy.Piece](ctx, node, deploy.MethodDeploy)
	if err != nil {
		return nil, err
	}
	defer s.Cancel()
	err = s.Send(&deploy.Piece{Spec: &spec})
	for rest := module; err == nil && len(rest) > 0; {
		n := min(len(rest), deploy.PieceSize)
		err = s.Send(&deploy.Piece{Data: rest[:n]})
		rest = rest[n:]
	}
	if err == nil {
		err = s.CloseSend()
	}
	done, received := s.Recv() // which has the reason if the node has refused a piece
	if received == nil || err == nil {
		return done, received
	}
	return nil, errors.Join(received, err)
}

func (c *deployCmd) rollback(ctx context.Context, e *env, node *rpc.Client) error {
	done, err := rpc.Call[deploy.Deployed](ctx, node, deploy.MethodRollback, &deploy.Target{Name: c.Rollback})
	if err != nil {
		return err
	}
	return c.printDeployed(e, done)
}

func (c *deployCmd) remove(ctx context.Context, e *env, node *rpc.Client) error {
	done, err := rpc.Call[deploy.Target](ctx, node, deploy.MethodRemove, &deploy.Target{Name: c.Remove})
	if err != nil {
		return err
	}
	return c.print(e, done, "%s: removed\n", done.Name)
}

func (c *deployCmd) list(ctx context.Context, e *env, node *rpc.Client) error {
	all, err := rpc.Call[deploy.List](ctx, node, deploy.MethodList, &deploy.ListRequest{})
	if err != nil {
		return err
	}
	var text bytes.Buffer
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "FUNCTION\tVERSION\tIN USE\tSHA-256\tSIZE\tDEPLOYED\tOBSERVES")
	for _, f := range all.Functions {
		for _, v := range f.Versions {
			used := ""
			if v.Number == f.Current {
				used = "yes"
			}
			_, _ = fmt.Fprintf(w, "%s\t%d\t%s\t%.12s\t%s\t%s\t%s\n", f.Name, v.Number, used, v.SHA256, shortSize(uint64(v.Bytes)),
				v.Deployed.Local().Format("2006-01-02 15:04:05"), strings.Join(v.Spec.Observe, ", "))
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return c.print(e, all, "%s", text.String())
}

// printDeployed prints which version is in use. It is an error if that does not run.
func (c *deployCmd) printDeployed(e *env, done *deploy.Deployed) error {
	if done.Error != "" {
		return fmt.Errorf("%s: version %d is in use and does not run: %s", done.Name, done.Version, done.Error)
	}
	return c.print(e, done, "%s: version %d runs\n", done.Name, done.Version)
}

// print prints value as JSON, or a text.
func (c *deployCmd) print(e *env, value any, format string, args ...any) error {
	if c.Output != "json" {
		return e.print(fmt.Appendf(nil, format, args...))
	}
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return e.print(append(text, '\n'))
}
