package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/goccy/go-yaml"

	"example.com/ferry/node/admin"
)

// adminCmd has the verbs that show and change a running node.
type adminCmd struct {
	LogLevel    adminLogLevelCmd    `cmd:"" name:"log-level" help:"Show or change the level of the node's log."`
	Endpoints   adminEndpointsCmd   `cmd:"" help:"List the endpoints of the proxy."`
	Endpoint    adminEndpointCmd    `cmd:"" help:"Drain an endpoint, or change its weight."`
	Connections adminConnectionsCmd `cmd:"" help:"List the clients that are connected."`
	Close       adminCloseCmd       `cmd:"" help:"Close the connection of a client."`
	Config      adminConfigCmd      `cmd:"" help:"Print the configuration that the node runs, without secrets."`
	Profile     adminProfileCmd     `cmd:"" help:"Take a profile of the node, for go tool pprof or go tool trace."`
}

// Help returns the part of ferry admin --help that is not in the grammar.
func (*adminCmd) Help() string {
	return `These verbs send requests to the admin server of a running node. What changes something, or shows the configuration, needs a token: that of admin.token_file, or of the data directory. Changes are not written to the configuration.`
}

// adminOutput are the flags of verbs that print what a node responds.
type adminOutput struct {
	adminTarget
	Output string `short:"o" enum:"text,json" default:"text" placeholder:"FORMAT" help:"text or json."`
}

// at is do for a verb that takes the address as its argument, too.
func (c *adminOutput) at(argument, path string, v any) (err error) {
	if c.Admin, err = oneAdmin(argument, c.Admin); err != nil {
		return err
	}
	return c.do(http.MethodGet, path, v)
}

// do requests a path and decodes the response into v.
func (c *adminOutput) do(method, path string, v any) error {
	client, err := c.connect()
	if err != nil {
		return err
	}
	defer client.close()
	ctx, stop := interruptible()
	defer stop()
	ctx, cancel := context.WithTimeoutCause(ctx, adminTimeout, fmt.Errorf("%s did not respond within %v: the node hangs, or is overloaded", client.base, adminTimeout))
	defer cancel()
	err = client.decode(ctx, method, path, v)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return context.Cause(ctx)
	}
	return err
}

// adminTimeout bounds a request to a node.
const adminTimeout = 30 * time.Second

