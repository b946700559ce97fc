package cli

import (
	"bytes"
	_ "embed"
	"slices"
	"strings"
	"text/template"

	"github.com/alecthomas/kong"
)

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Help returns the part of ferry completion --help that is not in the grammar.
func (*completionCmd) Help() string {
	return `Write the script to the place where your shell looks for it:

    ferry completion bash >~/.local/share/bash-completion/completions/ferry
    ferry completion zsh >"${fpath[1]}/_ferry"
    ferry completion fish >~/.config/fish/completions/ferry.fish`
}

//go:embed completion.tmpl
var completionText string

var completionScripts = template.Must(template.New("").Funcs(template.FuncMap{
	"verbs":   completionVerbs,
	"names":   verbNames,
	"seen":    fishSeen,
	"flags":   completionFlags,
	"choices": choices,
	"quote":   shellWord,
	"brief":   func(s string) string { return strings.NewReplacer("[", "(", "]", ")", ":", ",", "'", "’").Replace(s) },
}).Parse(completionText))

// Run prints the script, made from the grammar that parses the command line.
func (c *completionCmd) Run(e *env) error {
	var script bytes.Buffer
	if err := completionScripts.ExecuteTemplate(&script, c.Shell, e.model); err != nil {
		return err
	}
	return e.print(script.Bytes())
}

// completionVerbs returns the visible verbs of the program, or of a verb.
func completionVerbs(of *kong.Node) []*kong.Node {
	return slices.DeleteFunc(slices.Clone(of.Children), func(verb *kong.Node) bool { return verb.Hidden })
}

// verbNames returns the names of verbs, separated by spaces.
func verbNames(verbs []*kong.Node) string {
	all := make([]string, len(verbs))
	for i, v := range verbs {
		all[i] = v.Name
	}
	return strings.Join(all, " ")
}

// fishSeen returns fish's condition that a verb, and the verb that it belongs to, were typed.
func fishSeen(verb *kong.Node) string {
	seen := "__fish_seen_subcommand_from " + verb.Name
	if verb.Parent != nil && verb.Parent.Parent != nil {
		return fishSeen(verb.Parent) + "; and " + seen
	}
	return seen
}

// completionFlags returns the visible flags of a verb, those of the whole program included.
func completionFlags(verb *kong.Node) []*kong.Flag {
	var out []*kong.Flag
	for _, group := range verb.AllFlags(true) {
		out = append(out, group...)
	}
	return out
}

// choices returns the values of an enum flag or argument, separated by spaces; empty for others.
func choices(v *kong.Value) string {
	return strings.TrimSpace(strings.ReplaceAll(v.Enum, ",", " "))
}
