package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unicode/utf8"

	"example.com/ferry/format"
	"example.com/ferry/internal/cmdline"
	"example.com/ferry/internal/phrase"
	"example.com/ferry/node"
)

// grammar is the command line: a field for each verb.
type grammar struct {
	Run         runCmd         `cmd:"" group:"node" help:"Run a node."`
	Check       checkCmd       `cmd:"" group:"node" help:"Validate a configuration."`
	Doctor      doctorCmd      `cmd:"" group:"node" help:"Say what is wrong on this machine for running a node."`
	Diff        diffCmd        `cmd:"" group:"node" help:"Show what a reload of a configuration would do."`
	Top         topCmd         `cmd:"" group:"node" help:"Show a node live in the terminal."`
	Admin       adminCmd       `cmd:"" group:"node" help:"Show and change a running node: log level, endpoints, connections, profiles."`
	Upgrade     upgradeCmd     `cmd:"" group:"node" help:"Replace the process of a running node, without refusing a connection."`
	Schema      schemaCmd      `cmd:"" group:"node" help:"Print the JSON Schema of a configuration."`
	Passwd      passwdCmd      `cmd:"" group:"node" help:"Set the password of an MQTT user."`
	Backup      backupCmd      `cmd:"" group:"node" help:"Save streams and data directory of a node while it runs."`
	Restore     restoreCmd     `cmd:"" group:"node" help:"Make a data directory from a backup."`
	Pub         pubCmd         `cmd:"" group:"stream" help:"Publish the messages on standard input."`
	Sub         subCmd         `cmd:"" group:"stream" help:"Print messages as they arrive."`
	Stream      streamCmd      `cmd:"" group:"stream" help:"Show and change the stored streams."`
	New         newCmd         `cmd:"" group:"function" help:"Make the folder of a new function."`
	Deploy      deployCmd      `cmd:"" group:"function" help:"Put a function on a running node."`
	Dev         devCmd         `cmd:"" group:"function" help:"Build and run a function, again on each save."`
	Call        callCmd        `cmd:"" group:"rpc" help:"Call a method of a service."`
	Load        loadCmd        `cmd:"" group:"rpc" help:"Generate load, and measure how long requests take."`
	Get         getCmd         `cmd:"" group:"message" help:"Print one field of a message."`
	Set         setCmd         `cmd:"" group:"message" help:"Change one field of a message."`
	Convert     convertCmd     `cmd:"" group:"message" help:"Rewrite a message in another format."`
	Conformance conformanceCmd `cmd:"" group:"self" help:"Prove an implementation of the native wire."`
	Completion  completionCmd  `cmd:"" group:"self" help:"Print a completion script for your shell."`
	Version     versionCmd     `cmd:"" group:"self" help:"Print the version."`
	Worker      workerCmd      `cmd:"" hidden:""`
	Cell        cellCmd        `cmd:"" hidden:""`

	Help        bool `short:"h" help:"Show this help."`
	Quiet       bool `short:"q" help:"Print only errors on standard error, no notes."`
	VersionFlag bool `name:"version" hidden:"" help:"Print the version."`
}

const description = "Forwards, filters and streams messages between devices, edge nodes and services, and changes only the bytes that it must."

// detail is the end of the overview.
const detail = `
Try it:
  ferry run                                     a node with this machine's own sensors as live input
  ferry sub 'sensors/#'                         the sensors' messages, one line of JSON each
  ferry get readings.0.value event.cbor         one field, found without decoding the message
  ferry set readings.0.value=31 <old >new       the same message with another value

Exit status: 0 success, 1 failure, 2 wrong command line or configuration, 3 field not found.
`

// casts are the types for --as.
var casts = []string{"int32", "uint32", "int64", "uint64", "float32", "float64", "string", "bool", "bytes"}

// env is the environment of a verb.
type env struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	quiet          bool
	extensions     node.Extensions
	formats        []format.Format // of extensions
	program        *cmdline.Verb
}

