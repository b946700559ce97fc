package cmdline_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"example.com/ferry/internal/cmdline"
)

// place is a field with a decoder.
type place struct{ name string }

// upper is a field that decodes itself.
type upper string

func (u *upper) UnmarshalText(text []byte) error {
	if len(text) > 3 {
		return errors.New("too long")
	}
	*u = upper(strings.ToUpper(string(text)))
	return nil
}

type shared struct {
	DataDir string `default:"./data" placeholder:"DIR" help:"The directory."`
}

type copyCmd struct {
	shared
	From   string        `xor:"from" placeholder:"ADDR" help:"Where from."`
	FromMe bool          `xor:"from" help:"From here."`
	To     string        `xor:"to" required:"" placeholder:"ADDR" help:"Where to."`
	ToDir  string        `xor:"to" required:"" placeholder:"DIR" help:"Which directory."`
	Wait   time.Duration `short:"w" default:"1s" placeholder:"TIME" help:"How long."`
	Count  int           `short:"n" help:"How many."`
	Rate   float64       `help:"How fast."`
	Seq    []uint64      `placeholder:"SEQ" help:"Which ones."`
	Header []string      `short:"H" sep:"none" placeholder:"NAME:VALUE" help:"What more."`
	Output string        `short:"o" enum:"text,json" default:"text" placeholder:"FORMAT" help:"text or json."`
	Kind   string        `enum:",${kinds}" default:"" placeholder:"KIND" help:"${kinds}, such as $${name}."`
	At     place         `default:"here" placeholder:"PLACE" help:"At which place."`
	Name   upper         `arg:"" help:"The name."`
	File   string        `arg:"" optional:"" help:"The file."`
}

func (*copyCmd) Help() string { return "A copy has all of it.\n\n    copy --to x y" }

type line struct {
	List struct {
		All  struct{} `cmd:"" help:"List all."`
		None struct{} `cmd:"" hidden:""`
	} `cmd:"" group:"one" help:"List things."`
	CopyTo copyCmd `cmd:"" group:"one" help:"Copy a thing."`
	Wrap   struct {
		Wait    time.Duration `default:"soon" help:"How long."`
		Command []string      `arg:"" passthrough:"" help:"The program."`
	} `cmd:"" help:"Run a program."`

	Watch struct {
		Count int      `short:"n" help:"How many."`
		Names []string `arg:"" sep:"none" help:"Which ones."`
	} `cmd:"" hidden:""`

	Help  bool `short:"h" help:"Show this help."`
	Quiet bool `short:"q" help:"Print nothing."`
	Old   bool `hidden:""`
}

func newLine(to *line) *cmdline.Verb {
	return cmdline.New("tool", "Does things.", to, cmdline.Config{
		Vars:   map[string]string{"kinds": "big,small"},
		Groups: map[string]string{"one": "Group one:"},
		Types: map[reflect.Type]cmdline.Decoder{reflect.TypeFor[place](): func(text string) (any, error) {
			if text == "nowhere" {
				return nil, errors.New("no place")
			}
			return place{text}, nil
		}},
	})
}

