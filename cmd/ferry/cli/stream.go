package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"example.com/ferry/internal/bytesize"
	"example.com/ferry/internal/topic"
	"example.com/ferry/node/admin"
)

// streamCmd has the verbs for stored streams. All but rm, verify and copy --from-dir ask the admin server of a node.
type streamCmd struct {
	Ls                streamLsCmd           `cmd:"" help:"List the stored streams."`
	Info              streamInfoCmd         `cmd:"" help:"Print the state of a stream and its durables."`
	Purge             streamPurgeCmd        `cmd:"" help:"Remove records of a stream."`
	Copy              streamCopyCmd         `cmd:"" help:"Copy a stream to another engine."`
	Rm                streamRmCmd           `cmd:"" help:"Remove a stream from a node that does not run."`
	RmDurable         streamRmDurableCmd    `cmd:"" name:"rm-durable" help:"Remove a durable and its position."`
	ResetDurable      streamResetDurableCmd `cmd:"" name:"reset-durable" help:"Move the position of a durable."`
	Verify            streamVerifyCmd       `cmd:"" help:"Look for damage in the streams of a node that does not run."`
	ReplayDeadLetters streamReplayCmd       `cmd:"" name:"replay-dead-letters" help:"Publish dead letters again."`
}

// Help returns the part of ferry stream --help that is not in the grammar.
func (*streamCmd) Help() string {
	return `These verbs, but rm and verify, ask the admin server of a node. What removes or copies records needs a token: that of admin.token_file, or of the data directory.`
}

// streamFlags are common to the verbs that print what a node responds.
type streamFlags struct {
	adminTarget
	Output string `short:"o" enum:"text,json" default:"text" placeholder:"FORMAT" help:"text or json."`
}

// interruptible returns a context that ends with Ctrl-C.
func interruptible() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
}

// streamPath returns the path of a stream at the admin server, and of a part of it.
func streamPath(name string, part ...string) string {
	path := "/api/streams/" + url.PathEscape(name)
	for _, each := range part {
		path += "/" + url.PathEscape(each)
	}
	return path
}

// get requests a path of the admin server.
func (c *streamFlags) get(ctx context.Context, path string, v any) error {
	return c.request(func(admin *adminClient) error { return admin.get(ctx, path, v) })
}

// post is get with POST.
func (c *streamFlags) post(ctx context.Context, path string, v any) error {
	return c.request(func(admin *adminClient) error { return admin.post(ctx, path, v) })
}

func (c *streamFlags) request(do func(*adminClient) error) error {
	admin, err := c.connect()
	if err != nil {
		return err
	}
	defer admin.close()
	return noStreams(do(admin))
}

// printJSON prints v as a line of JSON.
func printJSON(e *env, v any) error {
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	return e.print(line.Bytes())
}

type streamLsCmd struct{ streamFlags }