// table prints rows in columns. Control characters become ?: a client chooses its name, which must not reach the terminal as a command.
func table(e *env, rows [][]string) error {
	var text bytes.Buffer
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for i, cell := range row {
			if i > 0 {
				_, _ = w.Write([]byte("\t")) // into memory
			}
			_, _ = w.Write([]byte(printable(cell)))
		}
		_, _ = w.Write([]byte("\n"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return e.print(text.Bytes())
}

// printable returns s with ? for each character that is not shown.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, s)
}

type adminLogLevelCmd struct {
	adminOutput
	For   time.Duration `placeholder:"TIME" help:"After this time, the level is that of the configuration again: 10m."`
	Level string        `arg:"" optional:"" enum:",debug,info,warn,error" default:"" help:"debug, info, warn or error. Without it, the level is shown."`
}

// Help returns the part of ferry admin log-level --help that is not in the grammar.
func (*adminLogLevelCmd) Help() string {
	return `Without --for, the level stays until the node ends, or a reload changes the section log.

Examples:

    ferry admin log-level
    ferry admin log-level debug --for 10m`
}

// Run shows or changes the level.
func (c *adminLogLevelCmd) Run(e *env) error {
	method, path := http.MethodGet, "/api/log-level"
	switch {
	case c.Level != "":
		values := url.Values{"level": {c.Level}}
		if c.For != 0 {
			values.Set("for", c.For.String())
		}
		method, path = http.MethodPost, path+"?"+values.Encode()
	case c.For != 0:
		return usagef("--for: without a level it has no effect: name the level")
	}
	var now admin.LogLevel
	if err := c.do(method, path, &now); err != nil {
		return err
	}
	if c.Output == "json" {
		return printJSON(e, now)
	}
	line := now.Level
	switch {
	case now.Until != nil:
		line += fmt.Sprintf(", and %s again at %s", now.Configured, now.Until.Local().Format(time.TimeOnly))
	case now.Level != now.Configured:
		line += fmt.Sprintf(", and %s in the configuration", now.Configured)
	}
	return e.print([]byte(line + "\n"))
}

type adminEndpointsCmd struct {
	adminOutput
	Cluster string `arg:"" optional:"" help:"Only this cluster."`
}

// Run prints a line for each endpoint.
func (c *adminEndpointsCmd) Run(e *env) error {
	var state admin.ProxyState
	if err := c.do(http.MethodGet, "/api/proxy", &state); err != nil {
		return noProxy(err)
	}
	rows := [][]string{{"CLUSTER", "ENDPOINT", "STATE", "WEIGHT", "ACTIVE", "CONNECTIONS", "FAILED"}}
	found := []admin.ProxyCluster{}
	for _, cluster := range state.Clusters {
		if c.Cluster != "" && c.Cluster != cluster.Name {
			continue
		}
		found = append(found, cluster)
		for _, each := range cluster.Endpoints {
			weight := strconv.Itoa(each.Weight)
			if each.Weight != each.Configured {
				weight += fmt.Sprintf(" (%d)", each.Configured)
			}
			rows = append(rows, []string{cluster.Name, each.Address, endpointState(each), weight, strconv.FormatInt(each.Active, 10), strconv.FormatInt(each.Connections, 10), strconv.FormatInt(each.Failed, 10)})
		}
	}
	switch {
	case c.Cluster != "" && len(found) == 0:
		return fmt.Errorf("the node has no cluster %s", c.Cluster)
	case c.Output == "json":
		return printJSON(e, found)
	}
	return table(e, rows)
}

// endpointState returns why an endpoint gets no requests, or up.
func endpointState(e admin.ProxyEndpoint) string {
	switch {
	case e.Drained && e.Active > 0:
		return "draining"
	case e.Drained:
		return "drained"
	case !e.Healthy:
		return "down"
	case e.EjectedFor > 0:
		return fmt.Sprintf("ejected for %.0fs", e.EjectedFor)
	}
	return "up"
}

type adminEndpointCmd struct {
	adminOutput
	Action  string `arg:"" enum:"drain,undrain,weight" help:"drain, undrain or weight."`
	Cluster string `arg:"" help:"The name of the cluster."`
	Address string `arg:"" help:"The address of the endpoint, as ferry admin endpoints prints it."`
	Weight  string `arg:"" optional:"" placeholder:"N" help:"Of weight: 1 to 1000. Without it, the weight is that of the configuration again."`
}

// Help returns the part of ferry admin endpoint --help that is not in the grammar.
func (*adminEndpointCmd) Help() string {
	return `drain sends the endpoint no new requests. Those in flight end, and so do tunnels such as WebSocket when one side closes them. If all endpoints of a cluster are drained, clients get 503. undrain sends it requests again. weight changes its share: requests are distributed in proportion to the weights.

All of them hold over reloads and ferry upgrade. A restart undoes them, and so does an address that leaves the cluster.

Examples:

    ferry admin endpoint drain web 10.0.0.7:8080       # and stop the server once ferry admin endpoints web says drained
    ferry admin endpoint weight web 10.0.0.8:8080 10`
}

// Run changes the endpoint and prints what it is now.
func (c *adminEndpointCmd) Run(e *env) error {
	query := ""
	switch {
	case c.Action != "weight" && c.Weight != "":
		return usagef("%q: only weight takes a number", c.Weight)
	case c.Action == "weight":
		weight := 0
		if c.Weight != "" {
			var err error
			if weight, err = strconv.Atoi(c.Weight); err != nil || weight < 1 || weight > 1000 {
				return usagef("weight: %q: want a number, 1 to 1000", c.Weight)
			}
		}
		query = "?value=" + strconv.Itoa(weight)
	}
	var done admin.EndpointChange
	path := "/api/proxy/clusters/" + url.PathEscape(c.Cluster) + "/endpoints/" + url.PathEscape(c.Address) + "/" + c.Action + query
	if err := c.do(http.MethodPost, path, &done); err != nil {
		return noProxy(err)
	}
	if done.Available == 0 {
		e.note("warning: no endpoint of %s gets requests: clients get 503", c.Cluster)
	}
	if c.Output == "json" {
		return printJSON(e, done)
	}
	return e.print(fmt.Appendf(nil, "%s %s: %s, weight %d, %d requests in flight; endpoints of %s that get requests: %d\n",
		done.Cluster, done.Endpoint.Address, endpointState(done.Endpoint), done.Endpoint.Weight, done.Endpoint.Active, done.Cluster, done.Available))
}

// noProxy explains the response of a node without a proxy, which has no such path.
func noProxy(err error) error {
	var refused *adminError
	if errors.As(err, &refused) && (refused.status == http.StatusMethodNotAllowed || strings.HasPrefix(refused.text, "404 page not found")) {
		return errors.New("the node has no proxy, or is of a version that cannot do this")
	}
	return err
}

type adminConnectionsCmd struct {
	adminOutput
	Argument string `arg:"" optional:"" name:"admin" help:"The same as --admin."`
	Protocol string `placeholder:"NAME" help:"Only clients of this protocol: quic, tcp, mqtt, http1 ... node stands for the node's own clients."`
	Listener string `placeholder:"NAME" help:"Only clients of the listener of this name or address."`
	Identity string `placeholder:"NAME" help:"Only clients of this identity, or with a certificate of this name."`
	Limit    int    `default:"100" placeholder:"N" help:"The longest list, up to 10000. The default is 100."`
}

// Run prints a line for each connection.
func (c *adminConnectionsCmd) Run(e *env) error {
	if c.Limit < 1 || c.Limit > 10_000 {
		return usagef("--limit: %d: want 1 to 10000", c.Limit)
	}
	values := url.Values{"limit": {strconv.Itoa(c.Limit)}}
	for name, value := range map[string]string{"protocol": c.Protocol, "listener": c.Listener, "identity": c.Identity} {
		if value != "" {
			values.Set(name, value)
		}
	}
	var list admin.ConnectionList
	if err := c.at(c.Argument, "/api/connections?"+values.Encode(), &list); err != nil {
		return err
	}
	if c.Output == "json" {
		return printJSON(e, list)
	}
	rows := [][]string{{"ID", "PROTOCOL", "LISTENER", "ADDRESS", "IDENTITY", "CLIENT", "STATE"}}
	for _, each := range list.Connections {
		state := fmt.Sprintf("subscriptions %d, tags %d", each.Subscriptions, each.Publishes)
		switch {
		case each.Since != nil:
			state += ", for " + time.Since(*each.Since).Round(time.Second).String()
		case each.Idle:
			state = "idle"
		default:
			state = "active"
		}
		rows = append(rows, []string{each.ID, each.Protocol, each.Listener, each.Address, orDash(each.Identity), orDash(each.Client), state})
	}
	if err := table(e, rows); err != nil {
		return err
	}
	if len(list.Connections) < list.Matched {
		e.note("%d of %d connections are shown: --limit shows more, --protocol, --listener and --identity fewer", len(list.Connections), list.Matched)
	}
	return nil
}

type adminCloseCmd struct {
	adminOutput
	ID string `arg:"" help:"The connection, as ferry admin connections prints it."`
}

// Help returns the part of ferry admin close --help that is not in the grammar.
func (*adminCloseCmd) Help() string {
	return `A client of the proxy loses its connection at once, with its requests. A client of streams is told that an operator has closed its connection. Both may connect again.`
}

// Run closes the connection.
func (c *adminCloseCmd) Run(e *env) error {
	var done json.RawMessage
	if err := c.do(http.MethodPost, "/api/connections/"+url.PathEscape(c.ID)+"/close", &done); err != nil {
		return err
	}
	if c.Output == "json" {
		return printJSON(e, done)
	}
	return e.print([]byte(c.ID + " closed\n"))
}

type adminConfigCmd struct {
	adminOutput
	Argument string `arg:"" optional:"" name:"admin" help:"The same as --admin."`
}

// Run prints the configuration.
func (c *adminConfigCmd) Run(e *env) error {
	var raw json.RawMessage
	if err := c.at(c.Argument, "/api/config", &raw); err != nil {
		return err
	}
	if c.Output == "json" {
		return e.print(append(bytes.TrimSpace(raw), '\n'))
	}
	text, err := yaml.JSONToYAML(raw)
	if err != nil {
		return err
	}
	return e.print(text)
}