func TestParse(t *testing.T) {
	t.Parallel()
	base := copyCmd{shared: shared{"./data"}, To: "x", Wait: time.Second, Output: "text", At: place{"here"}, Name: "A"}
	with := func(change func(*copyCmd)) copyCmd {
		c := base
		change(&c)
		return c
	}
	for args, want := range map[string]copyCmd{
		"copy-to --to x a":                   base,
		"copy-to --to=x -- a":                base,
		"copy-to --to x a -":                 with(func(c *copyCmd) { c.File = "-" }),
		"copy-to --to x -- a -b":             with(func(c *copyCmd) { c.File = "-b" }),
		"copy-to --to x -w 2m a":             with(func(c *copyCmd) { c.Wait = 2 * time.Minute }),
		"copy-to --to x -w2m -n3 a":          with(func(c *copyCmd) { c.Wait, c.Count = 2*time.Minute, 3 }),
		"copy-to --to x a --rate 0.5":        with(func(c *copyCmd) { c.Rate = 0.5 }),
		"copy-to --to x a --seq 1,2 --seq 3": with(func(c *copyCmd) { c.Seq = []uint64{1, 2, 3} }),
		"copy-to --to x a -H a:b,c -Hd":      with(func(c *copyCmd) { c.Header = []string{"a:b,c", "d"} }),
		"copy-to --to x a --kind small":      with(func(c *copyCmd) { c.Kind = "small" }),
		"copy-to --to x a --at there":        with(func(c *copyCmd) { c.At = place{"there"} }),
		"copy-to --to x -n 0x10 a":           with(func(c *copyCmd) { c.Count = 16 }),
		"copy-to --to x -n 1_000 a":          with(func(c *copyCmd) { c.Count = 1000 }),
		"copy-to --to x -n-3 a":              with(func(c *copyCmd) { c.Count = -3 }),
		"copy-to --to x --seq 0x10,2, a":     with(func(c *copyCmd) { c.Seq = []uint64{16, 2} }),
		"copy-to --to x a --from-me=yes":     with(func(c *copyCmd) { c.FromMe = true }),
		"copy-to --to x a --from-me=True":    with(func(c *copyCmd) { c.FromMe = true }),
		"copy-to --to x a --from-me=NO":      base,
		"copy-to --to x a --from-me=0":       base,
		"copy-to --to x a --data-dir= -qo json": with(func(c *copyCmd) {
			c.DataDir, c.Output = "", "json"
		}),
	} {
		var l line
		verb, err := newLine(&l).Parse(strings.Fields(args))
		if err == nil {
			err = verb.Check()
		}
		if err != nil || verb.FullPath() != "tool copy-to" || !reflect.DeepEqual(l.CopyTo, want) {
			t.Errorf("%s: got %s, %v, %+v\nwant %+v", args, verb.FullPath(), err, l.CopyTo, want)
		}
		if quiet := strings.Contains(args, "-q"); l.Quiet != quiet {
			t.Errorf("%s: quiet is %t", args, l.Quiet)
		}
	}
	var l line
	if verb, err := newLine(&l).Parse([]string{"wrap", "--wait", "1s", "--", "run", "-q", "--", "--to"}); err != nil || verb.Check() != nil || strings.Join(l.Wrap.Command, " ") != "run -q -- --to" {
		t.Errorf("wrap: got %v, %q", err, l.Wrap.Command)
	}
	if verb, err := newLine(&l).Parse([]string{"watch", "a", "-q", "b,c", "-n", "3", "--", "-d"}); err != nil || verb.Check() != nil || strings.Join(l.Watch.Names, " ") != "a b,c -d" || l.Watch.Count != 3 || !l.Quiet {
		t.Errorf("watch: got %v, %+v", err, l.Watch)
	}
	if verb, err := newLine(&l).Parse([]string{"watch", "-n", "3"}); err != nil || verb.Check() == nil {
		t.Errorf("watch without a name: got %v, and no error", err)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"":                                    `tool: expected one of "list", "copy-to", "wrap"`,
		"lost":                                `tool: unexpected argument lost, did you mean "list"?`,
		"list":                                `tool list: expected one of "all"`,
		"copy-to --to x":                      `tool copy-to: expected "<name>"`,
		"copy-to a":                           "tool copy-to: missing flags: --to=ADDR or --to-dir=DIR",
		"copy-to --to x --to-dir y a":         "tool copy-to: --to and --to-dir can't be used together",
		"copy-to --to x --from y --from-me a": "tool copy-to: --from and --from-me can't be used together",
		"copy-to --to":                        "tool copy-to: --to: a value is missing",
		"copy-to --to -n a":                   `tool copy-to: --to: a value is missing before -n; perhaps try --to="-n"?`,
		"copy-to --to x -n many a":            `tool copy-to: --count: expected a whole number but got "many"`,
		"copy-to --to x -w 5 a":               `tool copy-to: --wait: expected duration but got "5": time: missing unit in duration "5"`,
		"copy-to --to x --seq 1,x a":          `tool copy-to: --seq: expected a whole number from 0 but got "x"`,
		"copy-to --to x -o xml a":             `tool copy-to: --output must be one of "text","json" but got "xml"`,
		"copy-to --to x --kind tiny a":        `tool copy-to: --kind must be one of "big","small" but got "tiny"`,
		"copy-to --to x --at nowhere a":       "tool copy-to: --at: no place",
		"copy-to --to x long":                 "tool copy-to: <name>: too long",
		"copy-to --to x a b c":                "tool copy-to: unexpected argument c",
		"copy-to --outptu json":               `tool copy-to: unknown flag --outptu, did you mean "--output"?`,
		"copy-to -z":                          "tool copy-to: unknown flag -z",
		"copy-to -qé":                         "tool copy-to: unknown flag -é",
		"copy-to --to x --seq= a":             `tool copy-to: --seq: expected a whole number from 0 but got ""`,
		"copy-to --to x --seq 1,,2 a":         `tool copy-to: --seq: expected a whole number from 0 but got ""`,
		"copy-to --quiet=maybe":               `tool copy-to: --quiet: expected true, yes or 1, or false, no or 0 but got "maybe"`,
		"wrap --wait 1s":                      `tool wrap: expected "<command> ..."`,
		"wrap run":                            `tool wrap: --wait: expected duration but got "soon": time: invalid duration "soon"`,
	} {
		var l line
		verb, err := newLine(&l).Parse(strings.Fields(args))
		if err == nil {
			err = verb.Check()
		}
		if err == nil || verb.FullPath()+": "+err.Error() != want {
			t.Errorf("%s: got %s: %v\nwant %s", args, verb.FullPath(), err, want)
		}
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"": `Usage: tool <command> [flags]

Does things.

Group one:
  list       List things.
  copy-to    Copy a thing.

Commands:
  wrap    Run a program.

Flags:
  -h, --help     Show this help.
  -q, --quiet    Print nothing.

Run "tool <command> --help" for more information on a command.
`,
		"list": `Usage: tool list <command> [flags]

List things.

Group one:
  list all    List all.

Flags:
  -h, --help     Show this help.
  -q, --quiet    Print nothing.
`,
		"copy-to": `Usage: tool copy-to --to=ADDR --to-dir=DIR <name> [<file>] [flags]

Copy a thing.

A copy has all of it.

    copy --to x y

Arguments:
  <name>      The name.
  [<file>]    The file.

Flags:
  -h, --help                 Show this help.
  -q, --quiet                Print nothing.

      --data-dir=DIR         The directory.
      --from=ADDR            Where from.
      --from-me              From here.
      --to=ADDR              Where to.
      --to-dir=DIR           Which directory.
  -w, --wait=TIME            How long.
  -n, --count=COUNT          How many.
      --rate=RATE            How fast.
      --seq=SEQ,...          Which ones.
  -H, --header=NAME:VALUE    What more.
  -o, --output=FORMAT        text or json.
      --kind=KIND            big,small, such as ${name}.
      --at=PLACE             At which place.
`,
	} {
		var l line
		verb, err := newLine(&l).Parse(strings.Fields(args))
		if got := verb.HelpText(80); err != nil || got != want {
			t.Errorf("%s: got %v\n%s\nwant\n%s", args, err, got, want)
		}
	}
}