// Run prints a line for each stream.
func (c *streamLsCmd) Run(e *env) error {
	ctx, stop := interruptible()
	defer stop()
	var state admin.StreamsState
	if err := c.get(ctx, "/api/streams", &state); err != nil {
		return err
	}
	if c.Output == "json" {
		return printJSON(e, state)
	}
	var text bytes.Buffer
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tTAGS\tDELIVERY\tRECORDS\tSIZE\tDURABLES\tLAG\tSTATE")
	for _, s := range state.Streams {
		var lag uint64
		for _, d := range s.Durables {
			lag = max(lag, d.Lag)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%d\t%d\t%s\n", s.Name, strings.Join(s.Tags, " "), s.Delivery, s.Records, shortSize(s.Bytes), len(s.Durables), lag, storedCondition(s))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return e.print(text.Bytes())
}

// noStreams adds advice to the error of a node that stores nothing.
func noStreams(err error) error {
	var status *adminError
	if errors.As(err, &status) && status.status == http.StatusNotFound && !strings.Contains(status.text, "no such") {
		return fmt.Errorf("the node stores no streams: its configuration has none: %w", err)
	}
	return err
}

// storedCondition returns ok, or what keeps a stream from storing.
func storedCondition(s admin.StoredState) string {
	switch {
	case s.Error != "":
		return s.Error
	case s.Pending > 0:
		return shortSize(uint64(s.Pending)) + " wait to be stored"
	}
	return "ok"
}

// shortSize returns a number of bytes with at most four digits.
func shortSize(n uint64) string {
	const units = "KMGTPE"
	if n < 1<<10 {
		return strconv.FormatUint(n, 10) + "B"
	}
	v, unit := float64(n)/(1<<10), 0
	for v >= 1000 && unit < len(units)-1 {
		v, unit = v/(1<<10), unit+1
	}
	return strconv.FormatFloat(v, 'f', 1, 64) + units[unit:unit+1] + "iB"
}

type streamInfoCmd struct {
	streamFlags
	Name string `arg:"" help:"The stream."`
}

// Run prints the state of one stream.
func (c *streamInfoCmd) Run(e *env) error {
	ctx, stop := interruptible()
	defer stop()
	var s admin.StoredState
	if err := c.get(ctx, streamPath(c.Name), &s); err != nil {
		return err
	}
	if c.Output == "json" {
		return printJSON(e, s)
	}
	var text bytes.Buffer
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) { fmt.Fprintf(w, name+":\t"+format+"\n", args...) }
	line("name", "%s", s.Name)
	line("tags", "%s", strings.Join(s.Tags, " "))
	line("delivery", "%s", s.Delivery)
	line("storage", "%s", s.Storage)
	line("retention", "%s", retentionText(s.Retention))
	if s.DeadLetter != "" {
		line("dead letters", "to tag %s", s.DeadLetter)
	}
	line("records", "%d, %s, sequence %d to %d", s.Records, shortSize(s.Bytes), s.First, s.Last)
	line("since start", "%d stored, %d dropped, %d duplicates", s.Appended, s.Dropped, s.Duplicates)
	for _, r := range s.Replicas {
		line("replica", "%s", replicaText(r))
	}
	line("state", "%s", storedCondition(s))
	if err := w.Flush(); err != nil {
		return err
	}
	if len(s.Durables) > 0 {
		fmt.Fprintln(w, "\nDURABLE\tFILTER\tNODE\tMEMBERS\tLAG\tHELD\tWAITING\tDELIVERED\tREDELIVERED\tDEAD")
	}
	for _, d := range s.Durables {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\n", d.Name, orDash(d.Filter), orDash(d.Holder), len(d.Members), d.Lag, d.Held, d.Waiting, d.Delivered, d.Redelivered, d.DeadLetters)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return e.print(text.Bytes())
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func retentionText(r admin.Retention) string {
	var parts []string
	if r.Age > 0 {
		parts = append(parts, time.Duration(r.Age*float64(time.Second)).String())
	}
	if r.Size > 0 {
		parts = append(parts, bytesize.Size(r.Size).String())
	}
	if r.Messages > 0 {
		parts = append(parts, fmt.Sprintf("%d messages", r.Messages))
	}
	if r.PerTag > 0 {
		parts = append(parts, fmt.Sprintf("%d for each tag", r.PerTag))
	}
	if parts == nil {
		return "all"
	}
	return strings.Join(parts, ", ")
}

func replicaText(r admin.StreamReplica) string {
	text := r.Name
	if r.Leader {
		text += ", leader"
	}
	if !r.Current {
		text += fmt.Sprintf(", %d operations behind", r.Behind)
	}
	return text
}

type streamPurgeCmd struct {
	streamFlags
	Tags   string `placeholder:"FILTER" help:"Only records with matching tags, such as orders/+/canceled."`
	Before uint64 `placeholder:"SEQ" help:"Only records with sequence numbers below SEQ."`
	Name   string `arg:"" help:"The stream."`
}

// Help returns the part of ferry stream purge --help that is not in the grammar.
func (*streamPurgeCmd) Help() string {
	return `Without --tags and --before, all records of the stream are removed. Durables that have not read them do not get them.`
}

// Run removes records.
func (c *streamPurgeCmd) Run(e *env) error {
	query := url.Values{}
	if c.Tags != "" {
		if err := topic.CheckFilter(c.Tags); err != nil {
			return usageError{fmt.Errorf("--tags: %w", err)}
		}
		query.Set("filter", c.Tags)
	}
	if c.Before > 0 {
		query.Set("before", strconv.FormatUint(c.Before, 10))
	}
	ctx, stop := interruptible()
	defer stop()
	var result struct {
		Removed uint64 `json:"removed"`
	}
	if err := c.post(ctx, streamPath(c.Name, "purge")+"?"+query.Encode(), &result); err != nil {
		return err
	}
	if c.Output == "json" {
		return printJSON(e, result)
	}
	return e.print(fmt.Appendf(nil, "%d records removed\n", result.Removed))
}

type streamReplayCmd struct {
	streamFlags
	Sequence []uint64 `placeholder:"SEQ" help:"Only the dead letters with these sequence numbers. May be given more than once."`
	Name     string   `arg:"" help:"The stream that has the dead letters."`
}

// Help returns the part of ferry stream replay-dead-letters --help that is not in the grammar.
func (*streamReplayCmd) Help() string {
	return `Each dead letter is published again on the tag that it had, and then removed from the stream of dead letters. All durables of that tag get it again, not only the one that failed.

Example, for a stream with dead_letter: dead/orders, which the stream dead stores:

    ferry stream replay-dead-letters dead`
}

// Run replays dead letters.
func (c *streamReplayCmd) Run(e *env) error {
	query := url.Values{}
	for _, s := range c.Sequence {
		query.Add("sequence", strconv.FormatUint(s, 10))
	}
	ctx, stop := interruptible()
	defer stop()
	var result struct {
		Replayed int `json:"replayed"`
	}
	if err := c.post(ctx, streamPath(c.Name, "replay")+"?"+query.Encode(), &result); err != nil {
		return err
	}
	if c.Output == "json" {
		return printJSON(e, result)
	}
	if result.Replayed == 0 {
		e.noteDeadLetters(ctx, c)
	}
	return e.print(fmt.Appendf(nil, "%d dead letters replayed\n", result.Replayed))
}

// noteDeadLetters names the stream that has the dead letters of the one that was named instead.
func (e *env) noteDeadLetters(ctx context.Context, c *streamReplayCmd) {
	var state admin.StreamsState
	if c.get(ctx, "/api/streams", &state) != nil {
		return // the replay itself went well
	}
	for _, named := range state.Streams {
		if named.Name != c.Name || named.DeadLetter == "" {
			continue
		}
		for _, s := range state.Streams {
			for _, filter := range s.Tags {
				if topic.Match(filter, named.DeadLetter) {
					e.note("the dead letters of %s are in stream %s: ferry stream replay-dead-letters %s", c.Name, s.Name, s.Name)
				}
			}
		}
	}
}