// Main carries out the command line of this process and returns the exit status.
func Main(extensions node.Extensions) int {
	// A reader that has seen enough closes the pipe. The next write returns EPIPE instead of ending the process.
	signal.Ignore(syscall.SIGPIPE)
	return Run(extensions, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
}

// Run carries out one command line and returns the exit status. A nil extensions.Transports means node.Transports().
func Run(extensions node.Extensions, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if extensions.Transports == nil {
		extensions.Transports = node.Transports()
	}
	noArguments := len(args) == 0 // an error that prints the overview
	if noArguments {
		args = []string{"--help"}
	}
	for _, arg := range args {
		if !utf8.ValidString(arg) { // names and messages are text
			fmt.Fprintf(stderr, "ferry: argument %q is not UTF-8: give a file of that name on standard input, and bytes as hex\n", arg)
			return statusUsage
		}
	}
	var cli grammar
	program := newProgram(&cli, extensions)
	verb, err := program.Parse(verbFirst(program, args))
	e := &env{
		stdin: stdin, stdout: stdout, stderr: stderr, quiet: cli.Quiet, extensions: extensions, formats: extensions.Formats, program: program,
	}
	switch {
	case noArguments:
		_, _ = stderr.Write(help(program))
		return statusUsage
	case err == nil && cli.Help:
		return e.finish("ferry", e.print(help(verb)))
	case err == nil && cli.VersionFlag:
		return e.finish("ferry", e.print([]byte(version()+"\n")))
	case err == nil:
		err = verb.Check()
	}
	if err != nil {
		fmt.Fprintf(stderr, "%[1]s: %[2]v\nTry '%[1]s --help'.\n", verb.FullPath(), err)
		return statusUsage
	}
	return e.finish(verb.FullPath(), verb.Target.(interface{ Run(e *env) error }).Run(e)) //nolint:forcetypeassert // TestVerbs: all leaves have it
}

// newProgram returns the command line, which fills cli.
func newProgram(cli *grammar, extensions node.Extensions) *cmdline.Verb {
	types := names(extensions.Formats)
	return cmdline.New("ferry", description, cli, cmdline.Config{
		Groups: map[string]string{
			"node":     "A node:",
			"stream":   "Messages of a node:",
			"function": "Functions:",
			"rpc":      "A service:",
			"message":  "A message in a file or on standard input:",
			"self":     "This program:",
		},
		Vars: map[string]string{
			"types": strings.Join(types, ","), "typeList": strings.Join(types, ", "),
			"addresses": phrase.Or(syntaxes(extensions.Transports)),
			"casts":     strings.Join(casts, ","), "castList": strings.Join(casts, ", "),
		},
		Types: map[reflect.Type]cmdline.Decoder{reflect.TypeFor[address](): addressDecoder(extensions.Transports)},
	})
}

// finish prints the error of a command, if any, and returns the exit status.
func (e *env) finish(command string, err error) int {
	var quiet quietError
	if err != nil && !errors.As(err, &quiet) {
		fmt.Fprintf(e.stderr, "%s: %v\n", command, err)
	}
	return statusOf(err)
}

// help returns the help of a verb, or the overview. The width is that of COLUMNS, or 80.
func help(verb *cmdline.Verb) []byte {
	width, err := strconv.Atoi(os.Getenv("COLUMNS"))
	if err != nil || width < 40 {
		width = 80
	}
	text := verb.HelpText(min(width, 100))
	if verb.Parent == nil {
		text += detail
	}
	return []byte(text)
}

// verbFirst moves the verb to the front, and a verb of its own behind it, so that their flags may also stand before them.
func verbFirst(of *cmdline.Verb, args []string) []string {
	if len(args) == 0 || len(of.Verbs) == 0 {
		return args
	}
	for i, arg := range args {
		if arg == "--" || i > 0 && !strings.HasPrefix(args[0], "-") {
			break
		}
		for _, verb := range of.Verbs {
			if verb.Name == arg {
				return append([]string{arg}, verbFirst(verb, slices.Concat(args[:i], args[i+1:]))...)
			}
		}
	}
	return args
}

func names(formats []format.Format) []string {
	out := make([]string, len(formats))
	for i, f := range formats {
		out[i] = f.Name()
	}
	return out
}

// note prints a note on standard error, unless --quiet is given.
func (e *env) note(text string, args ...any) {
	if !e.quiet {
		fmt.Fprintf(e.stderr, "ferry: "+text+"\n", args...)
	}
}

// print writes to standard output.
func (e *env) print(b []byte) error {
	if _, err := e.stdout.Write(b); err != nil {
		return outputError(err)
	}
	return nil
}
