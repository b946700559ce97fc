// Package cmdline parses a command line whose verbs, flags and arguments are the fields of a struct, and prints its help.
//
//	var line struct {
//		Get struct {
//			Output string `short:"o" enum:"text,json" default:"text" placeholder:"FORMAT" help:"text or json."`
//			Path   string `arg:"" help:"The field."`
//		} `cmd:"" help:"Print one field of a message."`
//	}
//	verb, err := cmdline.New("ferry", "Prints fields.", &line, cmdline.Config{}).Parse(os.Args[1:])
//
// It calls no method by a name that is known at run time only: a program that does so keeps all exported methods of all its types.
package cmdline

// Files: verb.go reads the struct; parse.go sets its fields; help.go prints.
